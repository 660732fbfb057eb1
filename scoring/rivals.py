"""Rivals: the memories whose score can still reach a given one, by cheap bounds of their factors.

It looks ages up where others compute them, so that it can pass over very many memories; it never
drops one whose exact score would reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.decay import BY_DOUBT, BY_IMPORTANCE, BY_SPEAKER, FADE_FLOOR, HALF_LIFE
from recalld.scoring.kernel import kernel
from recalld.scoring.masks import ANCHOR_TIME, DOUBT, IMPORTANCE, KIND, STATED_BY
from recalld.scoring.params import PINNED, US_PER_S

# Steps of a half-life in which the fading is taken as that of their beginning.
_STEPS = 16
_HALVES = np.exp2(-np.arange(16 * _STEPS + 1) / _STEPS)
_HALVES.flags.writeable = False
# Products of factors are rounded up to one of so many.
FACTOR_STEPS = 256
# float32 rounding of what is compared.
_ROUNDING = 1e-5


@kernel("f32[:]", "u8[:,:]", "i64[:,:]", "i64", "f64[:,:]", "f32[:]", "out i64[:]", returns="i64")
def rivals_into(logit, small, times, now_us, table, bars, rows):  # type: ignore[no-untyped-def]
    """Keep those of some memories whose log-odds reach the bar of their factors.

    Args:
        logit: float32[n], upper bounds.
        small: uint8[SMALL_COUNT, >= n]; times: int64[TIME_COUNT, >= n], microseconds.
        now_us: the moment of the request.
        table: float64[TABLE_ROWS, KIND_COUNT], see `scoring.decay.factor_table`.
        bars: float32[FACTOR_STEPS + 1], from `make_bars`, falling.
        rows: int64[m], the memories; the first of them are overwritten with those that are kept,
            in their order.

    Returns:
        How many are kept.
    """
    count = 0
    last = _HALVES.shape[0] - 1
    for i in rows:
        kind, importance = small[KIND, i], small[IMPORTANCE, i]
        factor = table[BY_IMPORTANCE, importance] * table[BY_SPEAKER, small[STATED_BY, i]]
        factor *= table[BY_DOUBT, small[DOUBT, i]]
        age_s = (now_us - times[ANCHOR_TIME, i]) / US_PER_S
        if importance != PINNED and age_s > 0:
            floor = table[FADE_FLOOR, kind]
            step = min(age_s / table[HALF_LIFE, kind] * _STEPS, np.float64(last))
            factor *= floor + (1.0 - floor) * _HALVES[np.int64(step)]
        if logit[i] >= bars[np.int64(np.ceil(factor * (bars.shape[0] - 1)))]:
            rows[count] = i
            count += 1
    return count


@kernel("f64", "out f32[:]")
def bars_into(score, bars):  # type: ignore[no-untyped-def]
    """Write the log-odds that a score needs, by factor.

    Args:
        score: in [0, 1].
        bars: float32[steps + 1], written; entry i is of the factor i / steps.
    """
    needed = score * (1.0 - _ROUNDING)
    for step in range(bars.shape[0]):
        factor = step / (bars.shape[0] - 1)
        if needed <= 0:
            bars[step] = -np.inf
        elif factor <= needed:
            bars[step] = np.inf
        else:
            bars[step] = np.float32(np.log(needed / (factor - needed)) - _ROUNDING)


def make_bars(score: float) -> NDArray[np.float32]:
    """Return the log-odds float32[FACTOR_STEPS + 1] that a score in [0, 1] needs, by factor."""
    bars = np.empty(FACTOR_STEPS + 1, np.float32)
    bars_into(score, bars)
    return bars
