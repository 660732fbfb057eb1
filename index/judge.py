"""Judge: how the newer of two statements stands to the older, by their similarity vectors.

A small network, trained on pairs written for it (`recalld.bench.train_judge`): says nothing of it,
the same, tells that it is no longer so, or contradicts it. It knows one family of models only, for
vectors of another mean something else. It reads no words and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WEIGHTS = Path(__file__).with_name("judge.npz")

Floats = NDArray[np.float32]


class Stand(IntEnum):
    """How the newer statement stands to the older; the number is its column."""

    APART = 0
    SAME = 1
    UPDATE = 2
    CONTRADICTION = 3


@dataclass(frozen=True)
class Judge:
    """The trained network.

    Attributes:
        first: float32[inputs, hidden]; first_bias: float32[hidden].
        second: float32[hidden, 4]; second_bias: float32[4].
    """

    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats

    @staticmethod
    def of(base_model: str) -> Judge | None:
        """Return the judge of a model's vectors, or None where it was trained on others.

        Args:
            base_model: as the model's folder states it; "" = unknown.
        """
        with np.load(WEIGHTS, allow_pickle=False) as stored:
            if not base_model or str(stored["base_model"]) != base_model:
                return None
            names = ("first", "first_bias", "second", "second_bias")
            return Judge(*(stored[name].astype(np.float32) for name in names))

    def compare(self, older: Floats, newer: Floats) -> Floats:
        """Judge pairs.

        Args:
            older, newer: float32[n, dim], unit length.

        Returns:
            float32[n, 4], probabilities by Stand; rows sum to 1.
        """
        hidden = inputs(older, newer) @ self.first + self.first_bias
        scores = gelu(hidden) @ self.second + self.second_bias
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float32)


def inputs(older: Floats, newer: Floats) -> Floats:
    """Lay out what the network sees of pairs, float32[n, 3 * dim + 1], each of about unit size."""
    scale = np.float32(np.sqrt(older.shape[1]))
    product = older * newer
    cosine = product.sum(axis=1, keepdims=True)
    parts = (
        np.abs(older - newer) * scale,
        product * 5 * scale,
        (newer - older) * scale,
        cosine * 5,
    )
    return np.hstack(parts)


def gelu(x: Floats) -> Floats:
    """Hendrycks and Gimpel 2016, section 2, the approximation by tanh."""
    cubed = x + np.float32(0.044715) * x**3
    return np.float32(0.5) * x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * cubed))
