"""The embedder contract: texts in, unit vectors out, and how to read their cosines.

This file never loads a model. Invariants that every embedder keeps: vectors are float32, unit
length and C-contiguous; the fingerprint changes whenever the same text could give a different
vector, so vectors of two fingerprints are never compared.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recalld.index.background_texts import SMALL_TALK, UNRELATED_MEMORIES, UNRELATED_REQUESTS
from recalld.index.errors import BadVector

FINGERPRINT_DIGITS = 32
DEFAULT_MODEL = "e5-small-int8"
FAST_MODEL = "use-multilingual-v3"


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the cosine of a request with an unrelated memory looks like under one model.

    Attributes:
        mean: average background cosine, in [-1, 1].
        spread: standard deviation of the background cosines, in (0, 1].

    Raises:
        BadVector: when the figures are outside these ranges, which only a broken model gives.
    """

    mean: float
    spread: float

    def __post_init__(self) -> None:
        """Refuse figures that would turn every later score into nonsense."""
        sound = math.isfinite(self.mean) and -1 <= self.mean <= 1 and 0 < self.spread <= 1
        if not sound:
            raise BadVector(f"no usable calibration: mean {self.mean}, spread {self.spread}")


@dataclass(frozen=True, eq=False)
class RequestBackground:
    """What requests have in common under one model, so that two can be compared by the rest.

    Requests of one language are all alike to an encoder, and so are its short utterances; what
    tells them apart is small beside it.

    Attributes:
        centres: float32[groups, dim], mean similarity vector of each language's requests, then of
            each language's small talk.
        scale: cosines of unrelated requests, their centres taken off.
    """

    centres: NDArray[np.float32]
    scale: Calibration

    def nearest(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Place of the nearest centre of vectors float32[n, dim]: int64[n]."""
        return np.argmax(vectors @ self.centres.T, axis=1)

    def apart(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """What is left of vectors float32[n, dim] without their centres, of length 1 or 0."""
        left = vectors - self.centres[self.nearest(vectors)]
        lengths = np.linalg.norm(left, axis=1, keepdims=True)
        return np.divide(left, lengths, out=np.zeros_like(left), where=lengths > 0)


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Attributes:
        dim: width of a vector, > 0.
        fingerprint: 32 hex digits over model, tokenizer, pooling, prefixes and length limit.
        max_tokens: tokens of one text that count, prefix and special tokens included; the rest
            of a longer text is cut off.
        calibration: background cosine of this model.
        relevance: background cosine of the relevance vectors that stand behind the others; None
            where the model makes none.
        requests: background of requests compared with requests; None where the model tells none
            apart.
        base_model: what the model was made from; "" where that is not known.

    Thread safety: every method may be called from any thread at any time.
    """

    @property
    def dim(self) -> int:
        """Width of a vector."""

    @property
    def fingerprint(self) -> str:
        """Identity of everything that decides a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that count."""

    @property
    def calibration(self) -> Calibration:
        """Background cosine of this model."""

    @property
    def relevance(self) -> Calibration | None:
        """Background cosine of the relevance vectors, if the model makes any."""

    @property
    def requests(self) -> RequestBackground | None:
        """Background of requests compared with requests, if the model tells any apart."""

    @property
    def base_model(self) -> str:
        """What the model was made from."""

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: any number of texts, also none; empty texts are allowed, lone surrogates
                (which no UTF-8 wire can carry) are not.
            is_query: True for requests, False for memories: models may treat them differently.

        Returns:
            float32[len(texts), dim], C-contiguous, writable, rows of length 1 in the order of
            `texts`; with relevance vectors float32[len(texts), 2 * dim], each half of length 1.
            The same call gives the same bytes; the same text among other texts gives a
            vector at cosine > 0.995 of it.

        Raises:
            BadVector: the model gave a vector that is not finite or cannot be normalised.
            ModelInvalid: the model failed.
        """

    def count_tokens(self, text: str) -> int:
        """Count the tokens of `text` alone: no prefix, no special tokens, never cut; >= 0."""


def width_of(embedder: Embedder) -> int:
    """Columns of what `embed` returns: all kinds of vectors side by side."""
    return embedder.dim * (1 if embedder.relevance is None else 2)


def measure_calibration(embedder: Embedder, part: int = 0) -> Calibration:
    """Measure the background cosine of an embedder on the built-in unrelated texts.

    Args:
        embedder: the model.
        part: 0 for similarity, 1 for relevance.

    Complexity: embeds 40 short texts.

    Raises:
        BadVector: the vectors are unusable, for example all the same.
    """
    columns = slice(part * embedder.dim, (part + 1) * embedder.dim)
    requests = embedder.embed(UNRELATED_REQUESTS, is_query=True)[:, columns]
    memories = embedder.embed(UNRELATED_MEMORIES, is_query=False)[:, columns]
    cosines = (requests @ memories.T).astype(np.float64)
    return Calibration(round(float(cosines.mean()), 6), round(float(cosines.std()), 6))


def measure_requests(embedder: Embedder) -> RequestBackground | None:
    """Measure what requests have in common under an embedder, on the built-in unrelated ones.

    Returns:
        The background; None where the model tells no requests apart.

    Complexity: embeds 48 short texts.
    """
    requests, centres = _by_language(embedder, UNRELATED_REQUESTS)
    pairs = np.triu_indices(len(requests), 1)
    apart = RequestBackground(centres, Calibration(0.0, 1.0)).apart(requests)
    cosines = (apart @ apart.T).astype(np.float64)[pairs]
    mean, spread = round(float(cosines.mean()), 6), round(float(cosines.std()), 6)
    if spread <= 0:
        return None
    _, idle = _by_language(embedder, SMALL_TALK)
    return RequestBackground(np.concatenate([centres, idle]), Calibration(mean, spread))


def _by_language(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Similarity vectors of requests, float32[n, dim], and the mean of each language's."""
    vectors = embedder.embed(texts, is_query=True)[:, : embedder.dim]
    is_chinese = np.array([text[0] >= "\u4e00" for text in texts])
    return vectors, np.stack([vectors[part].mean(axis=0) for part in (is_chinese, ~is_chinese)])


def make_fingerprint(parts: Mapping[str, str | int]) -> str:
    """Hash what decides a vector into 32 hex digits; the order of `parts` does not matter."""
    canonical = json.dumps(dict(parts), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:FINGERPRINT_DIGITS]


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise vectors.

    Args:
        rows: float32[n, dim].

    Returns:
        float32[n, dim], a new C-contiguous array with rows of length 1.

    Raises:
        BadVector: a row is zero or not finite.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # One comparison catches NaN, infinity and zero: it is false for all of them.
    usable = (lengths > 0) & (lengths < np.inf)
    if not usable.all():
        row = int(np.flatnonzero(~usable[:, 0])[0])
        raise BadVector(f"vector {row} of {len(rows)} has length {float(lengths[row, 0])}")
    return np.ascontiguousarray(rows / lengths, dtype=np.float32)


def cache_dir(environment: Mapping[str, str]) -> Path:
    """Say where downloads and built models are kept: the XDG cache folder of this user."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "recalld"


def default_model_dir(environment: Mapping[str, str]) -> Path:
    """Say where the default model is built to and loaded from.

    Args:
        environment: the process environment; the caller reads it, this function does not.
    """
    return cache_dir(environment) / "models" / DEFAULT_MODEL


def fast_model_dir(environment: Mapping[str, str]) -> Path:
    """Say where the fast model is built to and loaded from; see `default_model_dir`."""
    return cache_dir(environment) / "models" / FAST_MODEL
