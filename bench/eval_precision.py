"""PrecisionMemBench replayed: how much of what comes back was wanted.

As its authors do it, a context has three tiers: pinned facts and open questions of the scope, which
are listed, and relevant beliefs, which are searched for. Precision and recall are of the last tier:
up to `maxBeliefs` hits of the scope without the pinned ones, relations followed by what they join,
all cut to the room that the pinned facts leave. The prose that the authors' harness writes itself
is not judged.

The server's own cut is made for callers to whom a missed memory costs more than a needless one.
This set counts the other way round, so it is asked with `min_score`; the curve over it is printed,
and what a choice on the other categories gives. Source: Flynt, arXiv 2605.11325, and its harness.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from uuid import uuid4

from recalld.bench import ablation
from recalld.bench.precision import OPEN_QUESTION, Belief, Case, Fixture, load
from recalld.bench.precision_score import (
    MEASURES,
    Outcome,
    figures_of,
    means,
    passed,
    trivial_outcomes,
)
from recalld.bench.report import Cell, Figure, Report, Step, Table, progress
from recalld.bench.target import CALL_TIMEOUT_S, Target, clock, timestamp
from recalld.v1.memory_service_pb2 import (
    ListMemoriesRequest,
    MemoryInput,
    RememberRequest,
    UpdateMemoryRequest,
)
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import (
    Condition,
    Filter,
    Importance,
    ImportanceSet,
    KindSet,
    Memory,
    MemoryKind,
    Scope,
    StatedBy,
)

KINDS = {
    "preference": MemoryKind.MEMORY_KIND_PREFERENCE,
    "decision": MemoryKind.MEMORY_KIND_DECISION,
    OPEN_QUESTION: MemoryKind.MEMORY_KIND_PROGRESS,
}  # entities and relations are facts
ASKED_AFTER = timedelta(days=1)
CUTS = (None, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5)  # min_score; None = the server's own cut
SURE = 0.3  # the one that counts

Outcomes = dict[float | None, list[Outcome]]
"""Of the same cases, by cut."""


@dataclass
class Held:
    """The beliefs of a run on the server, and the calls that ask for them."""

    target: Target
    prefix: str
    beliefs: dict[str, Belief] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)  # memory id -> belief id

    def scope(self, user: str) -> Scope:
        """A user of this run."""
        return Scope(user_id=f"{self.prefix}/{user}")

    @property
    def _now(self) -> tuple[tuple[str, str], ...]:
        return clock(max(b.created for b in self.beliefs.values()) + ASKED_AFTER)

    def remember(self, beliefs: Sequence[Belief]) -> None:
        """Writes beliefs, each with the clock at its own time and its first scope as namespace."""
        for (user, time, namespace), group in groupby(
            beliefs, key=lambda b: (b.user, b.created, b.scopes[0])
        ):
            some = list(group)
            scope = Scope(user_id=self.scope(user).user_id, namespace=namespace)
            memories = [MemoryInput(memory=memory_of(belief)) for belief in some]
            request = RememberRequest(scope=scope, request_id=uuid4().hex, memories=memories)
            answer = self.target.memory.Remember(
                request, metadata=clock(time), timeout=CALL_TIMEOUT_S
            )
            for belief, result in zip(some, answer.results, strict=True):
                self.beliefs[belief.id] = belief
                self.memories[result.id] = belief.id

    def rename(self, belief: Belief) -> None:
        """Writes the text of a belief anew."""
        self.beliefs[belief.id] = belief
        memory_id = next(m for m, b in self.memories.items() if b == belief.id)
        memory = Memory(id=memory_id, scope=self.scope(belief.user), content=belief.text)
        request = UpdateMemoryRequest(memory=memory, request_id=uuid4().hex)
        self.target.memory.UpdateMemory(request, metadata=self._now, timeout=CALL_TIMEOUT_S)

    def ask(self, case: Case, cut: float | None, without: str | None) -> Outcome:
        """The three tiers of a case."""
        questions = Condition(kind=KindSet(values=[KINDS[OPEN_QUESTION]]))
        pinned = self._pinned(case, Filter(must_not=[questions]))[: case.beliefs_max]
        hits = [i for i in self._search(case, cut, without) if i not in pinned]
        hits += [i for i in self._joined(case, hits) if i not in pinned]
        relevant = list(dict.fromkeys(hits))[: max(0, case.beliefs_max - len(pinned))]
        return Outcome(
            case,
            frozenset(relevant),
            frozenset(pinned),
            frozenset(self._pinned(case, Filter(must=[questions]))),
        )

    def _pinned(self, case: Case, chosen: Filter) -> list[str]:
        levels = ImportanceSet(values=[Importance.IMPORTANCE_PINNED])
        chosen.must.append(Condition(importance=levels))
        chosen.should.extend(in_scope(case))
        request = ListMemoriesRequest(scope=self.scope(case.user), filter=chosen)
        answer = self.target.memory.ListMemories(
            request, metadata=self._now, timeout=CALL_TIMEOUT_S
        )
        return [self.memories[memory.id] for memory in answer.memories]

    def _search(self, case: Case, cut: float | None, without: str | None) -> list[str]:
        if not case.text.strip() or case.beliefs_max < 1:
            return []
        request = RecallRequest(
            scope=self.scope(case.user),
            text=case.text,
            k=case.beliefs_max,
            min_score=cut,
            filter=Filter(should=in_scope(case)),
            weights=ablation.weights(without),
        )
        answer = self.target.recall.Recall(request, metadata=self._now, timeout=CALL_TIMEOUT_S)
        return [self.memories[hit.memory.id] for hit in answer.hits]

    def _joined(self, case: Case, found: Sequence[str]) -> list[str]:
        """What the relations among the found ones join, within scope, open questions left out."""
        named = [p for i in found for p in self.beliefs[i].participants if p in self.beliefs]
        return [p for p in named if may_join(self.beliefs[p], case)]


def may_join(belief: Belief, case: Case) -> bool:
    """Whether a relation may bring this belief in."""
    mine = belief.user == case.user and not set(belief.scopes).isdisjoint(case.scopes)
    return mine and belief.type != OPEN_QUESTION


def in_scope(case: Case) -> list[Condition]:
    """Any of the scopes of a case."""
    return [Condition(namespace_prefix=scope) for scope in case.scopes]


def memory_of(belief: Belief) -> Memory:
    """A belief as it is remembered; what replaces another shares its key."""
    memory = Memory(
        kind=KINDS.get(belief.type, MemoryKind.MEMORY_KIND_FACT),
        key=belief.slot,
        content=belief.text,
        importance=Importance.IMPORTANCE_PINNED if belief.pinned else Importance.IMPORTANCE_MEDIUM,
        confidence=belief.confidence,
        stated_by=StatedBy.STATED_BY_AGENT if belief.inferred else StatedBy.STATED_BY_USER,
        event_time=timestamp(belief.created),
    )
    if belief.resolved is not None:
        memory.expire_time.CopyFrom(timestamp(belief.resolved))
    return memory


def run(target: Target, path: Path, without: Sequence[str] = ()) -> Report:
    """Replays the single cases, then the sessions on a store of their own."""
    fixture = load(path)
    single: dict[str | None, Outcomes] = {}
    turns: dict[str | None, Outcomes] = {}
    channels = (None, *without)
    with progress("precision", len(channels) * (len(fixture.cases) + len(fixture.turns))) as step:
        for channel in channels:
            single[channel] = _replay(target, fixture, fixture.cases, channel, step)
            turns[channel] = _replay(target, fixture, fixture.turns, channel, step)
    trivial = {name: figures_of(theirs, []) for name, theirs in trivial_outcomes(fixture).items()}
    ours = single[None]
    report = Report(
        figures_of(ours[SURE], turns[None][SURE])
        | {"any_" + n: v for n, v in means(ours[None]).items()},
        [
            _by_category([*ours[SURE], *turns[None][SURE]]),
            _beside(ours[SURE], trivial),
            by_cut(ours),
        ],
        [f"failed: {' '.join(o.case.id for o in ours[SURE] if not passed(o)) or 'none'}"],
        trivial["BM25"],
    )
    return ablation.added(report, {c: figures_of(single[c][SURE], turns[c][SURE]) for c in without})


def _replay(
    target: Target, fixture: Fixture, cases: Sequence[Case], channel: str | None, step: Step
) -> Outcomes:
    """Cases in order on a store of their own; what a turn taught is known from then on."""
    held = Held(target, uuid4().hex[:8])
    held.remember(fixture.beliefs)
    outcomes: Outcomes = {cut: [] for cut in CUTS}
    for case in cases:
        for cut in CUTS:
            outcomes[cut].append(held.ask(case, cut, channel))
        if case.learned is not None:
            held.remember([case.learned])
        if case.renamed is not None:
            belief_id, aliases = case.renamed
            held.rename(held.beliefs[belief_id].also_called(aliases))
        step()
    return outcomes


def by_cut(outcomes: Outcomes) -> Table:
    """Precision and recall by cut, and of one chosen on the other categories each time."""
    measured = ("precision", "recall")
    rows: list[list[Cell]] = []
    for cut, some in outcomes.items():
        means_of = means(some)
        rows.append([_name_of(cut), *(means_of[m] for m in measured)])
    chosen: list[Outcome] = []
    for category in {o.case.category for o in outcomes[None]}:
        best = max(
            CUTS, key=lambda c: _harmonic([o for o in outcomes[c] if o.case.category != category])
        )
        chosen += [o for o in outcomes[best] if o.case.category == category]
    means_of = means(chosen)
    rows.append(["chosen on the other categories", *(means_of[m] for m in measured)])
    return Table("The same by min_score", ["min_score", *measured], rows)


def _name_of(cut: float | None) -> str:
    return "unset" if cut is None else f"{cut:g}"


def _harmonic(outcomes: Sequence[Outcome]) -> float:
    found = means(outcomes)
    total = found["precision"] + found["recall"]
    return 2 * found["precision"] * found["recall"] / total if total else 0.0


def _by_category(outcomes: Sequence[Outcome]) -> Table:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.case.category].append(outcome)
    groups["all single cases"] = [o for o in outcomes if not o.case.in_session]
    rows: list[list[Cell]] = [
        [name, len(some), *means(some).values()] for name, some in groups.items()
    ]
    return Table("PrecisionMemBench", ["category", "n", *MEASURES], rows)


def _beside(outcomes: Sequence[Outcome], trivial: Mapping[str, Mapping[str, Figure]]) -> Table:
    ours = means(outcomes)
    names = ("precision", "recall")
    rows: list[list[Cell]] = [["recalld", *(ours[name] for name in names)]]
    for ranker, figures in trivial.items():
        values = (figures[name] for name in names)
        rows.append([ranker, *(v if isinstance(v, float) else None for v in values)])
    return Table("The same cases to trivial rankers", ["ranker", *names], rows)
