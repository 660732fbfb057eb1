"""Writes to a partition: updates, removals, compaction, graphs, and readers beside them."""

import math
import threading

import numpy as np
import pytest

from recalld.index import search
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn
from recalld.index.errors import BadLabel, BadPlan, BadVector
from recalld.index.filter import View
from recalld.index.plan import QueryPlan
from recalld.scoring.explain import parts, recompute
from tests.conformance.index_contract import unit_vectors
from tests.index.test_partition import NOW, many, partition


def test_update_changes_columns_and_keys_but_not_text():
    """A new status hides a row, a new key is found by its words, and the text still matches."""
    index, vectors = partition(), unit_vectors(3)
    index.add(many(3), vectors)
    index.update([IndexRow(1, "memory number w1 about topic1", 1, status=2)])
    assert 1 not in index.search(QueryPlan(View(NOW))).labels
    index.update([IndexRow(2, "memory number w2 about topic2", 1, key="home.city")])
    for text in ("home.city", "city", "topic2"):
        assert index.search(QueryPlan(View(NOW), texts=(text,))).labels[0] == 2
    assert len(index) == 3


def test_compaction_keeps_every_answer():
    """Removing most rows compacts, and what is left answers with the scores of a fresh index."""
    index, fresh = partition(), partition()
    table, vectors = many(200), unit_vectors(200)
    index.add(table, vectors)
    index.remove(list(range(1, 151)))
    fresh.add(table[150:], vectors[150:])
    assert index.generation.columns.count == 50
    plan = QueryPlan(View(NOW), vectors=unit_vectors(1, 3), texts=("topic5 w180",), k=10)
    one, other = index.search(plan), fresh.search(plan)
    assert one.labels.tolist() == other.labels.tolist()
    assert np.allclose(one.scores, other.scores, atol=1e-6)
    index.add(table[:1], vectors[:1])
    assert 1 in index


def test_unfit_writes_change_nothing():
    """Taken or absent labels, unfit vectors and values out of range raise and leave no trace."""
    index, vectors = partition(), unit_vectors(3)
    index.add(many(2), vectors[:2])
    before = index.generation
    for table, rows_vectors, error in (
        ([IndexRow(5, "", 1), IndexRow(1, "", 1)], vectors[:2], BadLabel),
        ([IndexRow(5, "", 1), IndexRow(5, "", 1)], vectors[:2], BadLabel),
        ([IndexRow(5, "", 99)], vectors[:1], BadPlan),
        ([IndexRow(5, "", 1, confidence=math.nan)], vectors[:1], BadPlan),
        ([IndexRow(5, "", 1)], vectors[:1] * np.float32(np.nan), BadVector),
    ):
        with pytest.raises(error):
            index.add(table, rows_vectors)
    with pytest.raises(BadLabel):
        index.remove([1, 77])
    with pytest.raises(BadLabel):
        index.update([IndexRow(77, "", 1)])
    assert index.generation is before


def test_readers_see_whole_generations_while_a_writer_writes():
    """Beside additions, updates, removals and compactions every answer is consistent in itself."""
    index, vectors = partition(), unit_vectors(1200)
    table = many(1200)
    index.add(table[:100], vectors[:100])
    failures: list[BaseException] = []
    done = threading.Event()
    plan = QueryPlan(View(NOW), vectors=unit_vectors(1, 2), texts=("memory w5 topic3",), k=20)

    def read() -> None:
        try:
            while not done.is_set():
                ranking = index.search(plan)
                assert len(ranking) == min(20, ranking.matched)
                assert len(set(ranking.labels.tolist())) == len(ranking)
                for place in range(len(ranking)):
                    score = recompute(parts(ranking, place))
                    assert math.isclose(score, ranking.scores[place], abs_tol=1e-6)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(100, 1200, 100):
        index.add(table[start : start + 100], vectors[start : start + 100])
        index.update(table[start : start + 10])
        index.remove([row.label for row in table[start - 100 : start - 10]])
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert len(index) == 1200 - 11 * 90


def test_a_graph_answers_large_partitions_like_an_exact_scan(monkeypatch):
    """With a graph attached, top hits equal the exact ones, also after writes and under filters."""
    monkeypatch.setattr(search, "SCAN_COUNT_MIN", 512)
    index, exact = partition(exact_max=500), partition()
    table, vectors = many(1500), unit_vectors(1500)
    for one in (index, exact):
        one.add(table[:1400], vectors[:1400])
    assert index.wants_graph
    graph = index.build_graph()
    index.remove([3])
    index.add(table[1400:1450], vectors[1400:1450])
    index.attach_graph(graph)
    index.add(table[1450:], vectors[1450:])
    index.update([IndexRow(7, table[6].text, 1, key="renamed")])
    exact.remove([3])
    exact.add(table[1400:], vectors[1400:])
    exact.update([IndexRow(7, table[6].text, 1, key="renamed")])
    assert not index.wants_graph
    condition = Filter(must_not=(NumberIn("importance", frozenset({1})),))
    for query in unit_vectors(8, 11):
        for chosen in (Filter(), condition):
            plan = QueryPlan(View(NOW), chosen, query[None], texts=("topic4 w77",), k=5)
            got, truth = index.search(plan), exact.search(plan)
            assert got.considered < truth.matched == got.matched
            assert got.labels.tolist() == truth.labels.tolist()
