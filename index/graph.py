"""Graph: an approximate index over the rows that a partition had at one moment; immutable.

It is never changed after it was built: rows that came later are looked at one by one, rows that
went are left out by the caller. So no search waits for a write, and a write costs the same with a
graph as without.

Invariants: a graph knows rows by their places, so it ends when these are numbered anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import Columns
from recalld.index.exact import VectorBlock
from recalld.index.shard import HnswShard

Rows = NDArray[np.int64]
# Rows entered at once: a build that is given up ends after as many.
BUILD_COUNT = 1_024
# Share of all rows that came or went since the build, from which on another one pays: those that
# came are scanned one by one, at 14 ns each.
STALE_SHARE_MAX = 0.1
LINK_BYTES = 300
"""Of a row: its links on all levels, and its label."""


@dataclass(frozen=True)
class Graph:
    """Approximate index over the live ones of rows 0..count-1.

    Attributes:
        shard: their vectors; a label is a row + 1.
        count: rows seen by the build; live_count: of these, rows that were live.
        numbering: of the columns; see recalld.index.columns.Columns.row_of.

    Thread safety: searches run side by side.
    """

    shard: HnswShard
    count: int
    live_count: int
    numbering: dict[int, int]

    @staticmethod
    def build(
        columns: Columns, block: VectorBlock, threads: int, is_wanted: Callable[[], bool]
    ) -> Graph | None:
        """Build a graph; about a millisecond of processor a row.

        Args:
            columns, block: the rows.
            threads: that share the work, > 0. With more than one, two builds differ in detail.
            is_wanted: asked now and then; False gives the build up.

        Returns:
            The graph, or None when it was given up.
        """
        rows = np.flatnonzero(columns.alive[: columns.count])
        shard = HnswShard(block.vectors.shape[1], threads=threads)
        for start in range(0, len(rows), BUILD_COUNT):
            if not is_wanted():
                return None
            batch = rows[start : start + BUILD_COUNT]
            shard.add(batch + 1, block.vectors[batch])
        return Graph(shard, columns.count, len(rows), columns.row_of)

    def fits(self, columns: Columns) -> bool:
        """Tell whether the rows of a later view have the numbers that they had."""
        return self.numbering is columns.row_of

    def is_stale(self, columns: Columns) -> bool:
        """Tell whether so many rows came or went that another build pays."""
        came = columns.count - self.count
        went = (columns.count - columns.live_count) - (self.count - self.live_count)
        return came + went > STALE_SHARE_MAX * columns.count

    def near(self, block: VectorBlock, query: NDArray[np.float32], k: int) -> Rows:
        """Return about the k nearest rows to a float32[dim], and as many of those that came later.

        Rows that went since may be among them; the order means nothing.
        """
        labels, _ = self.shard.search(query, k)
        later = np.arange(self.count, block.count)
        if len(later) > k:
            later = later[np.argpartition(-block.scan(later, query), k)[:k]]
        return np.concatenate([labels - 1, later])


def graph_bytes(count: int, dim: int) -> int:
    """Bytes of memory that the graph of so many rows takes, estimated."""
    return count * (4 * dim + LINK_BYTES)
