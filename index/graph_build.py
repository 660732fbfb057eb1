"""Building a partition's graph beside its searches and writes, and bringing it up to date.

It never changes a generation.
"""

from __future__ import annotations

import numpy as np

from recalld.index.backend import IndexBackend
from recalld.index.generation import Generation
from recalld.index.shard import HnswShard

GRAPH_BATCH_COUNT = 1_024
LINK_BYTES = 300
"""Of a row: its links on all levels, and its label."""


def built_graph(generation: Generation) -> IndexBackend:
    """Return a graph over the live rows of a generation; about a millisecond per row."""
    columns, block = generation.columns, generation.blocks[0]
    graph = HnswShard(block.vectors.shape[1])
    rows = np.flatnonzero(columns.alive[: columns.count])
    for start in range(0, len(rows), GRAPH_BATCH_COUNT):
        batch = rows[start : start + GRAPH_BATCH_COUNT]
        graph.add(columns.labels[batch], block.vectors[batch])
    return graph


def bring_up_to_date(graph: IndexBackend, generation: Generation) -> None:
    """Remove from a graph what is not live in a generation, and add what it misses.

    Raises:
        BadVector: when the graph has another width.
    """
    columns = generation.columns
    rows = np.flatnonzero(columns.alive[: columns.count])
    live = columns.labels[rows]
    held = graph.labels()
    graph.remove(sorted(held - set(live.tolist())))
    missing = rows[[label not in held for label in live.tolist()]]
    graph.add(columns.labels[missing], generation.blocks[0].vectors[missing])


def graph_bytes(count: int, dim: int) -> int:
    """Bytes of memory that the graph of so many rows takes, estimated."""
    return count * (4 * dim + LINK_BYTES)
