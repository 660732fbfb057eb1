"""What a search made of every memory, against the plain-Python score of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index import examine as module
from recalld.index import search
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn
from recalld.index.examine import LEFT_OUT_COUNT_MAX, RANKED_COUNT_MAX, examine, judge
from recalld.index.filter import View
from recalld.index.generation import Reading
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Fusion
from tests.conformance.index_contract import DIM, unit_vectors
from tests.index.naive_search import expected_scores
from tests.index.test_partition import NOW, QUERIES, partition, rows

ACTIVE, SUPERSEDED, CONFLICTED, ARCHIVED, FORGOTTEN = 1, 2, 3, 5, 6


def filled(table: list[IndexRow], exact_max: int = 50_000) -> tuple[PartitionIndex, Any]:
    """A partition of rows with vectors of both kinds."""
    index = partition(exact_max)
    vectors = np.concatenate([unit_vectors(len(table), 3), unit_vectors(len(table), 5)], axis=1)
    if table:
        index.add(table, vectors)
    return index, vectors


def question(kinds: frozenset[int] = frozenset(range(9)), **fields: Any) -> QueryPlan:
    """A question by words and by vectors of both kinds."""
    query = np.concatenate([unit_vectors(1, 7), unit_vectors(1, 9)], axis=1)
    values: dict[str, Any] = {"vectors": query, "texts": (QUERIES[0],), "k": 2} | fields
    return QueryPlan(View(NOW), Filter((NumberIn("kind", kinds),)), **values)


@settings(max_examples=40)
@given(rows(), st.frozensets(st.integers(1, 8)), st.sampled_from(QUERIES))
def test_every_memory_has_its_score_and_reason(
    table: list[IndexRow], kinds: frozenset[int], text: str
) -> None:
    """Whether it passed or not, a memory has the score of the plain sum, and its one reason."""
    index, vectors = filled(table)
    plan = question(kinds, texts=(text,))
    seen = examine(index, plan, Reading(index.generation))
    fates = {}
    for ranking, reasons in ((seen.ranked, None), (seen.left_out, seen.reasons)):
        assert sorted(ranking.scores.tolist(), reverse=True) == ranking.scores.tolist()
        for place, label in enumerate(ranking.labels.tolist()):
            reason = Excluded.NO if reasons is None else Excluded(int(reasons[place]))
            fates[label] = (reason, float(ranking.scores[place]))
    assert sorted(fates) == [row.label for row in table]
    live = [True] * len(table)
    passed = [row for row in table if fates[row.label][0] == Excluded.NO]
    scores = expected_scores(table, vectors, live, passed, plan)
    expected = {row.label: score for row, score in zip(passed, scores, strict=True)}
    for row in table:
        reason, found = fates[row.label]
        # Of what did not pass, neighbours say nothing.
        score = expected.get(row.label, expected_scores(table, vectors, live, [row], plan)[0])
        assert found == pytest.approx(score, abs=1e-5)
        alone = judge(index, plan, row.label)
        assert alone.reason == reason
        assert alone.ranking is not None
        assert alone.ranking.scores[alone.place] == pytest.approx(score, abs=1e-5)
        wanted = Excluded.SUPERSEDED if row.status == SUPERSEDED else Excluded.NO
        if wanted == Excluded.NO and row.kind not in kinds:
            wanted = Excluded.FILTER
        assert reason == wanted
        ranked = [label for label in seen.ranked.labels.tolist() if reason == Excluded.NO]
        assert alone.rank == (ranked.index(row.label) + 1 if ranked else 0)


def test_nothing_is_told_of_hidden_and_forgotten_ones() -> None:
    """Rows that are private to another agent, forgotten or removed are not scored at all."""
    table = [
        IndexRow(1, "peanut", 1, visibility=2, agent_id="other"),
        IndexRow(2, "peanut", 1, status=FORGOTTEN),
        IndexRow(3, "peanut", 1, status=ARCHIVED),
        IndexRow(4, "peanut", 1),
    ]
    index, _ = filled([*table, IndexRow(5, "peanut", 1)])
    index.remove([5])
    plan = question(exclude_labels=frozenset({4}))
    seen = examine(index, plan, Reading(index.generation))
    assert seen.ranked.labels.tolist() == []
    assert seen.left_out.labels.tolist() == [3]
    for label, reason in (
        (1, Excluded.VISIBILITY),
        (2, Excluded.FORGOTTEN),
        (4, Excluded.NAMED),
        (5, Excluded.REMOVED),
    ):
        judged = judge(index, plan, label)
        assert (judged.reason, judged.ranking, judged.rank) == (reason, None, 0)


def test_the_rows_are_those_of_the_recall() -> None:
    """What changes after the reading changes nothing that is seen of it."""
    index, _ = filled([IndexRow(1, "peanut", 1), IndexRow(2, "almond", 1)])
    reading = Reading(index.generation)
    index.update([IndexRow(1, "peanut", 1, status=SUPERSEDED)])
    index.add([IndexRow(3, "peanut", 1)], unit_vectors(1, 8))
    assert sorted(examine(index, question(), reading).ranked.labels.tolist()) == [1, 2]
    assert judge(index, question(), 1).reason == Excluded.SUPERSEDED


def test_counts_are_bounded() -> None:
    """No more than the named counts are told, the best ones, and a memory beyond has its rank."""
    table = [IndexRow(n, "peanut", 1 if n % 2 else 2) for n in range(1, 501)]
    index, _ = filled(table)
    plan = question(frozenset({1}))
    seen = examine(index, plan, Reading(index.generation))
    assert len(seen.ranked) == RANKED_COUNT_MAX
    assert len(seen.left_out) == LEFT_OUT_COUNT_MAX
    outside = set(range(1, 501, 2)) - set(seen.ranked.labels.tolist())
    assert {judge(index, plan, label).rank for label in outside} == set(range(201, 251))
    worst = seen.left_out.scores[-1]
    rest = set(range(2, 501, 2)) - set(seen.left_out.labels.tolist())
    for label in sorted(rest)[:20]:
        judged = judge(index, plan, label)
        assert judged.ranking is not None
        assert judged.ranking.scores[0] <= worst + 1e-6


def test_the_graph_hides_nothing() -> None:
    """In a partition with a graph, ranks are those over all rows, as without it."""
    table = [IndexRow(n, "peanut", 1) for n in range(1, 61)]
    plain, _ = filled(table)
    with_graph, _ = filled(table, exact_max=10)
    with_graph.attach_graph(with_graph.build_graph())
    for index in (plain, with_graph):
        seen = examine(index, question(), Reading(index.generation))
        assert len(seen.ranked) == 60
        labels = seen.ranked.labels.tolist()
        assert [judge(index, question(), label).rank for label in labels] == list(range(1, 61))
    first, second = (
        examine(index, question(), Reading(index.generation)).ranked
        for index in (plain, with_graph)
    )
    assert first.labels.tolist() == second.labels.tolist()


def test_relevance_counts_as_in_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where so many match that relevance is left out, it is left out of every would-be score."""
    for place in (search, module):
        monkeypatch.setattr(place, "RELEVANCE_COUNT_MAX", 3)
    table = [IndexRow(n, "peanut", 1 if n <= 5 else 2) for n in range(1, 8)]
    index, vectors = filled(table)
    plan = question(frozenset({1}))
    without = question(frozenset({1}), vectors=np.ascontiguousarray(plan.vectors[:, :DIM]))
    seen = examine(index, plan, Reading(index.generation))
    for ranking in (seen.ranked, seen.left_out):
        for place, label in enumerate(ranking.labels.tolist()):
            [score] = expected_scores(table, vectors, [True] * 7, [table[label - 1]], without)
            assert ranking.scores[place] == pytest.approx(score, abs=1e-5)


def test_ranks_give_no_would_be_score() -> None:
    """By RRF a memory that did not pass has a reason and no score; one that passed has its rank."""
    table = [IndexRow(1, "peanut", 1), IndexRow(2, "peanut", 2), IndexRow(3, "food", 1)]
    index, _ = filled(table)
    plan = question(frozenset({1}), fusion=Fusion.RRF)
    assert judge(index, plan, 2) == module.Judged(Excluded.FILTER)
    assert {judge(index, plan, label).rank for label in (1, 3)} == {1, 2}
