"""Exact search: every vector is looked at, first in 8 bits, the promising ones in 32.

It never misses a neighbour beyond float rounding: the 8-bit pass only drops what lies further
below the k-th best than quantisation can explain. It serves small sets and judges other backends.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.backend import LABEL_MAX, check_vectors
from recalld.index.errors import BadLabel
from recalld.index.growth import grown
from recalld.scoring.scan import quantise, query_codes, rescore_into, scan_into
from recalld.scoring.topk import select

# Up to this many rows one exact pass is as cheap as two, however many of them lie close together,
# and the 8-bit twins of most users need not be kept.
SCAN_COUNT_MIN = 1_024
# Six standard deviations of the difference between the two passes (0.0005 at 384 dimensions,
# 0.002 at most over 10,000 random pairs), on both of the rows compared.
SCAN_SLACK = 0.006


class Codes:
    """8-bit twins of vectors, row by row; shared by the views of a block, made when wanted.

    Small sets are never scanned, so theirs would only take room.

    Thread safety: all methods; what was handed out never changes below its count.
    """

    def __init__(self, dim: int) -> None:
        """Start without rows."""
        self._codes = np.zeros((0, dim), np.int8)
        self._scales = np.zeros(0, np.float32)
        self._count = 0
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that they take."""
        return self._count * (self._codes.shape[1] + 4)

    def cut(self, count: int) -> None:
        """Forget all but the first rows: others may come in their places."""
        with self._lock:
            self._count = min(self._count, count)

    def of(
        self, vectors: NDArray[np.float32], count: int
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Codes int8[>= count, dim] and scales float32[>= count] of the first rows of a block."""
        with self._lock:
            if (done := self._count) < count:
                self._codes = grown(self._codes, done, count)
                self._scales = grown(self._scales, done, count)
                fresh = quantise(vectors[done:count])
                self._codes[done:count], self._scales[done:count] = fresh
                self._count = count
            return self._codes, self._scales


@dataclass(frozen=True)
class VectorBlock:
    """Immutable view of vectors: 32-bit rows and their 8-bit twins, appended beyond `count`.

    Attributes:
        vectors: float32[capacity, dim].
        count: rows in use.
        codes: of the same rows, as far as they were wanted.
    """

    vectors: NDArray[np.float32]
    count: int
    codes: Codes

    @staticmethod
    def empty(dim: int) -> VectorBlock:
        """Return a block without rows."""
        return VectorBlock(np.zeros((0, dim), np.float32), 0, Codes(dim))

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the rows take."""
        return self.count * 4 * self.vectors.shape[1] + self.codes.size_bytes

    def appended(self, vectors: NDArray[np.float32]) -> VectorBlock:
        """Return the next view, with checked float32[m, dim] rows behind the present ones."""
        end = self.count + len(vectors)
        block = VectorBlock(grown(self.vectors, self.count, end), end, self.codes)
        self.codes.cut(self.count)
        block.vectors[self.count : end] = vectors
        if end > SCAN_COUNT_MIN:
            # Here, and not in the first search, which somebody waits for.
            self.codes.of(block.vectors, end)
        return block

    def compacted(self, rows: NDArray[np.int64]) -> VectorBlock:
        """Return a block of its own storage that holds `rows` only."""
        return VectorBlock.empty(self.vectors.shape[1]).appended(self.vectors[rows])

    def coded(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return the 8-bit twins of the rows and their scales; see `Codes.of`."""
        return self.codes.of(self.vectors, self.count)

    def scan(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return approximate similarities float32[m] of rows int64[m] with float32[dim]."""
        codes, steps = query_codes(query[None])
        out = np.empty(len(rows), dtype=np.float32)
        scan_into(*self.coded(), rows, codes[0], steps[0], out)
        return out

    def rescore(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return exact similarities float32[m] of rows int64[m] with float32[dim]."""
        out = np.empty(len(rows), dtype=np.float32)
        rescore_into(self.vectors, rows, query, out)
        return out


@dataclass(frozen=True)
class _State:
    """What one search sees: the rows, and the label of each."""

    block: VectorBlock
    labels: NDArray[np.int64]
    names: frozenset[int]


class ExactBackend:
    """Exact IndexBackend.

    Thread safety: searches read one immutable state and never wait.
    Complexity: a search costs one pass over n * dim bytes.
    """

    def __init__(self, dim: int) -> None:
        """Make an empty index of `dim` > 0 columns."""
        self._dim = dim
        self._state = _State(VectorBlock.empty(dim), np.zeros(0, np.int64), frozenset())

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return self._dim

    def __len__(self) -> int:
        """Return how many vectors are searchable."""
        return self._state.block.count

    def labels(self) -> set[int]:
        """See IndexBackend."""
        return set(self._state.names)

    def add(self, labels: Sequence[int] | NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """See IndexBackend."""
        state = self._state
        names = check_new_labels(labels, state.names)
        checked = check_vectors(vectors, len(names), self._dim)
        start, end = state.block.count, state.block.count + len(names)
        all_labels = grown(state.labels, start, end)
        all_labels[start:end] = names
        self._state = _State(state.block.appended(checked), all_labels, state.names.union(names))

    def search(
        self, vector: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See IndexBackend."""
        query = check_vectors(np.asarray(vector)[None], 1, self._dim)[0]
        state = self._state
        rows = np.arange(state.block.count)
        if k < 1 or not len(rows):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if len(rows) > max(SCAN_COUNT_MIN, k):
            rough = state.block.scan(rows, query)
            kth = np.partition(rough, len(rough) - k)[len(rough) - k]
            rows = rows[rough >= kth - SCAN_SLACK]
        similarity = state.block.rescore(rows, query)
        labels = state.labels[rows]
        best = select(similarity, np.zeros(len(rows), np.int64), labels, k)
        return labels[best], similarity[best]


def check_new_labels(
    labels: Sequence[int] | NDArray[np.int64], present: Container[int]
) -> list[int]:
    """Return the labels as plain integers.

    Raises:
        BadLabel: when one is out of [1, 2^63), named twice, or present already.
    """
    names = [int(label) for label in labels]
    if len(set(names)) != len(names):
        raise BadLabel("a label is named twice")
    for name in names:
        if not 1 <= name <= LABEL_MAX:
            raise BadLabel(f"label {name} is not in [1, {LABEL_MAX}]")
        if name in present:
            raise BadLabel(f"label {name} is in the index already")
    return names
