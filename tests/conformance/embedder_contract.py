"""What every embedder must do; a test module subclasses this and supplies the `embedder` fixture.

Figures that differ from one embedder to the next are class attributes.
"""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recalld.index.embedder import Embedder, width_of

TEXTS = [
    "用户对花生过敏",
    "The quarterly report is due on Thursday",
    "",
    "a",
    "混合 mixed 文本 with v2.3.1 and 数字 42",
    "🎉🎉🎉",
    "line one\nline two\ttab",
    "word " * 700,
    "café",
    "nul\x00byte",
    "   ",
]
# Any Unicode a UTF-8 wire can carry: no surrogates.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


class EmbedderContract:
    """Facts about embedders."""

    batch_cosine_min = 1 - 1e-6
    role_changes_vectors = False

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    @staticmethod
    def similarity(embedder: Embedder, texts: list[str], *, is_query: bool) -> NDArray[np.float32]:
        """Vectors of similarity alone, without those of relevance behind them."""
        return embedder.embed(texts, is_query=is_query)[:, : embedder.dim]

    def test_shape_and_type(self, embedder: Embedder) -> None:
        """Vectors come as a writable C-contiguous float32 array, one row a text."""
        vectors = embedder.embed(TEXTS, is_query=False)
        assert vectors.shape == (len(TEXTS), width_of(embedder))
        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous and vectors.flags.writeable

    def test_unit_length(self, embedder: Embedder) -> None:
        """Every vector has length 1, relevance vectors and those of odd texts too."""
        for is_query in (True, False):
            vectors = embedder.embed(TEXTS, is_query=is_query)
            lengths = np.linalg.norm(vectors.reshape(-1, embedder.dim), axis=1)
            np.testing.assert_allclose(lengths, 1, atol=1e-5)

    def test_no_texts(self, embedder: Embedder) -> None:
        """No texts give no rows of the right width."""
        vectors = embedder.embed([], is_query=True)
        assert vectors.shape == (0, width_of(embedder)) and vectors.dtype == np.float32

    def test_same_call_gives_same_bytes(self, embedder: Embedder) -> None:
        """The same call gives the same bytes."""
        first = embedder.embed(TEXTS[:5], is_query=True)
        assert first.tobytes() == embedder.embed(TEXTS[:5], is_query=True).tobytes()

    def test_company_hardly_matters(self, embedder: Embedder) -> None:
        """A text among others gets the vector it gets alone, within the embedder's tolerance."""
        together = self.similarity(embedder, TEXTS, is_query=False)
        alone = np.vstack([self.similarity(embedder, [text], is_query=False) for text in TEXTS])
        assert (together * alone).sum(axis=1).min() >= self.batch_cosine_min

    def test_rows_keep_their_order(self, embedder: Embedder) -> None:
        """Reversing the texts reverses the rows, whatever their lengths."""
        forward = self.similarity(embedder, TEXTS, is_query=False)
        backward = self.similarity(embedder, TEXTS[::-1], is_query=False)[::-1]
        assert (forward * backward).sum(axis=1).min() >= self.batch_cosine_min

    def test_role(self, embedder: Embedder) -> None:
        """A request gets another vector than a memory exactly where the embedder says so."""
        request = self.similarity(embedder, ["where do I live"], is_query=True)
        memory = self.similarity(embedder, ["where do I live"], is_query=False)
        assert np.array_equal(request, memory) != self.role_changes_vectors
        assert float((request * memory).sum()) > 0.8

    def test_related_is_nearer(self, embedder: Embedder) -> None:
        """A related memory is nearer than an unrelated one, in Chinese and in English."""
        for request, related, unrelated in (
            ("我对花生过敏吗", "用户对花生严重过敏", "项目用的是蓝色的图标"),
            ("Am I allergic to peanuts?", "Allergic to peanuts", "The logo is blue"),
        ):
            query = self.similarity(embedder, [request], is_query=True)
            near, far = self.similarity(embedder, [related, unrelated], is_query=False) @ query[0]
            assert near > far + embedder.calibration.spread

    def test_same_text_stands_out(self, embedder: Embedder) -> None:
        """A text scores at least two spreads above the background against itself."""
        text = ["每周三晚上练习大提琴"]
        request = self.similarity(embedder, text, is_query=True)
        cosine = request @ self.similarity(embedder, text, is_query=False).T
        background = embedder.calibration
        assert float(cosine[0, 0]) > background.mean + 2 * background.spread

    def test_identity(self, embedder: Embedder) -> None:
        """Fingerprint and limits are well-formed."""
        assert re.fullmatch("[0-9a-f]{32}", embedder.fingerprint)
        assert embedder.dim > 0 and embedder.max_tokens > 0

    def test_text_beyond_the_limit_is_cut(self, embedder: Embedder) -> None:
        """What lies beyond `max_tokens` does not change a vector."""
        start = "word " * (2 * embedder.max_tokens)
        texts = [start + "apple", start + "pear"]
        one, other = self.similarity(embedder, texts, is_query=False)
        assert float(one @ other) >= self.batch_cosine_min

    def test_token_count(self, embedder: Embedder) -> None:
        """Tokens are counted without special ones, never cut, and add up over words."""
        assert embedder.count_tokens("") == 0
        one = embedder.count_tokens("word")
        assert one >= 1
        assert embedder.count_tokens("word " * 2000) == 2000 * one

    # Each subclass runs the same examples against its own embedder, which keeps no state.
    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
        ],
    )
    @given(texts=st.lists(ANY_TEXT, max_size=4), is_query=st.booleans())
    def test_any_unicode(self, embedder: Embedder, texts: list[str], is_query: bool) -> None:
        """Any Unicode gives finite unit vectors."""
        vectors = embedder.embed(texts, is_query=is_query)
        assert vectors.shape == (len(texts), width_of(embedder))
        lengths = np.linalg.norm(vectors.reshape(-1, embedder.dim), axis=1)
        np.testing.assert_allclose(lengths, 1, atol=1e-5)
