"""Factors that do not depend on the query: age, importance, confidence and speaker.

`decay = floor + (1 - floor) * 2^(-age / half_life)`, by kind; PINNED memories do not decay, and an
age is never negative. It never reads the clock.

Invariants: decay is 1 at age 0, falls with age and never below its floor; factors are in (0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel
from recalld.scoring.masks import IMPORTANCE, KIND, STATED_BY
from recalld.scoring.params import (
    CONFIDENCE_FLOOR,
    IMPORTANCE_FACTOR,
    PINNED,
    STATED_BY_FACTOR,
    US_PER_S,
    RankParams,
)

FACTOR_COUNT = 3
DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW = range(FACTOR_COUNT)


@kernel(
    "i64[:]",
    "u8[:,:]",
    "i64[:]",
    "f32[:]",
    "i64",
    "f64[:,:]",
    "f32[:]",
    "f32[:]",
    "f64",
    "out f32[:,:]",
)
def factors_into(  # type: ignore[no-untyped-def]
    rows, small, anchor_us, confidence, now_us, fading, levels, speakers, floor, factors
):
    """Write the three factors of chosen memories.

    Args:
        rows: int64[m], each in [0, capacity).
        small: uint8[SMALL_COUNT, capacity], see `scoring.masks`.
        anchor_us: int64[capacity], microseconds, the newest sign of life.
        confidence: float32[capacity], in [0, 1].
        now_us: microseconds.
        fading: float64[kinds, 2], half-life in seconds (may be infinite) and floor.
        levels: float32[IMPORTANCE_COUNT], factor of each importance.
        speakers: float32[STATED_BY_COUNT], factor of each speaker.
        floor: factor of a confidence of 0, in (0, 1].
        factors: float32[FACTOR_COUNT, m], written, in (0, 1].
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        importance = small[IMPORTANCE, row]
        age_us = now_us - anchor_us[row]
        if importance == PINNED or age_us <= 0:
            factors[DECAY_ROW, i] = np.float32(1.0)
        else:
            kind = small[KIND, row]
            left = 2.0 ** (-(age_us / US_PER_S) / fading[kind, 0])
            factors[DECAY_ROW, i] = np.float32(fading[kind, 1] + (1.0 - fading[kind, 1]) * left)
        factors[IMPORTANCE_ROW, i] = levels[importance]
        sure = floor + (1.0 - floor) * np.float64(confidence[row])
        factors[CONFIDENCE_ROW, i] = np.float32(sure * np.float64(speakers[small[STATED_BY, row]]))


def decay_table(params: RankParams) -> NDArray[np.float64]:
    """Lay out half-lives and floors as float64[kinds, 2] for `factors_into`."""
    return np.array([(d.half_life_s, d.floor) for d in params.decay], dtype=np.float64)


_IMPORTANCE = np.array(IMPORTANCE_FACTOR, dtype=np.float32)
_STATED_BY = np.array(STATED_BY_FACTOR, dtype=np.float32)
_IMPORTANCE.flags.writeable = False
_STATED_BY.flags.writeable = False


def gather_factors(
    rows: NDArray[np.int64],
    small: NDArray[np.uint8],
    anchor_us: NDArray[np.int64],
    confidence: NDArray[np.float32],
    now_us: int,
    fading: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return float32[FACTOR_COUNT, m] of chosen memories; see `factors_into`."""
    factors = np.empty((FACTOR_COUNT, len(rows)), dtype=np.float32)
    factors_into(
        rows,
        small,
        anchor_us,
        confidence,
        now_us,
        fading,
        _IMPORTANCE,
        _STATED_BY,
        CONFIDENCE_FLOOR,
        factors,
    )
    return factors
