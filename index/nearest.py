"""The nearest current rows of one generation to a vector, for what a write has to be held against.

It compares similarity only, ranks nothing and fades nothing. One pass over sketches, or over 8-bit
codes where there are few rows, leaves a few whose exact cosines are compared; among very many the
graph proposes them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.index.exact import SCAN_COUNT_MIN
from recalld.index.generation import Generation
from recalld.index.sketch import PASS_SHARE_MIN, highest
from recalld.scoring.topk import kth_largest, select

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
    if generation.graph is not None:
        found = generation.graph.near(block, query, k * CANDIDATES_PER_ROW)
        rows = found[generation.current[found]]
    else:
        rows = _near(generation, query, k)
    cosines = block.rescore(rows, query)
    labels = columns.labels[rows]
    best = select(cosines, np.zeros_like(labels), labels, k)
    return [(int(labels[i]), float(cosines[i])) for i in best]


def _near(generation: Generation, query: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the rows among which the nearest are, ascending; as many as there may be."""
    block, sketch, wanted = generation.blocks[0], generation.sketch, k * CANDIDATES_PER_ROW
    current = generation.current
    rows = np.flatnonzero(current)
    if sketch is not None and len(rows) > max(wanted, PASS_SHARE_MIN * len(current)):
        reach = np.where(current, sketch.reach(query), np.float32(-np.inf))
        # What does not reach the k-th of some rows is not among the nearest k of all.
        cosines = block.rescore(highest(reach, wanted), query)
        rows = np.flatnonzero(reach >= kth_largest(cosines, k))
    if len(rows) <= SCAN_COUNT_MIN:
        return rows
    rough = block.scan(rows, query)
    return np.sort(rows[np.argpartition(-rough, wanted)[:wanted]])
