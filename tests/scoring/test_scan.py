"""Similarity kernels against plain Python."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.scan import (
    USUAL_DIM,
    first_unfit,
    nearest_into,
    quantise,
    query_codes,
    rescore_into,
    roughly_nearest_into,
    scan_into,
    unit_into,
)
from tests.scoring import naive

FINITE = st.floats(-1, 1, width=32)
SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 40))


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE), st.data())
def test_rescoring_equals_the_naive_dot_product(vectors, data):
    """Exact similarities are dot products within float32 rounding, in the order of the rows."""
    n, dim = vectors.shape
    query = data.draw(hnp.arrays(np.float32, dim, elements=FINITE))
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=9)), dtype=np.int64)
    out = np.full(len(rows), np.nan, dtype=np.float32)
    rescore_into(vectors, rows, query, out)
    expected = [naive.dot(vectors[row], query) for row in rows]
    assert np.allclose(out, expected, atol=1e-5)


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE), st.data())
def test_scanning_equals_the_dot_product_of_the_codes(vectors, data):
    """The 8-bit scan is the exact dot product of codes and steps."""
    n, dim = vectors.shape
    query = data.draw(hnp.arrays(np.float32, (1, dim), elements=FINITE))
    codes, steps = quantise(vectors)
    code, step = quantise(query)
    rows = np.arange(n)[::-1].copy()
    out = np.empty(n, dtype=np.float32)
    scan_into(codes, steps, rows, code[0].astype(np.int16), step[0], out)
    expected = [naive.dot(codes[r], code[0]) * float(steps[r]) * float(step[0]) for r in rows]
    assert np.allclose(out, expected, rtol=1e-5, atol=1e-6)


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE), st.data())
def test_the_nearest_query_counts(vectors, data):
    """Each row gets the cosine and the clipped, weighed z-score of its best query."""
    n, dim = vectors.shape
    count = data.draw(st.integers(1, 3))
    queries = data.draw(hnp.arrays(np.float32, (count, dim), elements=FINITE))
    weights = data.draw(st.lists(st.sampled_from([1.0, 0.5]), min_size=count, max_size=count))
    mean, spread = 0.25, 0.5
    scale = np.array([mean, 1 / spread, 3.0, 0.1], dtype=np.float32)
    rows = np.arange(n)[::-1].copy()
    raw, out = np.empty(n, np.float32), np.empty(n, np.float32)
    nearest_into(vectors, rows, queries, np.array(weights, np.float32), scale, raw, out)
    for place, row in enumerate(range(n)):
        cosines = [naive.dot(vectors[row], query) for query in queries]
        scores = []
        for cosine, weight in zip(cosines, weights, strict=True):
            z = (cosine - mean) / spread
            scores.append(min(1.0, max(0.0, ((z * weight if z > 0 else z) + 3) / 10)))
        if not vectors[row].any():
            assert (raw[place], out[place]) == (0.0, np.float32(0.3))
            continue
        assert np.isclose(raw[place], cosines, atol=1e-5).any()
        assert np.isclose(out[place], max(scores), atol=1e-5) or abs(raw[place]) < 1e-5


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE))
def test_codes_are_within_half_a_step(vectors):
    """Quantising moves no element by more than half a step, and keeps zero rows zero."""
    codes, steps = quantise(vectors)
    assert codes.dtype == np.int8
    assert np.abs(codes).max(initial=0) <= 127
    error = np.abs(codes * steps[:, None] - vectors)
    assert np.all(error <= steps[:, None] * 0.5001 + 1e-7)
    assert np.all(codes[steps == 0] == 0)


def test_nan_and_infinity_stay_visible():
    """A NaN in a row gives NaN for that row only, an infinity an infinity."""
    vectors = np.ones((3, 9), dtype=np.float32)
    vectors[1, 8] = np.nan
    vectors[2, 0] = np.inf
    out = np.empty(3, dtype=np.float32)
    rescore_into(vectors, np.arange(3), np.ones(9, dtype=np.float32), out)
    assert out[0] == 9
    assert np.isnan(out[1])
    assert np.isinf(out[2])


def test_read_only_arrays_are_accepted():
    """Inputs may be read-only."""
    vectors = np.ones((2, 8), dtype=np.float32)
    rows = np.arange(2)
    query = np.ones(8, dtype=np.float32)
    for array in (vectors, rows, query):
        array.flags.writeable = False
    out = np.empty(2, dtype=np.float32)
    rescore_into(vectors, rows, query, out)
    assert out.tolist() == [8, 8]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="only compiled code checks")
def test_other_types_and_layouts_are_refused():
    """Another dtype or layout, or an output that cannot be written, is a TypeError."""
    vectors = np.ones((2, 8), dtype=np.float32)
    rows = np.arange(2)
    query = np.ones(8, dtype=np.float32)
    out = np.empty(2, dtype=np.float32)
    with pytest.raises(TypeError):
        rescore_into(vectors.astype(np.float64), rows, query, out)
    with pytest.raises(TypeError):
        rescore_into(np.asfortranarray(vectors), rows, query, out)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        rescore_into(vectors, rows, query, out)


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE), st.data())
def test_rough_scores_are_those_of_the_codes(vectors, data):
    """Scores by 8 bits are those of `nearest_into` on what the codes stand for."""
    n, dim = vectors.shape
    asked = data.draw(hnp.arrays(np.float32, (2, dim), elements=FINITE))
    weights, scale = np.array([1, 0.5], np.float32), np.array([0.25, 2, 3, 0.1], np.float32)
    block, queries = quantise(vectors), query_codes(asked)
    rows = np.arange(n)[::-1].copy()
    rough, raw, exact = (np.empty(n, np.float32) for _ in range(3))
    roughly_nearest_into(block, rows, queries, weights, scale, rough)
    meant = block[0] * block[1][:, None]
    wanted = queries[0] * queries[1][:, None]
    nearest_into(meant, rows, wanted.astype(np.float32), weights, scale, raw, exact)
    known = np.abs(raw) > 1e-5
    assert np.allclose(rough[known], exact[known], atol=1e-4)


@given(st.sampled_from([USUAL_DIM - 1, USUAL_DIM, USUAL_DIM + 1]), st.integers(0, 100))
def test_the_usual_width_is_scanned_like_any_other(dim, seed):
    """The code for the default model's width gives the same sums."""
    random = np.random.default_rng(seed)
    codes = random.integers(-127, 128, (3, dim)).astype(np.int8)
    query = random.integers(-127, 128, dim).astype(np.int16)
    out, one = np.empty(3, np.float32), np.ones(3, np.float32)
    scan_into(codes, one, np.arange(3), query, np.float32(1), out)
    assert out.tolist() == (codes.astype(np.int64) @ query).tolist()


@given(hnp.arrays(np.float32, SHAPES, elements=FINITE))
def test_queries_are_quantised_like_rows(vectors):
    """Codes and steps of queries are those of rows."""
    codes, steps = quantise(vectors)
    assert [array.tolist() for array in query_codes(vectors)] == [codes.tolist(), steps.tolist()]


@given(st.lists(st.sampled_from(["unit", "zero", "nan", "inf", "long"]), min_size=1, max_size=6))
def test_the_first_unfit_part_is_found(kinds):
    """A part must be of unit length; all but the first may be zero, and NaN never passes."""
    lengths = {"unit": 1.0, "zero": 0.0, "nan": np.nan, "inf": np.inf, "long": 1.1}
    parts = np.zeros((len(kinds), 3), np.float32)
    parts[:, 1] = [lengths[kind] for kind in kinds]
    first = np.tile(np.array([1, 0, 0], np.float32), (len(kinds), 1))
    bad = [i for i, kind in enumerate(kinds) if kind not in ("unit", "zero")]
    assert first_unfit(np.hstack([first, parts]), 2, 1e-3) == (bad[0] if bad else -1)
    bad = [i for i, kind in enumerate(kinds) if kind != "unit"]
    assert first_unfit(parts, 1, 1e-3) == (bad[0] if bad else -1)


@given(hnp.arrays(np.float32, st.integers(1, 400), elements=st.floats(width=32)))
def test_a_vector_is_stretched_to_length_one(vector):
    """Its length is that of float64, finite where every element is, and 1 afterwards."""
    unit = np.empty_like(vector)
    length = unit_into(vector, unit)
    expected = float(np.sqrt(np.square(vector.astype(np.float64)).sum()))
    assert np.isfinite(length) == np.all(np.isfinite(vector))
    if np.isfinite(length) and length > 0:
        assert length == pytest.approx(expected, rel=1e-12)
        twin = (vector.astype(np.float64) / expected).astype(np.float32)
        assert np.allclose(unit, twin, rtol=2e-7, atol=1e-44)
