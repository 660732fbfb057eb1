"""The reader of the weight container."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recalld.index.e5_container import E5Container
from recalld.index.errors import ModelInvalid
from tests.index.tiny_e5 import EPSILON, PIECES, TinyE5, matrix_sizes

TINY = TinyE5()
DATA = TINY.data()


def test_header_and_vocabulary() -> None:
    """Sizes, pieces and scores are those that were written."""
    container = E5Container(DATA)
    shape = container.shape
    assert (shape.hidden, shape.layers, shape.heads, shape.feed_forward) == (128, 2, 2, 256)
    assert (shape.vocabulary, shape.positions, shape.token_types) == (len(PIECES), 64, 2)
    assert shape.epsilon == pytest.approx(EPSILON)
    assert container.pieces == list(PIECES)
    assert container.scores.tolist() == [-float(i) for i in range(len(PIECES))]


def test_tensors() -> None:
    """Every vector and every weight comes back as written."""
    container = E5Container(DATA)
    for name, expected in TINY.vectors.items():
        assert np.array_equal(container.vector(name), expected)
    for name, size in matrix_sizes().items():
        matrix = container.matrix(name, *size)
        assert np.array_equal(matrix.nibbles, TINY.nibbles[name])
        np.testing.assert_allclose(matrix.weights(), TINY.weights[name], rtol=1e-6)


def test_chosen_rows() -> None:
    """Taking rows takes their scales along."""
    matrix = E5Container(DATA).matrix("emb.word", len(PIECES), 128)
    rows = np.array([5, 0, 9])
    np.testing.assert_allclose(
        matrix.take(rows).weights(), TINY.weights["emb.word"][rows], rtol=1e-6
    )


def test_wrong_tensor() -> None:
    """A tensor that is missing, of another kind or of another size is refused."""
    container = E5Container(DATA)
    for bad in (
        lambda: container.vector("nothing"),
        lambda: container.vector("emb.word"),
        lambda: container.matrix("emb.pos", 64, 128),
        lambda: container.matrix("emb.word", 1, 128),
    ):
        with pytest.raises(ModelInvalid):
            bad()


@given(st.integers(0, len(DATA) - 1))
def test_cut_container(length: int) -> None:
    """However much is cut off the end, reading everything fails cleanly."""
    with pytest.raises(ModelInvalid):
        container = E5Container(DATA[:length])
        for name in TINY.vectors:
            container.vector(name)
        for name, size in matrix_sizes().items():
            container.matrix(name, *size)


@settings(max_examples=400)
@given(st.integers(4, 900), st.binary(min_size=1, max_size=8))
@example(72, b"\xff" * 8)
@example(44, b"\xff\xff\xff\x7f")
@example(36, b"\xff" * 8)
def test_damaged_head(place: int, noise: bytes) -> None:
    """Noise in the head is either harmless or refused; nothing else escapes."""
    data = DATA[:place] + noise + DATA[place + len(noise) :]
    try:
        container = E5Container(data)
        container.vector("emb.pos")
        container.matrix("l0.q.w", 128, 128)
    except ModelInvalid:
        pass
