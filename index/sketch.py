"""Sketches: one bit per column and row, to leave most of very many rows unread.

A block holds the signs of the rows' vectors, turned by a fixed rotation and seen from a centre,
and what is needed to bound a cosine by them. It filters nothing and ranks nothing.

Invariants: a view never changes for a reader that holds it; with WIDTH standard deviations a row's
cosine lies above its reach about once in three million times.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.exact import VectorBlock
from recalld.index.growth import grown
from recalld.scoring.sketch import (
    BLOCK_COUNT,
    LEVEL_MAX,
    PLANE_COUNT,
    TERM_COUNT,
    levels_into,
    reach_into,
    turn_into,
)

Floats = NDArray[np.float32]
WIDTH = 5.0
# Rows below which a look at each of them in 8 bits is as fast: measured.
SKETCH_COUNT_MIN = 8_192
# Share of the rows from which on a pass over all sketches costs less than a look at each row that
# matches: 3 ns against 14 in 8 bits and as much again for its factors, measured at 100,000 rows.
PASS_SHARE_MIN = 0.05
# Of so many groups to a row wanted, the best ones hold enough even where few rows may answer.
_GROUPS_PER_ROW = 8
_SEED = 17
# Of the rotation; after two that begin at either end every column has something of every other.
ROUND_COUNT = 4
_WORD_BITS = 64


@dataclass(frozen=True)
class SketchBlock:
    """Immutable view of sketches, appended beyond `count`.

    Attributes:
        codes: uint64[blocks, words, BLOCK_COUNT]; terms: float32[blocks, TERM_COUNT, BLOCK_COUNT];
            see recalld.scoring.sketch.
        centre: float32[dim], from which all rows are seen; a mean of some makes bounds tight, any
            other keeps them right.
        count: rows in use.
    """

    codes: NDArray[np.uint64]
    terms: Floats
    centre: Floats
    count: int

    @staticmethod
    def of(vectors: Floats) -> SketchBlock:
        """Make the block of at least one row, float32[n, dim]; its mean is the centre."""
        return SketchBlock.empty(vectors.mean(axis=0)).appended(vectors)

    @staticmethod
    def empty(centre: Floats) -> SketchBlock:
        """Make a block without rows."""
        words = -(-centre.size // _WORD_BITS)
        codes = np.zeros((0, words, BLOCK_COUNT), np.uint64)
        return SketchBlock(codes, np.zeros((0, TERM_COUNT, BLOCK_COUNT), np.float32), centre, 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the rows take."""
        return self.count * 4 * (2 * len(self.codes) + TERM_COUNT)

    def appended(self, vectors: Floats) -> SketchBlock:
        """Return the next view, with float32[m, dim] rows behind the present ones.

        Complexity: m * dim * log(dim) additions.
        """
        apart = vectors - self.centre
        turned = _turned(apart)
        sums = np.abs(turned).sum(axis=1)
        squares = np.square(apart).sum(axis=1)
        # Of a row at the centre nothing is left to be sketched.
        stretch = np.divide(squares, sums, out=np.zeros_like(sums), where=sums > 0)
        # With a = sums / (length * sqrt(dim)), the error is length * sqrt(1 / a^2 - 1).
        rest = np.maximum(np.square(stretch) * self.centre.size - squares, 0.0)
        error = np.sqrt(rest / max(1, self.centre.size - 1))
        return self._with(
            _bits(turned > 0), np.stack([stretch, apart @ self.centre, error], axis=1)
        )

    def compacted(self, rows: NDArray[np.int64]) -> SketchBlock:
        """Return a block of its own storage that holds `rows` only."""
        blocks, places = np.divmod(rows, BLOCK_COUNT)
        kept = self.codes[blocks, :, places], self.terms[blocks, :, places]
        return SketchBlock.empty(self.centre)._with(*kept)

    def _with(self, codes: NDArray[np.uint64], terms: Floats) -> SketchBlock:
        """Return the next view, with rows of uint64[m, words] and float32[m, TERM_COUNT]."""
        end = self.count + len(codes)
        used, needed = -(-self.count // BLOCK_COUNT), -(-end // BLOCK_COUNT)
        block = replace(
            self,
            codes=grown(self.codes, used, needed),
            terms=grown(self.terms, used, needed),
            count=end,
        )
        blocks, places = np.divmod(np.arange(self.count, end), BLOCK_COUNT)
        block.codes[blocks, :, places] = codes
        block.terms[blocks, :, places] = terms
        return block

    def reach(self, query: Floats) -> Floats:
        """Return for each row float32[count] what its cosine with float32[dim] hardly exceeds."""
        turned = _turned((query - self.centre)[None])[0]
        planes = np.zeros((PLANE_COUNT, self.codes.shape[1]), np.uint64)
        lengths, out = np.empty(3, np.float32), np.empty(self.count, np.float32)
        levels_into(turned, planes, lengths)
        step, length, left = lengths.tolist()
        shift = float(self.centre @ query)
        numbers = [step, LEVEL_MAX * query.size, shift, WIDTH * length, WIDTH * left]
        reach_into(self.codes, self.terms, planes, np.array(numbers, np.float32), out)
        return out


def sketched(sketch: SketchBlock | None, block: VectorBlock) -> SketchBlock | None:
    """Return the sketches of all rows of a block, given those of its first rows, or None."""
    vectors = block.vectors[: block.count]
    if sketch is not None:
        return sketch.appended(vectors[sketch.count :])
    return SketchBlock.of(vectors) if block.count >= SKETCH_COUNT_MIN else None


def highest(values: Floats, k: int) -> NDArray[np.int64]:
    """Return k rows of about the highest values, ascending, without sorting many.

    Args:
        values: float32[n], n >= k; -inf marks rows that may not be taken.
        k: rows wanted; at least PASS_SHARE_MIN of all rows may be taken, and no fewer than k.

    Complexity: one pass. The k-th of the maxima of small groups lets few others through; where good
    rows share a group, lesser ones of other groups pass too, and are taken last.
    """
    groups = max(k, min(len(values), _GROUPS_PER_ROW * k))
    size = len(values) // groups
    # Rows of a group lie apart: those that were said together are in different ones.
    maxima = values[: size * groups].reshape(size, groups).max(axis=0)
    rows = np.flatnonzero(values >= np.partition(maxima, groups - k)[groups - k])
    return np.sort(rows[np.argpartition(-values[rows], k - 1)[:k]])


def _turned(vectors: Floats) -> Floats:
    """Return vectors float32[m, dim] of their own, turned by the one rotation of their width."""
    turned = vectors.copy()
    turn_into(_signs(vectors.shape[1]), turned)
    return turned


@functools.cache
def _signs(dim: int) -> Floats:
    """Return the signs float32[ROUND_COUNT, dim] of the rotation."""
    random = np.random.default_rng(_SEED)
    signs = np.where(random.random((ROUND_COUNT, dim)) < 0.5, np.float32(-1), np.float32(1))
    signs.flags.writeable = False
    return signs


def _bits(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack bool[n, dim] into uint64[n, words]."""
    packed = np.packbits(signs, axis=1, bitorder="little")
    words = -(-signs.shape[1] // _WORD_BITS)
    padded = np.zeros((len(signs), words * _WORD_BITS // 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
