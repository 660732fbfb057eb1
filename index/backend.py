"""IndexBackend: the contract of an index over labelled unit vectors.

Implementations say only what differs. None of them knows texts, filters or scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recalld.index.errors import BadVector
from recalld.scoring.scan import first_unfit

# A vector whose length differs from 1 by more is not normalised.
NORM_TOLERANCE = 1e-3
FLOAT32 = np.dtype(np.float32)
LABEL_MAX = np.iinfo(np.int64).max


class IndexBackend(Protocol):
    """Finds the nearest of many vectors.

    Thread safety: searches may run side by side and beside one writer; writers exclude each other.
    """

    @property
    def dim(self) -> int:
        """Width of the vectors, > 0."""
        ...

    def __len__(self) -> int:
        """Return how many vectors are searchable."""
        ...

    def labels(self) -> set[int]:
        """Return the labels of all searchable vectors."""
        ...

    def add(self, labels: Sequence[int] | NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors; all of them or, on any error, none.

        Args:
            labels: distinct, in [1, 2^63), none present.
            vectors: float32[len(labels), dim], finite, of length 1 within NORM_TOLERANCE.

        Raises:
            BadVector: when a vector breaks these rules.
            BadLabel: when a label breaks these rules.
        """
        ...

    def search(
        self, vector: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the nearest vectors.

        Args:
            vector: float32[dim], finite, of length 1.
            k: how many at most; more than there are is allowed, fewer than 1 gives none.

        Returns:
            labels int64[<= k] and cosine similarities float32[<= k], best first; of equal
            similarities the larger label first.

        Raises:
            BadVector: when the vector breaks these rules.
        """
        ...


def check_vectors(
    vectors: NDArray[np.float32], count: int, dim: int, parts: int = 1
) -> NDArray[np.float32]:
    """Check what hnswlib would not: width, dtype, finiteness and length.

    Args:
        vectors: float32[count, dim] or, with several parts side by side, float32[count, dim * p]
            with p = 1 or `parts`; every part of unit length, and all but the first may be zero,
            which means "not known".
        count: rows wanted.
        dim: width of a part.
        parts: how many the model makes.

    Returns:
        The vectors as a C-contiguous array of the same shape.

    Raises:
        BadVector: naming the first row that breaks a rule.
    """
    array = np.asarray(vectors)
    if array.dtype != FLOAT32:
        raise BadVector(f"vectors are {array.dtype}, not float32")
    if array.shape not in ((count, dim), (count, parts * dim)):
        raise BadVector(f"vectors have shape {array.shape}, not ({count}, {dim})")
    array = np.ascontiguousarray(array)
    bad = first_unfit(array, array.shape[1] // dim, NORM_TOLERANCE)
    if bad >= 0:
        lengths = np.linalg.norm(array[bad].astype(np.float64).reshape(-1, dim), axis=1)
        raise BadVector(f"vector {bad} is not finite or not of length 1: {lengths}")
    return array


def split_vectors(
    vectors: NDArray[np.float32], count: int, dim: int, parts: int
) -> tuple[NDArray[np.float32], ...]:
    """Check vectors that hold several parts side by side: similarity, then relevance.

    Args:
        vectors, count, dim, parts: as for `check_vectors`.

    Returns:
        `parts` arrays float32[count, dim], C-contiguous; zeros for a part that was not given.

    Raises:
        BadVector: naming the first row that breaks a rule.
    """
    array = check_vectors(vectors, count, dim, parts)
    if array.shape[1] < parts * dim:
        return array, *[np.zeros_like(array) for _ in range(parts - 1)]
    return tuple(
        np.ascontiguousarray(array[:, part * dim : (part + 1) * dim]) for part in range(parts)
    )
