"""Sketches bound cosines, and share nothing that a reader could see change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index.exact import VectorBlock
from recalld.index.sketch import SKETCH_COUNT_MIN, SketchBlock, highest, sketched
from tests.conformance.index_contract import DIM, unit_vectors


def wide_vectors(count: int, dim: int, noise: float, seed: int) -> np.ndarray:
    """Unit vectors around a few centres that share a direction, as those of models do."""
    random = np.random.default_rng(seed)
    centres = 1.5 + np.random.default_rng(5).standard_normal((6, dim))
    vectors = centres[random.integers(0, 6, count)] + noise * random.standard_normal((count, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=40)
@given(
    st.sampled_from([1, 2, 24, 63, 64, 65, 384]),
    st.sampled_from([0.0, 0.05, 0.5, 5.0]),
    st.integers(0, 2**32 - 1),
)
def test_no_cosine_exceeds_its_reach(dim, noise, seed):
    """Whatever the width and however the vectors lie, an exact cosine stays below the bound."""
    vectors = wide_vectors(300, dim, noise, seed)
    sketch = SketchBlock.of(vectors[:100]).appended(vectors[100:])
    for query in (*wide_vectors(4, dim, noise, seed + 1), vectors[7]):
        cosines = vectors.astype(np.float64) @ query.astype(np.float64)
        assert np.all(cosines <= sketch.reach(query) + 1e-5)


def test_most_rows_reach_little():
    """Of many clustered vectors hardly any of other clusters reach the tenth nearest."""
    vectors = wide_vectors(6_000, 384, 0.7, 1)
    sketch = SketchBlock.of(vectors)
    for query in wide_vectors(5, 384, 0.7, 2):
        tenth = np.sort(vectors @ query)[-10]
        assert (sketch.reach(query) >= tenth).sum() <= 6_000 / 6 * 1.2


def test_views_keep_what_they_had():
    """Rows appended or compacted later change nothing for a view that is held."""
    vectors, query = unit_vectors(90), unit_vectors(1, 3)[0]
    first = SketchBlock.of(vectors[:40])
    before = first.reach(query)
    second = first.appended(vectors[40:50])
    third = second.appended(vectors[50:])
    kept = np.arange(0, 90, 3)
    assert np.array_equal(first.reach(query), before)
    assert np.array_equal(third.reach(query)[:40], before)
    assert np.array_equal(third.compacted(kept).reach(query), third.reach(query)[kept])


def test_sketches_begin_where_there_are_many_rows():
    """Below the bound there are none; from it on they hold every row."""
    block = VectorBlock.empty(DIM).appended(unit_vectors(SKETCH_COUNT_MIN - 1))
    assert sketched(None, block) is None
    block = block.appended(unit_vectors(1, 2))
    sketch = sketched(None, block)
    assert sketch is not None and sketch.count == SKETCH_COUNT_MIN
    longer = sketched(sketch, block.appended(unit_vectors(5, 4)))
    assert longer is not None and longer.count == SKETCH_COUNT_MIN + 5


@pytest.mark.parametrize("count", [64, 65, 1_000, 5_003])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_the_highest_are_found_in_one_pass(count, share):
    """As many rows as wanted, ascending, none of them marked, the very best one among them."""
    random = np.random.default_rng(count)
    values = random.standard_normal(count).astype(np.float32)
    values[random.random(count) >= share] = -np.inf
    k = min(10, int(np.isfinite(values).sum()))
    rows = highest(values, k)
    assert len(rows) == k and np.all(np.diff(rows) > 0)
    assert np.all(np.isfinite(values[rows])) and int(values.argmax()) in rows
