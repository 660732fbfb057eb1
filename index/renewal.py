"""Renewal: the rows of a partition under another model.

Columns and words do not depend on a model, so nothing is read or analysed anew: only vectors are
exchanged, all of them at once. Invariant: no generation holds vectors of two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.backend import split_vectors
from recalld.index.cues import CueVectors, check_cues
from recalld.index.generation import Generation
from recalld.index.sketch import sketched


def renewed(
    rows: Generation,
    empty: Generation,
    vectors: Mapping[int, NDArray[np.float32]],
    cues: CueVectors,
) -> Generation:
    """Return the live rows of a generation with vectors of another model.

    Args:
        rows: which rows; unchanged.
        empty: a generation without rows, of the other model.
        vectors: of each live row, by label; with a relevance part twice as wide.
        cues: of those that have some.

    Raises:
        KeyError: when a live row has no vector.
        BadVector: when a vector is unfit.
    """
    kept = rows.compacted()
    labels = kept.columns.labels[: kept.columns.count].tolist()
    dim, parts = empty.blocks[0].vectors.shape[1], len(empty.blocks)
    stacked = np.empty((len(labels), dim * parts), np.float32)
    for row, label in enumerate(labels):
        stacked[row] = vectors[label]
    checked = split_vectors(stacked, len(labels), dim, parts)
    blocks = tuple(block.appended(part) for block, part in zip(empty.blocks, checked, strict=True))
    return replace(
        empty,
        columns=kept.columns,
        postings=kept.postings,
        blocks=blocks,
        sketch=sketched(None, blocks[0]),
    ).with_cues(check_cues(cues, labels, dim))
