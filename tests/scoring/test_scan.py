"""Similarity kernels against plain Python."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.scan import quantise, rescore_into, scan_into
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
    scan_into(codes, steps, rows, code[0], step[0], out)
    expected = [naive.dot(codes[r], code[0]) * float(steps[r]) * float(step[0]) for r in rows]
    assert np.allclose(out, expected, rtol=1e-5, atol=1e-6)


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
