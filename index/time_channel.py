"""The time channel: which memories lie in the time that a request speaks of.

A memory lies in a window by its event time or by the days its own words name. Inside the score is
1, outside it halves with every half length of the window. What lasts is true at any time and stays
neutral; so does everything when the request speaks of the present or of what is to come. Where the
latest is asked for, later events score higher. It never filters and reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.calendar_windows import Window
from recalld.index.columns import Columns
from recalld.scoring import masks
from recalld.scoring.params import (
    BACKGROUND_TIME,
    DAY_S,
    DOCUMENT,
    FACT,
    PREFERENCE,
    PROCEDURE,
    US_PER_S,
)

Floats = NDArray[np.float32]
_DAY_US = int(DAY_S) * US_PER_S
# People misplace a day by half a day, and what has an open end by weeks.
SOFTNESS_MIN_US = _DAY_US // 2
SOFTNESS_OPEN_US = 7 * _DAY_US
# A microsecond outside is outside, whatever float32 rounds it to.
OUTSIDE_MAX = 0.99
_LASTING = (FACT, PREFERENCE, PROCEDURE, DOCUMENT)
# The newest of all and the oldest lie this far from neutral where the latest is asked for.
NEWEST_REACH = 0.25


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """What a request says of time.

    Attributes:
        windows: that it names, absolute.
        newest: it asks for what is latest.
        now_us: the moment it is asked from.
    """

    windows: tuple[Window, ...] = ()
    newest: bool = False
    now_us: int = 0


def time_scores(columns: Columns, asked: TimeAsked) -> tuple[Floats, Floats] | None:
    """Score all rows.

    Args:
        columns: the rows, n of them.
        asked: what the request says.

    Returns:
        float32[n] days outside the nearest window (0 = inside, or none is named) and float32[n]
        normalised to 0..1, BACKGROUND_TIME being neutral; None when the request says nothing.
    """
    if asked.windows:
        return _in_windows(columns, asked)
    return _newest(columns) if asked.newest else None


def _in_windows(columns: Columns, asked: TimeAsked) -> tuple[Floats, Floats]:
    """Nearness to the nearest window."""
    n = columns.count
    kind = columns.small[masks.KIND, :n]
    score = np.where(np.isin(kind, _LASTING), np.float32(BACKGROUND_TIME), np.float32(0.0))
    outside = np.full(n, np.inf, dtype=np.float32)
    for window in asked.windows:
        away = _distance(columns, window)
        softness = max(SOFTNESS_MIN_US, (window.end_us - window.start_us) // 2)
        if not window.is_closed:
            softness = SOFTNESS_OPEN_US
        near = np.exp2(-away / softness).astype(np.float32)
        near = np.where(away > 0, np.minimum(near, np.float32(OUTSIDE_MAX)), near)
        if window.end_us > asked.now_us:
            near = np.maximum(near, np.float32(BACKGROUND_TIME))
        score = np.maximum(score, near)
        outside = np.minimum(outside, (away / _DAY_US).astype(np.float32))
    return outside, score


def _distance(columns: Columns, window: Window) -> NDArray[np.int64]:
    """Microseconds between a window and each row's event or named days, 0 = inside."""
    times = columns.times[:, : columns.count]
    event = times[masks.EVENT_TIME]
    away = np.maximum(0, np.maximum(window.start_us - event, event - (window.end_us - 1)))
    start, end = times[masks.NAMED_FROM], times[masks.NAMED_TO]
    named = np.maximum(0, np.maximum(window.start_us - (end - 1), start - (window.end_us - 1)))
    return np.where(end != 0, np.minimum(away, named), away)


def _newest(columns: Columns) -> tuple[Floats, Floats]:
    """Place of each row in the order of event times, equal ones sharing the later place."""
    score = BACKGROUND_TIME + NEWEST_REACH * (2 * columns.event_places - 1)
    return np.zeros(len(score), dtype=np.float32), score.astype(np.float32)
