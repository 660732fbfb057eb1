"""The sketch kernels against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.sketch import (
    BLOCK_COUNT,
    LEVEL_MAX,
    PLANE_COUNT,
    add_reach_into,
    bits_of,
    leave_out_into,
    levels_into,
    reach_into,
    turn_into,
)

FLOATS = st.floats(-2, 2, width=32)


@given(st.integers(0, 2**64 - 1))
def test_ones_are_counted(word):
    """The count of bits is that of the binary numeral."""
    assert bits_of(np.uint64(word)) == bin(word).count("1")


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(0, 2100))
def test_reach_equals_signs_times_levels(seed, words, count):
    """The count of bits is the dot product of signs and levels, also across blocks of rows."""
    random = np.random.default_rng(seed)
    dim = 64 * words - int(random.integers(0, 64))
    signs = random.integers(0, 2, (count, dim))
    levels = random.integers(0, LEVEL_MAX + 1, dim)
    terms = random.standard_normal((3, count)).astype(np.float32)
    step, shift, width, blur = (float(np.float32(value)) for value in random.random(4))
    planes = [packed((levels >> b & 1)[None])[0] for b in range(PLANE_COUNT)]
    numbers = np.array([step, LEVEL_MAX * dim, shift, width, blur], np.float32)
    reach = np.empty(count, np.float32)
    reach_into(in_blocks(packed(signs)), in_blocks(terms.T), np.stack(planes), numbers, reach)
    dots = step * ((2 * signs - 1) @ (2 * levels - LEVEL_MAX))
    spread = np.hypot(width * terms[2], blur * terms[0])
    expected = terms[0] * dots + terms[1] + shift + spread
    assert np.allclose(reach, expected, rtol=1e-4, atol=1e-3)


def turned(vector, signs):
    """Each round: signs, then a Hadamard matrix over the first or the last columns."""
    dim, vector = len(vector), vector.astype(np.float64)
    width = 1 << (dim.bit_length() - 1)
    places = np.arange(width)
    ones = [[(row & column).bit_count() for column in places.tolist()] for row in places.tolist()]
    matrix = (-1.0) ** np.array(ones) / np.sqrt(width)
    for number, flips in enumerate(signs):
        vector = vector * flips
        start = (dim - width) * (number % 2)
        vector[start : start + width] = matrix @ vector[start : start + width]
    return vector


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(0, 4))
def test_turning_is_a_product_of_hadamard_matrices(seed, dim, rounds):
    """Rows are turned as the naive product turns them, and keep their lengths."""
    random = np.random.default_rng(seed)
    signs = np.where(random.random((rounds, dim)) < 0.5, -1, 1).astype(np.float32)
    vectors = random.standard_normal((3, dim)).astype(np.float32)
    found = vectors.copy()
    turn_into(signs, found)
    assert np.allclose(found, [turned(vector, signs) for vector in vectors], atol=1e-5)
    assert np.allclose(np.linalg.norm(found, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-5)


@given(hnp.arrays(np.float32, st.integers(1, 130), elements=FLOATS))
def test_levels_are_the_nearest_odd_numbers(values):
    """The planes hold odd levels within a step of each column; lengths are those of the rest."""
    planes, lengths = np.zeros((PLANE_COUNT, -(-len(values) // 64)), np.uint64), np.empty(3, "f4")
    levels_into(values, planes, lengths)
    step = lengths[0]
    assert step >= np.abs(values).max() / LEVEL_MAX * (1 - 1e-6)
    columns = np.arange(len(values))
    bits = planes[:, columns // 64] >> (columns % 64).astype(np.uint64) & np.uint64(1)
    levels = 2 * (bits.T @ 2.0 ** np.arange(PLANE_COUNT)) - LEVEL_MAX
    left = values - step * levels
    assert np.all(np.abs(left) <= step * (1 + 1e-5))
    assert np.allclose(lengths[1:], [np.linalg.norm(values), np.linalg.norm(left)], atol=1e-5)


def packed(bits):
    """Rows of bits as rows of words, the lowest bit first."""
    words = -(-bits.shape[1] // 64)
    out = np.zeros((len(bits), words), np.uint64)
    for column in range(bits.shape[1]):
        out[:, column // 64] |= bits[:, column].astype(np.uint64) << np.uint64(column % 64)
    return out


def in_blocks(rows):
    """Rows side by side in blocks, what is left of the last block filled with rows of ones."""
    out = np.ones((-(-len(rows) // BLOCK_COUNT), rows.shape[1], BLOCK_COUNT), rows.dtype)
    for place, row in enumerate(rows):
        out[place // BLOCK_COUNT, :, place % BLOCK_COUNT] = row
    return out


@given(hnp.arrays(np.float32, st.integers(0, 9), elements=FLOATS), st.sampled_from([1.0, 0.5]))
def test_similarities_become_log_odds(reach, weight):
    """Each row is raised to the clipped, weighed z-score times the full evidence; none sinks."""
    logit = np.full(len(reach), 2.0, np.float32)
    scale = np.array([0.25, 2.0, 3.0, 0.1], np.float32)
    add_reach_into(reach, scale, weight, 8.0, logit)
    for value, got in zip(reach.tolist(), logit.tolist(), strict=True):
        z = (value - 0.25) / 0.5
        score = min(1.0, max(0.0, ((z * weight if z > 0 else z) + 3) / 10))
        assert np.isclose(got, max(2.0, 8.0 * score), atol=1e-5)


@given(hnp.arrays(np.uint8, st.integers(0, 70), elements=st.integers(0, 10)))
def test_rows_are_left_out(excluded):
    """Excluded rows have minus infinity, the others what they had."""
    values = np.arange(len(excluded), dtype=np.float32)
    leave_out_into(excluded, values)
    expected = [-np.inf if why else place for place, why in enumerate(excluded.tolist())]
    assert values.tolist() == expected
