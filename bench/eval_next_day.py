"""Next-day scenarios replayed: what matters comes back, and nothing that must not.

Each question is asked with its own clock. k is 5. `context_hit` asks for a prompt context of 600
tokens instead of a ranking.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from recalld.bench import ablation, baselines
from recalld.bench.metrics import mean
from recalld.bench.next_day import Case, Store, load
from recalld.bench.next_day_calls import K, Owners, remember, request_of
from recalld.bench.report import Cell, Report, Table, progress
from recalld.bench.target import CALL_TIMEOUT_S, Target, clock
from recalld.v1.recall_service_pb2 import BuildContextRequest, ConfidenceBand

CONTEXT_TOKENS = 600
WORKERS = 4
IMPORTANCE_ORDER = ("low", "medium", "high")


@dataclass(frozen=True)
class Outcome:
    """What came back for one question; hits are sets, since memories may have been folded."""

    case: Case
    hits: Sequence[frozenset[str]]
    high: Sequence[bool] = ()  # per hit: marked as sure
    marked: frozenset[frozenset[str]] = frozenset()  # groups shown as contradicting each other
    foreign: bool = False  # a memory came back that is not the asker's
    degraded: bool = False  # the machine was too busy to answer in full
    context: frozenset[str] = frozenset()  # what is in the prompt context

    @property
    def found(self) -> frozenset[str]:
        """Everything among the first five."""
        return frozenset[str]().union(*self.hits[:K])


Measure = Callable[[Outcome], float | None]  # None: the figure is not about this question


def hit_at_5(outcome: Outcome) -> float | None:
    """Everything needed is among the first five."""
    if outcome.case.no_memory:
        return None
    return float(outcome.case.must <= outcome.found)


def best_at_1(outcome: Outcome) -> float | None:
    """The best one comes first."""
    best = outcome.case.best
    return None if best is None else float(bool(outcome.hits) and best in outcome.hits[0])


def leak(outcome: Outcome) -> float | None:
    """Something that must not be put forward is among the first five."""
    if not outcome.case.must_not:
        return None
    return float(not outcome.case.must_not.isdisjoint(outcome.found))


def leak_high(outcome: Outcome) -> float | None:
    """... and is marked as sure."""
    if not outcome.case.must_not:
        return None
    hits = zip(outcome.hits[:K], outcome.high, strict=False)
    return float(any(sure and not outcome.case.must_not.isdisjoint(ids) for ids, sure in hits))


def conflict(outcome: Outcome) -> float | None:
    """Both of each contradicting pair are among the first five and marked as contradicting."""
    if not outcome.case.conflicts:
        return None
    marked = all(any(pair <= m for m in outcome.marked) for pair in outcome.case.conflicts)
    return float(marked and bool(conflict_shown(outcome)))


def conflict_shown(outcome: Outcome) -> float | None:
    """Both of each contradicting pair are among the first five, marked or not."""
    if not outcome.case.conflicts:
        return None
    return float(all(pair <= outcome.found for pair in outcome.case.conflicts))


def no_memory(outcome: Outcome) -> float | None:
    """A question that needs no memory gets none that is marked as sure."""
    return float(not any(outcome.high[:K])) if outcome.case.no_memory else None


def context_hit(outcome: Outcome) -> float | None:
    """Everything needed is in the prompt context."""
    if outcome.case.no_memory:
        return None
    return float(outcome.case.must <= outcome.context)


MEASURES: Mapping[str, Measure] = {
    "hit_at_5": hit_at_5,
    "best_at_1": best_at_1,
    "leak": leak,
    "leak_high": leak_high,
    "conflict": conflict,
    "no_memory": no_memory,
    "context_hit": context_hit,
}
# Those that a mere ranking has.
RANKED_MEASURES = (hit_at_5, best_at_1, leak)


def figure(outcomes: Sequence[Outcome], measure: Measure) -> float:
    """Mean over the questions that the measure is about; NaN if there are none."""
    return mean([value for o in outcomes if (value := measure(o)) is not None])


def run(target: Target, path: Path, pool: int = 0, without: Sequence[str] = ()) -> Report:
    """Replays the scenarios, `pool` of them to a store, and scores them; again by channel."""
    stores = load(path, pool)
    prefix = uuid4().hex[:8]
    label = f"next-day, pooled by {pool}" if pool > 1 else "next-day"
    total = sum(len(s.items) + len(s.cases) * (1 + len(without)) for s in stores)
    with progress(label, total) as step:

        def replay(store: Store) -> tuple[dict[str | None, list[Outcome]], int]:
            owners = remember(target, store, f"{prefix}/{store.name}", step)
            needed = frozenset[str]().union(*(c.must for c in store.cases))
            lost = frozenset[str]().union(*(owners.items[i] for i in owners.superseded)) & needed
            outcomes = {
                channel: [_ask(target, store, c, owners, channel) for c in store.cases]
                for channel in (None, *without)
            }
            step(len(store.cases) * len(outcomes))
            return outcomes, len(lost)

        with ThreadPoolExecutor(WORKERS) as workers:
            replayed = list(workers.map(replay, stores))

    def of(channel: str | None) -> list[Outcome]:
        return [o for by_channel, _ in replayed for o in by_channel[channel]]

    report = _report(label, stores, of(None), sum(lost for _, lost in replayed))
    return ablation.added(report, {channel: figures_of(of(channel)) for channel in without})


def _ask(target: Target, store: Store, case: Case, owners: Owners, without: str | None) -> Outcome:
    recall = request_of(case, owners)
    recall.weights.extend(ablation.weights(without))
    now = clock(store.now)
    answer = target.recall.Recall(recall, metadata=now, timeout=CALL_TIMEOUT_S)
    recall.ClearField("k")
    request = BuildContextRequest(recall=recall, token_budget=CONTEXT_TOKENS)
    context = target.recall.BuildContext(request, metadata=now, timeout=CALL_TIMEOUT_S)
    ids = [hit.memory.id for hit in answer.hits]
    groups: dict[str, set[str]] = defaultdict(set)
    for group in answer.conflicts:
        groups[group.conflict_group].update(*(owners.items[i] for i in group.memory_ids))
    return Outcome(
        case=case,
        hits=[frozenset(owners.items[i]) for i in ids],
        high=[h.band == ConfidenceBand.CONFIDENCE_BAND_HIGH for h in answer.hits],
        marked=frozenset(frozenset(g) for g in groups.values()),
        degraded=bool(answer.degraded),
        foreign=any(owners.owner.get(i) != case.user for i in ids),
        context=frozenset[str]().union(*(owners.items[i.memory_id] for i in context.items)),
    )


def trivial_outcomes(stores: Sequence[Store]) -> dict[str, list[Outcome]]:
    """What rankers that look at one thing only get on the same questions, by ranker."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for store in stores:
        items = [i for i in store.items if i.user == store.cases[0].user]
        documents = [
            baselines.Document(i.content, store.time_of(i), IMPORTANCE_ORDER.index(i.importance))
            for i in items
        ]
        for name, rank in baselines.rankers(documents).items():
            for case in store.cases:
                hits = [frozenset([items[i].id]) for i in rank(case.text, K)]
                outcomes[name].append(Outcome(case, hits))
    return dict(outcomes)


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, float | int]:
    """All figures of the set."""
    return {
        "n": len(outcomes),
        **{name: figure(outcomes, measure) for name, measure in MEASURES.items()},
        "other_user": sum(o.foreign for o in outcomes),
    }


def _report(
    label: str, stores: Sequence[Store], outcomes: Sequence[Outcome], lost_count: int
) -> Report:
    figures = figures_of(outcomes)
    trivial = trivial_outcomes(stores)
    tables = [
        _table(f"{label}, by class", "class", outcomes, lambda o: o.case.kind),
        _table(f"{label}, by language", "language", outcomes, lambda o: o.case.language),
        _trivial_table(outcomes, trivial),
    ]
    missed = [o.case.id for o in outcomes if hit_at_5(o) == 0]
    shown = figure(outcomes, conflict_shown)
    notes = [
        f"another user's memory came back: {figures['other_user']} times",
        f"conflict pairs among the first five, marked or not: {100 * shown:.0f} %",
        f"needed memories that a later one superseded while storing: {lost_count}",
        f"answered in part, for want of time: {sum(o.degraded for o in outcomes)}",
        f"missed at 5: {' '.join(missed) or 'none'}",
    ]
    baseline = {m.__name__: figure(trivial["BM25"], m) for m in RANKED_MEASURES}
    return Report(figures, tables, notes, baseline)


def _table(
    title: str, first: str, outcomes: Sequence[Outcome], group_of: Callable[[Outcome], str]
) -> Table:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[group_of(outcome)].append(outcome)
    rows: list[list[Cell]] = [
        [name, len(group), *(figure(group, m) for m in MEASURES.values())]
        for name, group in [*sorted(groups.items()), ("all", list(outcomes))]
    ]
    return Table(title, [first, "n", *MEASURES], rows)


def _trivial_table(outcomes: Sequence[Outcome], trivial: Mapping[str, list[Outcome]]) -> Table:
    rows: list[list[Cell]] = [
        [name, *(figure(some, m) for m in RANKED_MEASURES)]
        for name, some in [("recalld", list(outcomes)), *trivial.items()]
    ]
    columns = ["ranker", *(m.__name__ for m in RANKED_MEASURES)]
    return Table("The same questions to trivial rankers", columns, rows)
