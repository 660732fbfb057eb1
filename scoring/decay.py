"""Factors that do not depend on the query: age, importance, confidence and speaker.

`decay = floor + (1 - floor) * 2^(-age / half_life)`, by kind; PINNED memories do not decay, and an
age is never negative. It never reads the clock.

Invariants: decay is 1 at age 0, falls with age and never below its floor; factors are in (0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel
from recalld.scoring.params import (
    CONFIDENCE_FLOOR,
    IMPORTANCE_FACTOR,
    OUTWEIGHED_FACTOR,
    PINNED,
    STATED_BY_FACTOR,
    US_PER_S,
    RankParams,
)

FACTOR_COUNT = 3
DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW = range(FACTOR_COUNT)


@kernel("u8[:]", "u8[:]", "i64[:]", "i64", "f64[:,:]", "out f32[:]")
def decay_into(kind, importance, anchor_us, now_us, table, decay):  # type: ignore[no-untyped-def]
    """Write the age factor of each memory.

    Args:
        kind: uint8[m], index into `table`.
        importance: uint8[m].
        anchor_us: int64[m], microseconds, the newest sign of life.
        now_us: microseconds.
        table: float64[kinds, 2], half-life in seconds (may be infinite) and floor.
        decay: float32[m], written, in [floor, 1].
    """
    for i in range(kind.shape[0]):
        age_us = now_us - anchor_us[i]
        if importance[i] == PINNED or age_us <= 0:
            decay[i] = np.float32(1.0)
        else:
            half_life_s = table[kind[i], 0]
            floor = table[kind[i], 1]
            left = 2.0 ** (-(age_us / US_PER_S) / half_life_s)
            decay[i] = np.float32(floor + (1.0 - floor) * left)


def decay_table(params: RankParams) -> NDArray[np.float64]:
    """Lay out half-lives and floors as float64[kinds, 2] for `decay_into`."""
    return np.array([(d.half_life_s, d.floor) for d in params.decay], dtype=np.float64)


_IMPORTANCE = np.array(IMPORTANCE_FACTOR, dtype=np.float32)
_STATED_BY = np.array(STATED_BY_FACTOR, dtype=np.float32)
_IMPORTANCE.flags.writeable = False
_STATED_BY.flags.writeable = False


def importance_factor(importance: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Look up float32[m], in (0, 1], for uint8[m] of importance numbers."""
    return _IMPORTANCE[importance]


def confidence_factor(
    confidence: NDArray[np.float32], stated_by: NDArray[np.uint8], outweighed: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """Combine what says how far a memory can be relied on into float32[m] in (0, 1].

    Args:
        confidence: float32[m], in [0, 1].
        stated_by: uint8[m], numbers of speakers.
        outweighed: uint8[m], 1 = another memory speaks against it with more weight.
    """
    floor = np.float32(CONFIDENCE_FLOOR)
    factor = (floor + (np.float32(1.0) - floor) * confidence) * _STATED_BY[stated_by]
    factor *= np.where(outweighed == 1, np.float32(OUTWEIGHED_FACTOR), np.float32(1.0))
    return np.asarray(factor, dtype=np.float32)
