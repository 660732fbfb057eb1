"""The nearest current rows of one generation to a vector, for what a write has to be held against.

It compares similarity only, ranks nothing and fades nothing. Work is bounded: an 8-bit pass over
the rows (or the graph, where there is one), then exact cosines of a few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.index.exact import SCAN_COUNT_MIN
from recalld.index.generation import Generation
from recalld.scoring import masks
from recalld.scoring.params import ACTIVE, CONFLICTED

# Candidates of the 8-bit pass (or the graph) for each row wanted: more than rounding can reorder.
CANDIDATES_PER_ROW = 4


def nearest(generation: Generation, vector: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """Return labels and cosines of the k nearest ACTIVE or CONFLICTED rows, nearest first.

    Args:
        generation: of one partition.
        vector: float32[dim] or wider; its first part is compared. Of length 1.
        k: rows wanted, > 0.

    Returns:
        At most k pairs, ties by larger label.
    """
    columns, block = generation.columns, generation.blocks[0]
    query = np.ascontiguousarray(vector[: block.vectors.shape[1]])
    status = columns.small[masks.STATUS, : columns.count]
    current = (columns.alive[: columns.count] == 1) & ((status == ACTIVE) | (status == CONFLICTED))
    wanted = k * CANDIDATES_PER_ROW
    if generation.graph is not None:
        found = [columns.row(int(label)) for label in generation.graph.search(query, wanted)[0]]
        rows = np.array([row for row in found if row >= 0 and current[row]], dtype=np.int64)
    else:
        rows = np.flatnonzero(current)
        if len(rows) > max(wanted, SCAN_COUNT_MIN):
            rough = block.scan(rows, query)
            rows = np.sort(rows[np.argpartition(-rough, wanted)[:wanted]])
    cosines = block.rescore(rows, query)
    labels = columns.labels[rows]
    best = np.lexsort((-labels, -cosines))[:k]
    return [(int(labels[i]), float(cosines[i])) for i in best]
