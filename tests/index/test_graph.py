"""Graphs of a partition: frozen at their build, and right beside every write after it."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recalld.index import candidates
from recalld.index.columns import IndexRow
from recalld.index.filter import View
from recalld.index.graph import STALE_SHARE_MAX
from recalld.index.nearest import nearest
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring.params import RankParams
from tests.conformance.index_contract import DIM, unit_vectors
from tests.index.naive_search import ANALYZER

NOW = 10**15
START_COUNT = 300
QUERIES = unit_vectors(3, 21)


def partition(exact_max: int) -> PartitionIndex:
    """An empty partition."""
    return PartitionIndex(DIM, RankParams(0.1, 0.2), ANALYZER, exact_max)


def row(label: int) -> IndexRow:
    """A row without anything of its own."""
    return IndexRow(label, "x", 1, create_time_us=label)


class Writes(RuleBasedStateMachine):
    """Any order of writes to a partition whose graph is built at any moment, against brute force.

    The graph proposes 256 rows of some three hundred, so that its answers are those of the oracle.
    """

    def __init__(self) -> None:
        super().__init__()
        self.index = partition(exact_max=0)
        self.vectors: dict[int, np.ndarray] = {}
        self.next_label = 1
        self.pending = None

    @initialize()
    def fill(self) -> None:
        self.add(START_COUNT, 7)

    @rule(count=st.integers(1, 40), seed=st.integers(0, 9))
    def add(self, count: int, seed: int) -> None:
        labels = list(range(self.next_label, self.next_label + count))
        self.next_label += count
        vectors = unit_vectors(count, seed)
        self.index.add([row(label) for label in labels], vectors)
        self.vectors.update(zip(labels, vectors, strict=True))

    @rule(data=st.data(), count=st.integers(1, 120))
    @precondition(lambda self: len(self.vectors) > 150)
    def remove(self, data: st.DataObject, count: int) -> None:
        start = data.draw(st.integers(0, len(self.vectors) - count))
        gone = list(self.vectors)[start : start + count]
        self.index.remove(gone)
        for label in gone:
            del self.vectors[label]

    @rule(data=st.data(), seed=st.integers(10, 19))
    def change(self, data: st.DataObject, seed: int) -> None:
        label = data.draw(st.sampled_from(sorted(self.vectors)))
        vector = unit_vectors(1, seed)
        self.index.replace([row(label)], vector)
        self.vectors[label] = vector[0]

    @rule()
    def build(self) -> None:
        self.pending = self.index.build_graph(threads=2)

    @rule()
    @precondition(lambda self: self.pending is not None)
    def attach(self) -> None:
        fits = self.pending.fits(self.index.generation.columns)
        assert self.index.attach_graph(self.pending) == fits
        self.pending = None

    @invariant()
    def answers_are_exact(self) -> None:
        labels = np.array(list(self.vectors))
        vectors = np.stack(list(self.vectors.values())) if self.vectors else np.zeros((0, DIM))
        for query in QUERIES:
            cosines = vectors.astype(np.float64) @ query
            expected = labels[np.lexsort((-labels, -cosines))[:5]].tolist()
            got = self.index.search(QueryPlan(View(NOW), vectors=query[None], k=5))
            assert got.labels.tolist() == expected
            assert [label for label, _ in nearest(self.index.generation, query, 5)] == expected


Writes.TestCase.settings = settings(max_examples=8, stateful_step_count=10, deadline=None)
test_writes_beside_a_graph = Writes.TestCase


def test_a_graph_is_wanted_again_when_many_rows_came_or_went():
    """A fresh graph is enough until a tenth of the rows are others than those it was built from."""
    index = partition(exact_max=100)
    index.add([row(n) for n in range(1, 201)], unit_vectors(200))
    assert index.wants_graph
    graph = index.build_graph()
    assert graph is not None and index.attach_graph(graph) and not index.wants_graph
    index.remove(range(1, 15))
    assert not index.wants_graph
    index.add([row(n) for n in range(201, 207)], unit_vectors(6, 2))
    assert not index.wants_graph
    index.add([row(207)], unit_vectors(1, 3))
    assert STALE_SHARE_MAX < (14 + 7) / 207 and index.wants_graph


def test_a_graph_of_rows_numbered_anew_is_not_attached():
    """When most rows were removed during a build its result is of no use, and another is wanted."""
    index = partition(exact_max=50)
    index.add([row(n) for n in range(1, 301)], unit_vectors(300))
    graph = index.build_graph()
    index.remove(range(1, 200))
    assert graph is not None and not index.attach_graph(graph)
    assert index.generation.graph is None and index.wants_graph


def test_a_build_can_be_given_up():
    """A build that is not wanted any more ends without a graph."""
    index = partition(exact_max=0)
    index.add([row(1)], unit_vectors(1))
    assert index.build_graph(is_wanted=lambda: False) is None


@pytest.mark.parametrize("matched, expected", [(149, False), (150, True)])
def test_few_matches_are_not_looked_for_in_a_graph(matched, expected):
    """Below half of the rows a pass over all costs less than what a graph visits in vain."""
    index = partition(exact_max=0)
    index.add([row(n) for n in range(1, 301)], unit_vectors(300))
    assert not candidates.is_for_graph(index.generation, 300)
    graph = index.build_graph()
    assert graph is not None and index.attach_graph(graph)
    assert candidates.is_for_graph(index.generation, matched) == expected
