"""Factors that do not depend on the query: age, importance, confidence and speaker.

`decay = floor + (1 - floor) * 2^(-age / half_life)`, by kind; PINNED memories do not decay, and an
age is never negative. It never reads the clock.

Invariants: decay is 1 at age 0, falls with age and never below its floor; factors are in (0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.params import (
    CONFIDENCE_FLOOR,
    DOUBT_COUNT,
    DOUBT_FACTOR,
    IMPORTANCE_COUNT,
    IMPORTANCE_FACTOR,
    KIND_COUNT,
    PAST_DECAY,
    STATED_BY_COUNT,
    STATED_BY_FACTOR,
    Doubt,
    RankParams,
)

FACTOR_COUNT = 3
DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW = range(FACTOR_COUNT)


# Rows of the table that `scoring.best` looks factors up in.
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


def factor_table(
    params: RankParams, tentative: float = DOUBT_FACTOR[Doubt.TENTATIVE]
) -> NDArray[np.float64]:
    """Lay out half-lives (s, may be infinite), floors and factors as `scoring.best` takes them.

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


def flat_table() -> NDArray[np.float64]:
    """Lay out a table under which every factor is 1."""
    return np.ones((TABLE_ROWS, KIND_COUNT))
