"""Factors that do not depend on the query: age, importance, confidence and speaker.

`decay = floor + (1 - floor) * 2^(-age / half_life)`, by kind; PINNED memories do not decay, and an
age is never negative. It never reads the clock.

Invariants: decay is 1 at age 0, falls with age and never below its floor; factors are in (0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel
from recalld.scoring.masks import ANCHOR_TIME, DOUBT, IMPORTANCE, KIND, PAST_TIME, STATED_BY
from recalld.scoring.params import (
    CONFIDENCE_FLOOR,
    DOUBT_COUNT,
    DOUBT_FACTOR,
    IMPORTANCE_COUNT,
    IMPORTANCE_FACTOR,
    KIND_COUNT,
    PAST_DECAY,
    PINNED,
    STATE,
    STATED_BY_COUNT,
    STATED_BY_FACTOR,
    US_PER_S,
    Doubt,
    RankParams,
)

FACTOR_COUNT = 3
DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW = range(FACTOR_COUNT)


# Rows of the table that `factors_into` looks factors up in.
TABLE_ROWS = 7
(
    HALF_LIFE,
    FADE_FLOOR,
    BY_IMPORTANCE,
    BY_SPEAKER,
    BY_DOUBT,
    DOUBT_FLOOR,
    PAST_FLOOR,
) = range(TABLE_ROWS)


@kernel("i64[:]", "u8[:,:]", "i64[:,:]", "f32[:]", "i64[:]", "f64[:,:]", "out f32[:,:]")
def factors_into(rows, small, times, confidence, moments, table, factors):  # type: ignore[no-untyped-def]
    """Write the three factors of chosen memories.

    Args:
        rows: int64[m], each in [0, capacity).
        small: uint8[SMALL_COUNT, capacity]; times: int64[TIME_COUNT, capacity], microseconds; see
            `scoring.masks`. The age is that of the anchor, the newest sign of life.
        confidence: float32[capacity], in [0, 1].
        moments: int64[2], microseconds: now, and the moment at which states are past their time
            (0 = none is).
        table: float64[TABLE_ROWS, KIND_COUNT], from `factor_table`.
        factors: float32[FACTOR_COUNT, m], written, in (0, 1].
    """
    now_us, at_us = moments[0], moments[1]
    doubt = table[DOUBT_FLOOR, 0]
    for i in range(rows.shape[0]):
        row = rows[i]
        kind = small[KIND, row]
        importance = small[IMPORTANCE, row]
        age_us = now_us - times[ANCHOR_TIME, row]
        due_us = times[PAST_TIME, row]
        # An event that has been is still what happened; only what is no longer so is faded.
        if kind == STATE and due_us != 0 and due_us <= at_us:
            factors[DECAY_ROW, i] = np.float32(table[PAST_FLOOR, 0])
        elif importance == PINNED or age_us <= 0:
            factors[DECAY_ROW, i] = np.float32(1.0)
        else:
            floor = table[FADE_FLOOR, kind]
            left = 2.0 ** (-(age_us / US_PER_S) / table[HALF_LIFE, kind])
            factors[DECAY_ROW, i] = np.float32(floor + (1.0 - floor) * left)
        factors[IMPORTANCE_ROW, i] = np.float32(table[BY_IMPORTANCE, importance])
        sure = doubt + (1.0 - doubt) * np.float64(confidence[row])
        speaker = table[BY_SPEAKER, small[STATED_BY, row]]
        doubted = table[BY_DOUBT, small[DOUBT, row]]
        factors[CONFIDENCE_ROW, i] = np.float32(sure * speaker * doubted)


def factor_table(
    params: RankParams, tentative: float = DOUBT_FACTOR[Doubt.TENTATIVE]
) -> NDArray[np.float64]:
    """Lay out half-lives (s, may be infinite), floors and factors as `factors_into` takes them.

    Args:
        params: numbers of the ranking.
        tentative: factor of what was only mused about, in (0, 1].
    """
    table = np.zeros((TABLE_ROWS, KIND_COUNT))
    table[HALF_LIFE] = [decay.half_life_s for decay in params.decay]
    table[FADE_FLOOR] = [decay.floor for decay in params.decay]
    table[BY_IMPORTANCE, :IMPORTANCE_COUNT] = IMPORTANCE_FACTOR
    table[BY_SPEAKER, :STATED_BY_COUNT] = STATED_BY_FACTOR
    table[BY_DOUBT, :DOUBT_COUNT] = DOUBT_FACTOR
    table[BY_DOUBT, Doubt.TENTATIVE] = tentative
    table[DOUBT_FLOOR] = CONFIDENCE_FLOOR
    table[PAST_FLOOR] = PAST_DECAY
    return table


def gather_factors(
    rows: NDArray[np.int64],
    small: NDArray[np.uint8],
    times: NDArray[np.int64],
    confidence: NDArray[np.float32],
    moments: tuple[int, int],
    table: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return float32[FACTOR_COUNT, m] of chosen memories; see `factors_into`."""
    factors = np.empty((FACTOR_COUNT, len(rows)), dtype=np.float32)
    asked = np.array(moments, dtype=np.int64)
    factors_into(rows, small, times, confidence, asked, table, factors)
    return factors
