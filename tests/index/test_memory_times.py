"""When a memory is past its time, by its own words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.memory_times import MemoryTimes, memory_times
from recalld.scoring.params import EVENT, FACT, MEDIUM, PINNED, PREFERENCE, PROGRESS, STATE

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US = 86_400_000_000


def micros(text: str) -> int:
    """Microseconds of a time in UTC."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


SAID = micros("2026-05-13T15:30")  # a Wednesday
CASES = [
    (STATE, "is in Chengdu this week", "2026-05-18"),
    (STATE, "今天胃不舒服", "2026-05-14T03:30"),
    (STATE, "这两天住酒店", "2026-05-16T03:30"),
    (STATE, "本月在家办公", "2026-06-01"),
    (STATE, "away until Friday", "2026-05-16"),
    (STATE, "was in Oslo last week, is in Rome this week", "2026-05-18"),
    # Half of the seven days after it was said, not the next day.
    (STATE, "这周感冒了", "2026-05-18"),
    # No days ahead are named: three half-lives of three days.
    (STATE, "has a cold", "2026-05-22T15:30"),
    (STATE, "has had a cold for the last 3 days", "2026-05-22T15:30"),
    (EVENT, "dentist tomorrow at nine", "2026-05-15"),
    (EVENT, "下周三体检", "2026-05-21"),
]


@pytest.mark.parametrize(("kind", "text", "past"), CASES)
def test_past(kind: int, text: str, past: str) -> None:
    """States end with the days they name or by age, announced events with their day."""
    assert memory_times(kind, MEDIUM, text, SAID, SAID, SAID, UTC).past_us == micros(past)


@pytest.mark.parametrize(
    ("kind", "importance", "text"),
    [
        (EVENT, MEDIUM, "went hiking yesterday"),
        (EVENT, MEDIUM, "had lunch with Priya today"),
        (EVENT, MEDIUM, "the order was shipped"),
        (STATE, PINNED, "is in Chengdu this week"),
        (FACT, MEDIUM, "works from home this week"),
        (PREFERENCE, MEDIUM, "no meetings today"),
        (PROGRESS, MEDIUM, "chapter four is due tomorrow"),
    ],
)
def test_never_past(kind: int, importance: int, text: str) -> None:
    """What has happened, what lasts and what is pinned is never past its time."""
    assert memory_times(kind, importance, text, SAID, SAID, SAID, UTC).past_us == 0


def test_a_later_sign_of_life_prolongs_a_state_without_days() -> None:
    """A state that names no days ages from its newest sign of life."""
    anchor = SAID + 2 * DAY_US
    found = memory_times(STATE, MEDIUM, "has a cold", SAID, SAID, anchor, UTC)
    assert found == MemoryTimes(0, 0, anchor + 9 * DAY_US)


def test_named_days() -> None:
    """The days that an event speaks of run from the first to the last of them."""
    found = memory_times(EVENT, MEDIUM, "fair from 2026-06-02 to 2026-06-04", SAID, SAID, SAID, UTC)
    assert (found.named_from_us, found.named_to_us) == (micros("2026-06-02"), micros("2026-06-05"))


@given(
    st.sampled_from([STATE, EVENT]),
    st.sampled_from([text for _, text, _ in CASES]) | st.text(max_size=20),
    st.integers(micros("1950-01-01"), micros("2150-01-01")),
)
def test_nothing_is_past_when_it_is_said(kind: int, text: str, said_us: int) -> None:
    """A memory is past only after it was said, and its named days are in order."""
    found = memory_times(kind, MEDIUM, text, said_us, said_us, said_us, UTC)
    assert found.past_us == 0 or found.past_us > said_us
    assert found.named_from_us <= found.named_to_us


def test_a_week_named_at_its_end_lasts_half_of_one() -> None:
    """This week, said on a Saturday, holds for three and a half days more."""
    said = micros("2026-05-16T12:00")
    found = memory_times(STATE, MEDIUM, "has a cold this week", said, said, said, UTC)
    assert found.past_us == micros("2026-05-20T00:00")


@pytest.mark.parametrize(
    ("text", "past"),
    [("dentist appointment", "2026-06-04"), ("fair from 2026-06-03 to 2026-06-05", "2026-06-06")],
)
def test_an_event_said_before_its_time_is_past_after_its_days(text: str, past: str) -> None:
    """An event stored ahead of its time is past when its day, or the days it names, are over."""
    event_us = micros("2026-06-03T09:00")
    found = memory_times(EVENT, MEDIUM, text, event_us, SAID, event_us, UTC)
    assert found.past_us == micros(past)
    assert memory_times(EVENT, PINNED, text, event_us, SAID, event_us, UTC).past_us == 0
