"""Words of time and the windows they mean.

The table is calculated by hand from one moment, Wednesday 2026-05-13 15:30 in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.calendar_windows import OPEN_END_US, OPEN_START_US, Standpoint, Window
from recalld.index.time_words import WINDOW_COUNT_MAX, asks_for_newest, windows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TODAY = "2026-05-13"


def micros(text: str) -> int:
    """Microseconds of a time in UTC; "..." is open."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


NOW = Standpoint(micros("2026-05-13T15:30"), UTC)
PLAN = Standpoint(NOW.now_us, UTC, looks_ahead=True)


def window(start: str, end: str) -> Window:
    """A window between two times in UTC."""
    return Window(
        OPEN_START_US if start == "..." else micros(start),
        OPEN_END_US if end == "..." else micros(end),
    )


TABLE: list[tuple[str, str, str]] = [
    ("what did I eat today", "2026-05-13", "2026-05-14"),
    ("what did I do this morning", "2026-05-13T05:00", "2026-05-13T12:00"),
    ("yesterday", "2026-05-12", "2026-05-13"),
    ("yesterday evening", "2026-05-12T17:00", "2026-05-13"),
    ("last night", "2026-05-12T18:00", "2026-05-13T06:00"),
    ("tonight", "2026-05-13T18:00", "2026-05-14T06:00"),
    ("the day before yesterday", "2026-05-11", "2026-05-12"),
    ("day after tomorrow", "2026-05-15", "2026-05-16"),
    ("tomorrow afternoon", "2026-05-14T12:00", "2026-05-14T18:00"),
    ("three days ago", "2026-05-10", "2026-05-11"),
    ("a couple of weeks ago", "2026-04-27", "2026-05-04"),
    ("2 months ago", "2026-03-01", "2026-04-01"),
    ("a year ago", "2025-01-01", "2026-01-01"),
    ("5 hours ago", "2026-05-13T10:00", "2026-05-13T11:00"),
    ("in two weeks", "2026-05-25", "2026-06-01"),
    ("3 days from now", "2026-05-16", "2026-05-17"),
    ("the last 3 days", "2026-05-10", "2026-05-14"),
    ("the past week", "2026-05-06", "2026-05-14"),
    ("over the past month", "2026-04-13", "2026-05-14"),
    ("next few days", "2026-05-13", "2026-05-17"),
    ("last week", "2026-05-04", "2026-05-11"),
    ("this week", "2026-05-11", "2026-05-18"),
    ("next month", "2026-06-01", "2026-07-01"),
    ("last month", "2026-04-01", "2026-05-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("this quarter", "2026-04-01", "2026-07-01"),
    ("last quarter", "2026-01-01", "2026-04-01"),
    ("last weekend", "2026-05-09", "2026-05-11"),
    ("on the weekend", "2026-05-09", "2026-05-11"),
    ("on Monday", "2026-05-11", "2026-05-12"),
    ("on Friday", "2026-05-08", "2026-05-09"),
    ("last Wednesday", "2026-05-06", "2026-05-07"),
    ("this Friday", "2026-05-15", "2026-05-16"),
    ("next Tuesday", "2026-05-19", "2026-05-20"),
    ("Monday morning", "2026-05-11T05:00", "2026-05-11T12:00"),
    ("2026-03-05", "2026-03-05", "2026-03-06"),
    ("2026-03", "2026-03-01", "2026-04-01"),
    ("2026/3/5", "2026-03-05", "2026-03-06"),
    ("March 5", "2026-03-05", "2026-03-06"),
    ("March 5th, 2025", "2025-03-05", "2025-03-06"),
    ("5th of June", "2025-06-05", "2025-06-06"),
    ("Dec 24", "2025-12-24", "2025-12-25"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("in June", "2025-06-01", "2025-07-01"),
    ("last March", "2026-03-01", "2026-04-01"),
    ("late March", "2026-03-21", "2026-04-01"),
    ("March 2025", "2025-03-01", "2025-04-01"),
    ("in 2024", "2024-01-01", "2025-01-01"),
    ("Q1 2026", "2026-01-01", "2026-04-01"),
    ("last summer", "2025-06-01", "2025-09-01"),
    ("in the spring", "2026-03-01", "2026-06-01"),
    ("summer of 2024", "2024-06-01", "2024-09-01"),
    ("before March", "...", "2026-03-01"),
    ("after 2026-05-01", "2026-05-02", "..."),
    ("since last Monday", "2026-05-11", "..."),
    ("until Friday", "2026-05-13T15:30", "2026-05-16"),
    ("between March 3 and March 9", "2026-03-03", "2026-03-10"),
    ("from Monday to Wednesday", "2026-05-11", "2026-05-14"),
    ("recently", "2026-04-29", "2026-05-14"),
    ("昨天", "2026-05-12", "2026-05-13"),
    ("今天早上", "2026-05-13T05:00", "2026-05-13T12:00"),
    ("今晚", "2026-05-13T18:00", "2026-05-14T06:00"),
    ("昨晚", "2026-05-12T18:00", "2026-05-13T06:00"),
    ("前天", "2026-05-11", "2026-05-12"),
    ("大前天", "2026-05-10", "2026-05-11"),
    ("后天", "2026-05-15", "2026-05-16"),
    ("明天下午", "2026-05-14T12:00", "2026-05-14T18:00"),
    ("三天前", "2026-05-10", "2026-05-11"),
    ("两周前", "2026-04-27", "2026-05-04"),
    ("半年前", "2025-11-01", "2025-12-01"),
    ("半个月前", "2026-04-25", "2026-05-02"),
    ("3个月以前", "2026-02-01", "2026-03-01"),
    ("十二天后", "2026-05-25", "2026-05-26"),
    ("最近三天", "2026-05-10", "2026-05-14"),
    ("过去一周", "2026-05-06", "2026-05-14"),
    ("这两天", "2026-05-11", "2026-05-14"),
    ("上周", "2026-05-04", "2026-05-11"),
    ("上周三", "2026-05-06", "2026-05-07"),
    ("上上周", "2026-04-27", "2026-05-04"),
    ("下周五", "2026-05-22", "2026-05-23"),
    ("上周末", "2026-05-09", "2026-05-11"),
    ("周末", "2026-05-09", "2026-05-11"),
    ("周一", "2026-05-11", "2026-05-12"),
    ("星期天", "2026-05-10", "2026-05-11"),
    ("本周", "2026-05-11", "2026-05-18"),
    ("上个月", "2026-04-01", "2026-05-01"),
    ("上个月5号", "2026-04-05", "2026-04-06"),
    ("本月", "2026-05-01", "2026-06-01"),
    ("下个月底", "2026-06-21", "2026-07-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("前年", "2024-01-01", "2025-01-01"),
    ("今年三月", "2026-03-01", "2026-04-01"),
    ("去年春天", "2025-03-01", "2025-06-01"),
    ("2025年", "2025-01-01", "2026-01-01"),
    ("2025年3月", "2025-03-01", "2025-04-01"),
    ("2025年3月5日", "2025-03-05", "2025-03-06"),
    ("3月5号", "2026-03-05", "2026-03-06"),
    ("三月", "2026-03-01", "2026-04-01"),
    ("三月底", "2026-03-21", "2026-04-01"),
    ("十二月二十五日", "2025-12-25", "2025-12-26"),
    ("年底", "2026-11-01", "2027-01-01"),
    ("上季度", "2026-01-01", "2026-04-01"),
    ("第三季度", "2026-07-01", "2026-10-01"),
    ("上半年", "2026-01-01", "2026-07-01"),
    ("去年上半年", "2025-01-01", "2025-07-01"),
    ("三月之前", "...", "2026-03-01"),
    ("5月1日以后", "2026-05-02", "..."),
    ("上周一以来", "2026-05-04", "..."),
    ("从3月5号到3月8号", "2026-03-05", "2026-03-09"),
    ("周一至周三", "2026-05-11", "2026-05-14"),
    ("最近", "2026-04-29", "2026-05-14"),
    ("上週三", "2026-05-06", "2026-05-07"),
    ("三個月前", "2026-02-01", "2026-03-01"),
    ("三个月之前", "2026-02-01", "2026-03-01"),
    ("by Friday evening", "2026-05-13T15:30", "2026-05-16"),
    ("2025年前", "...", "2025-01-01"),
    ("这一年", "2025-05-13", "2026-05-14"),
    ("这几天", "2026-05-10", "2026-05-14"),
    ("最近半年", "2025-11-13", "2026-05-14"),
    ("今年年初", "2026-01-01", "2026-03-01"),
    ("last spring", "2025-03-01", "2025-06-01"),
]


@pytest.mark.parametrize(("text", "start", "end"), TABLE)
def test_expressions(text: str, start: str, end: str) -> None:
    """Each expression of the table means exactly its window."""
    assert windows(text, NOW) == (window(start, end),)


def test_the_table_is_long_enough() -> None:
    """The table covers both languages with forty expressions each at least."""
    english = [text for text, _, _ in TABLE if text.isascii()]
    assert min(len(english), len(TABLE) - len(english)) >= 40


NO_TIME = (
    "may I ask you something",
    "march on, we decide in the end",
    "the spring is broken",
    "take line 5 to room 12",
    "5号线怎么走",
    "提前两天通知我",
    "我住在天津",
    "帮我看看后面的代码",
    "2026-13-40",
    "",
)


@pytest.mark.parametrize("text", NO_TIME)
def test_other_words_are_no_times(text: str) -> None:
    """Words that look like times, and days that no calendar has, give no window."""
    assert windows(text, NOW) == ()


AHEAD: list[tuple[str, str, str]] = [
    ("dentist on Friday", "2026-05-15", "2026-05-16"),
    ("on Monday", "2026-05-18", "2026-05-19"),
    ("in March", "2027-03-01", "2027-04-01"),
    ("周五交稿", "2026-05-15", "2026-05-16"),
    ("这两天出差", "2026-05-11", "2026-05-16"),
    ("3月5号体检", "2027-03-05", "2027-03-06"),
]


@pytest.mark.parametrize(("text", "start", "end"), AHEAD)
def test_plans_look_ahead(text: str, start: str, end: str) -> None:
    """In a plan a bare weekday, month or date is the next one."""
    assert windows(text, PLAN) == (window(start, end),)


def test_several_times() -> None:
    """Times that are not a range are windows of their own, in their order."""
    assert windows("what changed in March and in April", NOW) == (
        window("2026-03-01", "2026-04-01"),
        window("2026-04-01", "2026-05-01"),
    )


@pytest.mark.parametrize(
    ("zone", "now", "text", "start", "end"),
    [
        # Clocks go forward on 2026-03-29 and back on 2026-10-25: 23 and 25 hours.
        ("Europe/Berlin", "2026-03-30T10:00", "yesterday", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("Europe/Berlin", "2026-10-26T10:00", "昨天", "2026-10-24T22:00", "2026-10-25T23:00"),
        # 20:00 in UTC is 4:00 of the next day in Shanghai.
        ("Asia/Shanghai", "2026-05-13T20:00", "today", "2026-05-13T16:00", "2026-05-14T16:00"),
        ("America/New_York", "2026-05-13T02:00", "今天", "2026-05-12T04:00", "2026-05-13T04:00"),
    ],
)
def test_days_are_local(zone: str, now: str, text: str, start: str, end: str) -> None:
    """Days begin at local midnight, also when the clocks change between two of them."""
    at = Standpoint(micros(now), ZoneInfo(zone))
    assert windows(text, at) == (window(start, end),)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("what is my latest order", True),
        ("where do I currently live", True),
        ("the most recent release", True),
        ("我现在住哪", True),
        ("最近一次体检", True),
        ("最新的版本号", True),
        ("what did I eat yesterday", False),
        ("最近去了哪", False),
        ("nowhere to go", False),
    ],
)
def test_asking_for_the_newest(text: str, asked: bool) -> None:
    """Words for the latest and for the present ask for what is newest; others do not."""
    assert asks_for_newest(text) is asked


zones = st.sampled_from(
    ["Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"]
)
moments = st.integers(micros("1950-01-01"), micros("2150-01-01"))
pieces = st.lists(
    st.sampled_from([text for text, _, _ in TABLE]) | st.text(max_size=12), max_size=6
)


@given(pieces, moments, zones, st.booleans())
def test_windows_are_sound(texts: list[str], now: int, zone: str, ahead: bool) -> None:
    """Any text at any moment gives few, distinct, non-empty windows, the same ones every time."""
    at = Standpoint(now, ZoneInfo(zone), ahead)
    found = windows(" ".join(texts), at)
    assert len(found) == len(set(found)) <= WINDOW_COUNT_MAX
    assert all(w.start_us < w.end_us for w in found)
    assert windows(" ".join(texts), at) == found


@given(moments, zones)
def test_days_and_weeks_fit_together(now: int, zone: str) -> None:
    """Yesterday ends where today starts; a week runs from Monday to Monday and holds its today."""
    at = Standpoint(now, ZoneInfo(zone))
    (yesterday,), (today,), (tomorrow,) = (
        windows(text, at) for text in ("yesterday", "今天", "tomorrow")
    )
    assert yesterday.end_us == today.start_us <= now < today.end_us == tomorrow.start_us
    (last,), (this,), (coming,) = (windows(text, at) for text in ("last week", "本周", "next week"))
    assert (last.end_us, this.end_us) == (this.start_us, coming.start_us)
    assert this.start_us <= now < this.end_us
    first = (EPOCH + timedelta(microseconds=this.start_us)).astimezone(ZoneInfo(zone))
    assert first.weekday() == 0
    assert first.time().isoformat() == "00:00:00"


@pytest.mark.parametrize("text", ["Friday push to the release branch", "the Monday meeting"])
def test_a_weekday_that_names_a_habit_is_no_day(text: str) -> None:
    """Without a word such as on or last before it, a weekday is the name of something."""
    assert windows(text, NOW) == ()
