"""A deterministic embedder without a model: hashed words and character n-grams.

Texts that share words or letters get near vectors; meaning is never seen, and requests are treated
like memories. It serves tests and the first run before a model is there. Vectors depend on
nothing but text and dimension: no file, no random seed, no machine.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recalld.index.embedder import (
    Calibration,
    RequestBackground,
    make_fingerprint,
    measure_calibration,
    measure_requests,
    unit_rows,
)

SCHEME = "character and word hashing 1"
DIM_DEFAULT = 64
DIM_MIN = 8
DIM_MAX = 4096
TOKENS_MAX = 512
WORD_WEIGHT = 1.0
NGRAM_WEIGHT = 0.5
# Keeps the vector of a text without any feature off zero. No sum of the two weights above equals
# it, so it cannot be cancelled either.
BIAS = 0.125
POSITIONS_PER_FEATURE = 4
NGRAM_LENGTHS = (3, 4)

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+")


class HashEmbedder:
    """Embedder without a model; see `recalld.index.embedder.Embedder` for the contract.

    Args:
        dim: width of a vector, in [8, 4096].

    Raises:
        ValueError: `dim` is out of range.
    """

    def __init__(self, dim: int = DIM_DEFAULT) -> None:
        """Choose the dimension; nothing is loaded."""
        if not DIM_MIN <= dim <= DIM_MAX:
            raise ValueError(f"dim must be in [{DIM_MIN}, {DIM_MAX}], got {dim}")
        self.dim = dim
        self.relevance = None
        self.base_model = ""
        self.max_tokens = TOKENS_MAX
        self.fingerprint = make_fingerprint({"scheme": SCHEME, "dim": dim})

    @cached_property
    def calibration(self) -> Calibration:
        """Background cosine, measured at first use."""
        return measure_calibration(self)

    @cached_property
    def requests(self) -> RequestBackground | None:
        """Background of requests, measured at first use."""
        return measure_requests(self)

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """Embed texts; `is_query` makes no difference here."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = BIAS
            for feature, weight in _features(_tokens(text)[: self.max_tokens]):
                self._add(row, feature, weight)
        return unit_rows(rows)

    def count_tokens(self, text: str) -> int:
        """Count words and Han characters."""
        return len(_tokens(text))

    def _add(self, row: NDArray[np.float32], feature: str, weight: float) -> None:
        digest = hashlib.blake2b(
            feature.encode("utf-8", "surrogatepass"), digest_size=4 * POSITIONS_PER_FEATURE
        ).digest()
        for start in range(0, len(digest), 4):
            number = int.from_bytes(digest[start : start + 4], "little")
            row[(number >> 1) % self.dim] += weight if number & 1 else -weight


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def _features(tokens: Sequence[str]) -> Iterator[tuple[str, float]]:
    previous = ""
    for token in tokens:
        yield f"word {token}", WORD_WEIGHT
        if len(token) == 1 and len(previous) == 1:
            # Neighbouring Han characters: the two-character word is what carries meaning.
            yield f"pair {previous}{token}", WORD_WEIGHT
        padded = f"<{token}>"
        for length in NGRAM_LENGTHS:
            for start in range(len(padded) - length + 1):
                yield f"part {padded[start : start + length]}", NGRAM_WEIGHT
        previous = token
