"""`python -m recalld.bench.fit_weights`: what weights the sets suggest, and what they would gain.

Records every channel's score of every candidate through a real server, fits weights to them and
scores the fit on stores it did not see: five folds over the stores of each set. The fresh next-day
scenarios and BEAM are only ever scored. It prints and suggests; it changes no file.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from recalld.bench import baselines, eval_beam, eval_locomo, next_day, pairs, signals
from recalld.bench.evaluate_all import FRESH, POOL, find
from recalld.bench.fit import Mix, fit, served_mix
from recalld.bench.metrics import mean
from recalld.bench.record_parts import Recorded, of_corpus, of_next_day
from recalld.bench.report import Cell, Report, Step, Table, publish, say
from recalld.bench.target import Target, connect, own_server
from recalld.v1.recall_service_pb2 import Channel

K = 5
FOLD_COUNT = 5
# A careful pull, not the best one found: on the pairs 0.0003 put four points more first.
L2 = 0.003
FITTED: Final = ("pairs", "next-day", "locomo")  # the rest is only scored
CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
PAIRS = Path(__file__).parent.parent / "index" / "relevance"

Order = Sequence[int]  # positions of candidates, best first
Recorder = Callable[[Target, Step], list[Recorded]]


def recorders(sets: Path) -> dict[str, Recorder]:
    """How to record each set that is at hand."""

    def corpora(name: str, load: Callable[[Path], list[pairs.Corpus]], path: Path) -> Recorder:
        return lambda t, s: [q for c in load(path) for q in of_corpus(t, c, name, s)]

    def scenarios(name: str, path: Path) -> Recorder:
        return lambda t, s: [
            q for store in next_day.load(path, POOL) for q in of_next_day(t, store, name, s)
        ]

    found = {"pairs": corpora("pairs", pairs.load, PAIRS), "fresh": scenarios("fresh", FRESH)}
    if path := find(sets, "next-day"):
        found["next-day"] = scenarios("next-day", path)
    if path := find(sets, "locomo"):
        found["locomo"] = corpora("locomo", eval_locomo.load, path)
    if path := find(sets, "beam"):
        found["beam"] = corpora("beam", eval_beam.load, path)
    return found


def usable(question: Recorded) -> bool:
    """Ranked by relevance too, of no class that a set reports apart, and not short of evidence.

    A question of LoCoMo or BEAM whose evidence is missing is none that needs no memory.
    """
    if question.category == eval_locomo.CATEGORIES[eval_locomo.ADVERSARIAL]:
        return False
    labelled = question.set_name not in ("locomo", "beam")
    silent = labelled or question.category == eval_beam.ABSTENTION
    has_relevance = bool(question.weights[Channel.CHANNEL_RELEVANCE - 1] > 0)
    return has_relevance and (question.needed_count > 0 or silent)


def order(scores: Sequence[float] | np.ndarray) -> Order:
    """Best first; ties as they were written."""
    return [int(i) for i in np.argsort(-np.asarray(scores), kind="stable")[:K]]


def hit_at_5(question: Recorded, ranked: Order) -> float | None:
    """The needed ones are among the first five: all, or one, as its set counts."""
    if not question.needed_count:
        return None
    found = len(set(ranked[:K]) & set(question.needed.tolist()))
    return float(found >= (question.needed_count if question.all_counts else 1))


def best_at_1(question: Recorded, ranked: Order) -> float | None:
    """The first one is one that should be."""
    if not question.has_first:
        return None
    return float(bool(len(ranked)) and ranked[0] in question.firsts)


def folds(questions: Sequence[Recorded]) -> list[int]:
    """Fold of each question: the stores of a set in turn, so none is on both sides."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for q in questions:
        stores = numbers[q.set_name]
        stores.setdefault(q.store, len(stores))
    return [numbers[q.set_name][q.store] % FOLD_COUNT for q in questions]


def cross_validated(questions: Sequence[Recorded], l2: float) -> tuple[list[Mix], list[Mix]]:
    """The weights that each question is scored with, fitted without its store; and each fold's."""
    present, fold_of = served_mix(questions[0]), folds(questions)
    mixes = []
    for fold in range(FOLD_COUNT):
        training = [
            q for q, f in zip(questions, fold_of, strict=True) if f != fold and q.set_name in FITTED
        ]
        mixes.append(fit(training, present, l2))
    return [mixes[f] for f in fold_of], mixes


def trivial_orders(questions: Sequence[Recorded]) -> dict[str, list[Order]]:
    """What trivial rankers make of each question, by ranker.

    `request-blind` ranks by what the other questions of the store make of a memory on the mean.
    """
    by_store: dict[tuple[str, str], list[Recorded]] = defaultdict(list)
    for q in questions:
        by_store[q.set_name, q.store].append(q)
    rankers = {at: baselines.rankers(some[0].documents) for at, some in by_store.items()}
    names = dict.fromkeys(name for named in rankers.values() for name in named)
    orders: dict[str, list[Order]] = {
        name: [
            named[name](q.text, K) if name in (named := rankers[q.set_name, q.store]) else []
            for q in questions
        ]
        for name in names
    }
    sums = {at: np.sum([q.served for q in some], axis=0) for at, some in by_store.items()}
    orders["request-blind"] = [order(sums[q.set_name, q.store] - q.served) for q in questions]
    return orders


def comparison(questions: Sequence[Recorded], orders: Mapping[str, Sequence[Order]]) -> Table:
    """Hit@5 and best@1 of every ranker on every set."""
    sets = list(dict.fromkeys(q.set_name for q in questions))
    columns = [f"{name} {measure}" for name in sets for measure in ("hit@5", "best@1")]
    rows: list[list[Cell]] = []
    for ranker, ranked in orders.items():
        pairs_of = list(zip(questions, ranked, strict=True))
        row: list[Cell] = [ranker]
        for name in sets:
            mine = [(q, o) for q, o in pairs_of if q.set_name == name]
            row += [
                mean([v for q, o in mine if (v := measure(q, o)) is not None])
                for measure in (hit_at_5, best_at_1)
            ]
        rows.append(row)
    return Table("Rankers", ["ranker", *columns], rows)


def weight_table(present: Mix, fitted: Mix, by_fold: Sequence[Mix]) -> Table:
    """Weights by channel, present and suggested, with the range over the folds."""
    rows: list[list[Cell]] = []
    for name, number in Channel.items():
        if number:
            values = [mix.weights[number - 1] for mix in by_fold]
            rows.append(
                [
                    name.removeprefix("CHANNEL_").lower(),
                    f"{present.weights[number - 1]:.1f}",
                    f"{fitted.weights[number - 1]:.1f}",
                    f"{min(values):.1f} to {max(values):.1f}",
                ]
            )
    grounds = [mix.background for mix in by_fold]
    span = f"{min(grounds):.1f} to {max(grounds):.1f}"
    rows.append(["background", f"{present.background:.1f}", f"{fitted.background:.1f}", span])
    return Table("Weights", ["channel", "present", "fitted", "over folds"], rows)


def cut_table(name: str, questions: Sequence[Recorded], mixes: Sequence[Mix]) -> Table:
    """What a cut leaves, per set: needed ones of the first five, hits, and silence where right."""
    sets = list(dict.fromkeys(q.set_name for q in questions))
    scored = [(q, m.scores(q)) for q, m in zip(questions, mixes, strict=True)]
    rows: list[list[Cell]] = []
    for cut in CUTS:
        row: list[Cell] = [f"{cut:.2f}"]
        for set_name in sets:
            mine = [(q, s) for q, s in scored if q.set_name == set_name]
            tops = [(q, o, s) for q, s in mine for o in order(s)]
            kept = [float(s[o] >= cut) for q, o, s in tops if o in q.needed]
            hits = len([1 for _, o, s in tops if s[o] >= cut]) / max(1, len(mine))
            silent = [float(s.max() < cut) for q, s in mine if not q.needed_count]
            row += [mean(kept), f"{hits:.1f}", mean(silent)]
        rows.append(row)
    columns = [f"{s} {c}" for s in sets for c in ("needed kept", "hits", "silent")]
    return Table(f"Cuts, {name} weights", ["cut", *columns], rows)


def report(questions: Sequence[Recorded], l2: float) -> Report:
    """Everything there is to say."""
    present = served_mix(questions[0])
    held_out, by_fold = cross_validated(questions, l2)
    fitted = fit([q for q in questions if q.set_name in FITTED], present, l2)
    on_pairs = fit([q for q in questions if q.set_name == "pairs"], present, l2)
    orders: dict[str, list[Order]] = {
        "present weights": [order(q.served) for q in questions],
        "fitted, cross-validated": [
            order(m.scores(q)) for q, m in zip(questions, held_out, strict=True)
        ],
        "fitted on pairs alone": [order(on_pairs.scores(q)) for q in questions],
        **trivial_orders(questions),
    }
    by_set: dict[str, list[Recorded]] = defaultdict(list)
    for q in questions:
        by_set[q.set_name].append(q)
    tables = [
        comparison(questions, orders),
        weight_table(present, fitted, by_fold),
        cut_table("present", questions, [present] * len(questions)),
        cut_table("fitted, cross-validated", questions, held_out),
        signals.table(by_set, {"present": present, "fitted": fitted}),
    ]
    notes = [
        f"{len(questions)} questions; fitted to {', '.join(n for n in FITTED if n in by_set)}; "
        f"others are only scored; pairs by weights fitted on pairs alone are not held out",
    ]
    return Report({"n": len(questions), "l2": l2}, tables, notes)


def _quiet(count: int = 1) -> None:
    """Progress that nobody watches."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path, required=True, help="folder with the sets")
    parser.add_argument("--l2", type=float, default=L2, help="pull to the present weights")
    parser.add_argument("names", nargs="*", help="sets to use; none: all at hand")
    arguments = parser.parse_args()
    found = recorders(arguments.sets)
    chosen = {n: r for n, r in found.items() if n in (arguments.names or found)}
    questions: list[Recorded] = []
    with own_server("onnx") as address, connect(address) as target:
        for name, record in chosen.items():
            say(f"recording {name}")
            questions += [q for q in record(target, _quiet) if usable(q)]
    publish(report(questions, arguments.l2), None)


if __name__ == "__main__":
    main()
