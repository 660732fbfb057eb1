"""A search of very many rows gives what looking at each of them gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index import candidates, search, sketch
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn
from recalld.index.filter import View
from recalld.index.nearest import nearest
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring.params import SUPERSEDED, RankParams
from tests.conformance.index_contract import DIM, unit_vectors
from tests.index.naive_search import ANALYZER
from tests.index.test_sketch import wide_vectors

NOW = 10**15
DAY_US = 86_400_000_000
COUNT = 700
WORDS = ("peanut", "allergy", "spicy", "food", "firmware", "杭州", "西湖")


@pytest.fixture(scope="module", autouse=True)
def small_bounds():
    """Sketches from few rows on, and no 8-bit scan behind them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketch, "SKETCH_COUNT_MIN", 100)
        patch.setattr(candidates, "PROBE_COUNT_MIN", 8)
        patch.setattr(candidates, "LOOK_COUNT_MAX", 50)
        patch.setattr(search, "SCAN_COUNT_MIN", 10**9)
        yield


def row(label: int) -> IndexRow:
    """A row that differs from others in everything that counts; every ninth was replaced."""
    random = np.random.default_rng(label)
    replaced = label % 9 == 0
    return IndexRow(
        label,
        " ".join(random.choice(WORDS, 3)),
        int(random.integers(1, 8)),
        status=SUPERSEDED if replaced else 1,
        superseded_time_us=1 if replaced else 0,
        importance=int(random.integers(1, 5)),
        stated_by=int(random.integers(1, 5)),
        confidence=float(random.random()),
        create_time_us=label,
        event_time_us=label * 1_000_000,
        anchor_time_us=NOW - int(random.integers(0, 900)) * DAY_US,
        identity=label,
        heir=label + 1 if replaced else 0,
    )


def pair() -> tuple[PartitionIndex, PartitionIndex]:
    """The same rows with sketches and without."""
    made = []
    for bound in (100, 10**9):
        sketch.SKETCH_COUNT_MIN = bound
        index = PartitionIndex(DIM, RankParams(0.1, 0.2), ANALYZER)
        vectors = unit_vectors(COUNT + 200)
        index.add([row(n) for n in range(1, COUNT + 1)], vectors[:COUNT])
        index.remove(list(range(5, COUNT, 11)))
        index.add([row(n) for n in range(COUNT + 1, COUNT + 201)], vectors[COUNT:])
        index.replace([row(n) for n in (8, 20)], unit_vectors(2, 9))
        made.append(index)
    sketch.SKETCH_COUNT_MIN = 100
    assert made[0].generation.sketch is not None and made[1].generation.sketch is None
    return made[0], made[1]


@pytest.fixture(scope="module")
def indexes(small_bounds) -> tuple[PartitionIndex, PartitionIndex]:
    """One pair for all plans."""
    return pair()


@st.composite
def plans(draw):
    """Questions by vectors, words or both, under filters that pass most rows or few."""
    vectors = draw(st.sampled_from([0, 1, 1, 2]))
    texts = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=not vectors, max_size=2)))
    kinds = draw(st.sampled_from([frozenset(), frozenset({1}), frozenset({1, 2, 3, 4})]))
    weights = (1.0, 0.6)
    return QueryPlan(
        View(NOW),
        Filter(must=(NumberIn("kind", kinds),) if kinds else ()),
        unit_vectors(vectors, draw(st.integers(0, 99))) if vectors else None,
        weights[:vectors] or (1.0,),
        texts,
        weights[: len(texts)] or (1.0,),
        k=draw(st.sampled_from([1, 5, 10, 40])),
        min_score=draw(st.sampled_from([None, 0.0])),
    )


@settings(max_examples=120, deadline=None)
@given(plan=plans())
def test_bounds_drop_nothing_that_wins(indexes, plan):
    """Labels, scores and counts are those of a search that looks at every row."""
    quick, whole = (index.search(plan) for index in indexes)
    assert quick.labels.tolist() == whole.labels.tolist()
    assert quick.scores.tolist() == whole.scores.tolist()
    assert quick.inherited.tolist() == whole.inherited.tolist()
    assert quick.matched == whole.matched
    assert np.array_equal(quick.excluded, whole.excluded)


def test_few_rows_are_looked_at(small_bounds):
    """Among vectors as wide as those of models, most rows are left after their bounds."""
    index = PartitionIndex(384, RankParams(0.1, 0.2), ANALYZER)
    index.add([IndexRow(n, "x", 1) for n in range(1, 2_001)], wide_vectors(2_000, 384, 0.5, 1))
    query = wide_vectors(1, 384, 0.5, 2)
    ranking = index.search(QueryPlan(View(NOW), vectors=query, k=5))
    assert ranking.considered < ranking.matched / 4


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_are_those_of_all(indexes, seed):
    """What a write is held against does not depend on sketches."""
    vector = unit_vectors(1, seed)[0]
    assert nearest(indexes[0].generation, vector, 8) == nearest(indexes[1].generation, vector, 8)


def test_compaction_keeps_sketches_in_step(indexes):
    """After most rows are gone the answers are still those of looking at every row."""
    quick, whole = pair()
    for index in (quick, whole):
        index.remove([n for n in range(2, COUNT) if n in index][: COUNT - 100])
        index.add([row(n) for n in range(2_000, 2_050)], unit_vectors(50, 13))
    plan = QueryPlan(View(NOW), vectors=unit_vectors(1, 4), texts=("peanut",), k=5)
    assert quick.search(plan).labels.tolist() == whole.search(plan).labels.tolist()
    assert quick.generation.columns.count < COUNT
