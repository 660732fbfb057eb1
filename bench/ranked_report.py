"""Tables and figures of a set whose answers are rankings: per category, and beside trivial rankers.

Questions without gold are in no retrieval figure; they only serve `abstention_auroc`.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from recalld.bench.metrics import (
    auroc,
    group_recall_at_k,
    hit_at_k,
    mean,
    ndcg,
    paired_bootstrap,
    recall_at_k,
    reciprocal_rank,
)
from recalld.bench.ranked import Answer
from recalld.bench.report import Cell, Table

Metric = Callable[[Answer], float]

METRICS: tuple[tuple[str, str, Metric], ...] = (
    ("r_at_5", "R@5", lambda a: recall_at_k(a.ranked, a.question.gold, 5)),
    ("r_at_10", "R@10", lambda a: recall_at_k(a.ranked, a.question.gold, 10)),
    ("hit_at_5", "hit@5", lambda a: hit_at_k(a.ranked, a.question.gold, 5)),
    ("ndcg_at_10", "nDCG@10", lambda a: ndcg(a.ranked, a.question.gold)),
)
MRR: tuple[str, str, Metric] = (
    "mrr_at_10",
    "MRR@10",
    lambda a: reciprocal_rank(a.ranked, a.question.gold),
)
BOOTSTRAP_SEED = 1


def event_recall(answer: Answer) -> float:
    """Share of the events in the evidence with at least one evidence record among the first 5."""
    groups = {r.id: r.group for r in answer.corpus.records}
    return group_recall_at_k(answer.ranked, answer.question.gold, groups.__getitem__, 5)


EVENT_RECALL: tuple[str, str, Metric] = ("ev_r_at_5", "evR@5", event_recall)


def figures(
    answers: Sequence[Answer], metrics: Sequence[tuple[str, str, Metric]] = METRICS
) -> dict[str, float | int]:
    """The flat figures over all answered questions that have gold: `n` and each metric's mean."""
    scored = with_gold(answers)
    values = {name: mean([metric(a) for a in scored]) for name, _, metric in metrics}
    return {"n": len(scored), **values}


def with_gold(answers: Sequence[Answer]) -> list[Answer]:
    """The answers that count in retrieval figures."""
    return [a for a in answers if a.question.gold]


def category_table(
    title: str, answers: Sequence[Answer], metrics: Sequence[tuple[str, str, Metric]] = METRICS
) -> Table:
    """One row per category by name, and one over all."""
    by_category: dict[str, list[Answer]] = defaultdict(list)
    for answer in with_gold(answers):
        by_category[answer.question.category].append(answer)
    groups = [*sorted(by_category.items()), ("all", with_gold(answers))]
    return _table(title, "category", groups, (*metrics, MRR))


def baseline_table(
    answers: Sequence[Answer],
    trivial: Mapping[str, Sequence[Answer]],
    metrics: Sequence[tuple[str, str, Metric]] = METRICS,
    title: str = "The same questions to trivial rankers",
) -> Table:
    """The server beside the trivial rankers on the same questions."""
    groups = [("recalld", with_gold(answers))]
    groups += [(name, with_gold(theirs)) for name, theirs in trivial.items()]
    return _table(title, "ranker", groups, (*metrics, MRR))


def against_bm25(answers: Sequence[Answer], trivial: Mapping[str, Sequence[Answer]]) -> str:
    """Whether the difference to BM25 in R@5 is more than chance, in one sentence."""
    _, _, metric = METRICS[0]
    ours = [metric(a) for a in with_gold(answers)]
    theirs = [metric(a) for a in with_gold(trivial["BM25"])]
    if not ours:
        return "No question with evidence."
    gain = paired_bootstrap(theirs, ours, BOOTSTRAP_SEED)
    low, high = 100 * gain.low, 100 * gain.high
    return f"R@5 minus BM25's: {100 * gain.mean:+.1f} points (95 %: {low:+.1f} to {high:+.1f})"


def abstention_auroc(answers: Sequence[Answer]) -> float:
    """How well the best score tells answerable questions from unanswerable ones."""
    answerable = [a.top_score for a in with_gold(answers)]
    return auroc(answerable, [a.top_score for a in answers if not a.question.gold])


def _table(
    title: str,
    first: str,
    groups: Sequence[tuple[str, list[Answer]]],
    metrics: Sequence[tuple[str, str, Metric]],
) -> Table:
    rows: list[list[Cell]] = []
    for name, group in groups:
        rows.append([name, len(group), *(mean([m(a) for a in group]) for _, _, m in metrics)])
    return Table(title, [first, "n", *(label for _, label, _ in metrics)], rows)
