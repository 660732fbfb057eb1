"""The model-free embedder."""

import numpy as np
import pytest

from recalld.index.embedder import Embedder
from recalld.index.hash_embedder import DIM_MAX, DIM_MIN, HashEmbedder
from tests.conformance.embedder_contract import EmbedderContract


class TestHashEmbedder(EmbedderContract):
    """The contract at the default width."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestWideHashEmbedder(EmbedderContract):
    """The contract at the width of the default model."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder(384)


def test_vectors_are_fixed_for_ever() -> None:
    """The vector of the empty text is the first axis, and widths have fingerprints of their own."""
    vector = HashEmbedder(8).embed([""], is_query=False)[0]
    assert vector.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert HashEmbedder(8).fingerprint != HashEmbedder(16).fingerprint


def test_tokens_are_words_and_han_characters() -> None:
    """A Latin word, a number and a Han character are one token each."""
    assert HashEmbedder().count_tokens("用户 likes 3 apples，是吗") == 7


def test_case_and_width_are_folded() -> None:
    """Letters of another case or width give the same vector."""
    vectors = HashEmbedder().embed(["ABC", "abc", "ＡＢＣ"], is_query=False)
    assert np.array_equal(vectors[0], vectors[1]) and np.array_equal(vectors[0], vectors[2])


@pytest.mark.parametrize("dim", [DIM_MIN - 1, DIM_MAX + 1, 0, -1])
def test_width_is_bounded(dim: int) -> None:
    """A width out of range is refused."""
    with pytest.raises(ValueError, match="dim"):
        HashEmbedder(dim)
