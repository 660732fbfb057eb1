"""The time channel, row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.calendar_windows import OPEN_START_US, Window
from recalld.index.columns import Columns, IndexRow
from recalld.index.time_channel import TimeAsked, time_scores
from recalld.scoring.params import EVENT, FACT

DAY_US = 86_400_000_000
NOW = 1_000 * DAY_US


def columns(*rows: IndexRow) -> Columns:
    """Columns of some rows."""
    return Columns.empty().appended(rows)


def event(label: int, day: float, **more: int) -> IndexRow:
    """An event on a day."""
    return IndexRow(label=label, text="", kind=EVENT, event_time_us=int(day * DAY_US), **more)


def week(first: int, days: int = 7) -> TimeAsked:
    """Some days, asked for from day 1000."""
    return TimeAsked((Window(first * DAY_US, (first + days) * DAY_US),), now_us=NOW)


def test_inside_is_one_and_outside_halves() -> None:
    """In the window a memory scores 1; half a window outside, half; the bounds are half-open."""
    made = columns(event(1, 900), event(2, 906.999), event(3, 896.5), event(4, 893))
    outside, score = time_scores(made, week(900)) or ((), ())
    assert score == pytest.approx([1, 1, 0.5, 0.25])
    assert outside == pytest.approx([0, 0, 3.5, 7])
    later = columns(event(1, 907))
    assert (time_scores(later, week(900)) or ((), ()))[1][0] < 1


def test_a_day_is_soft_by_half_a_day() -> None:
    """Around a single day the score halves with every twelve hours."""
    _, score = time_scores(columns(event(1, 899.5), event(2, 902)), week(900, 1)) or ((), ())
    assert score == pytest.approx([0.5, 0.25], abs=1e-6)


def test_named_days_count_like_the_event() -> None:
    """A memory that speaks of days in the window lies in it, whenever it was said."""
    named = event(1, 800, named_from_us=903 * DAY_US, named_to_us=904 * DAY_US)
    beside = event(2, 800, named_from_us=907 * DAY_US, named_to_us=908 * DAY_US)
    outside, score = time_scores(columns(named, beside), week(900)) or ((), ())
    assert (outside[0], score[0]) == (0, 1)
    assert score[1] == pytest.approx(0.99)


def test_lasting_memories_are_neutral() -> None:
    """A fact far outside the window is neither helped nor hurt; an event is."""
    fact = IndexRow(label=1, text="", kind=FACT, event_time_us=DAY_US)
    _, score = time_scores(columns(fact, event(2, 1)), week(900)) or ((), ())
    assert score[0] == 0.5
    assert score[1] < 0.01


def test_the_present_excludes_nothing() -> None:
    """Where the window reaches beyond now, memories outside are neutral at worst."""
    _, score = time_scores(columns(event(1, 10), event(2, 999)), week(998)) or ((), ())
    assert score == pytest.approx([0.5, 1])


def test_open_windows() -> None:
    """Before a day everything earlier scores 1, and a week later half."""
    asked = TimeAsked((Window(OPEN_START_US, 900 * DAY_US),), now_us=NOW)
    _, score = time_scores(columns(event(1, 1), event(2, 907)), asked) or ((), ())
    assert score == pytest.approx([1, 0.5], abs=1e-6)


def test_no_words_no_channel() -> None:
    """A request that says nothing of time has no such channel."""
    assert time_scores(columns(event(1, 1)), TimeAsked()) is None


@given(st.lists(st.integers(-5_000, 5_000), min_size=1, max_size=20))
def test_the_newest_is_the_highest(days: list[int]) -> None:
    """Where the latest is asked for, scores follow the order of event times, by share of rows."""
    made = columns(*(event(label, day) for label, day in enumerate(days, 1)))
    _, score = time_scores(made, TimeAsked(newest=True)) or ((), ())
    for value, day in zip(score, days, strict=True):
        share = sum(other <= day for other in days) / len(days)
        assert math.isclose(value, 0.25 + 0.5 * share, abs_tol=1e-6)


@given(
    st.lists(st.integers(-30_000, 60_000), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 400)), min_size=1, max_size=4),
)
def test_scores_are_fractions(days: list[int], named: list[tuple[int, int]]) -> None:
    """A score lies in 0..1, is 1 just inside a window, and more windows never lower it."""
    made = columns(*(event(label, day) for label, day in enumerate(days, 1)))
    all_windows = tuple(Window(a * DAY_US, (a + n) * DAY_US) for a, n in named)
    asked = TimeAsked(all_windows, now_us=NOW)
    _, score = time_scores(made, asked) or ((), ())
    _, fewer = time_scores(made, TimeAsked(all_windows[:1], now_us=NOW)) or ((), ())
    inside = [any(a <= day < a + n for a, n in named) for day in days]
    assert np.all((score >= 0) & (score <= 1) & (score >= fewer))
    assert [value == 1 for value in score] == inside
