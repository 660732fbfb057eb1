"""Spans of the calendar as half-open windows of absolute time.

Days, weeks, months, quarters, seasons and years of a time zone, seen from one moment. Weeks start
on Monday; seasons are those of the northern half of the earth, three whole months each. It reads no
text, no clock and no file but the zone's.

Invariants: a window's end lies after its start; ends are local midnights or full hours, so a day on
which the clocks change has 23 or 25 hours; times stay in the years 1900 to 2200, or are open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
YEAR_MIN, YEAR_MAX = 1900, 2199
# No time of a memory lies beyond these; they stand for "no bound".
OPEN_START_US, OPEN_END_US = -(2**62), 2**62

# Hours of a day's parts; past 24 they reach into the next day.
MORNING, NOON, AFTERNOON, EVENING, NIGHT, SMALL_HOURS = (
    (5, 12),
    (11, 14),
    (12, 18),
    (17, 24),
    (18, 30),
    (0, 6),
)
SPRING, SUMMER, AUTUMN, WINTER = 3, 6, 9, 12
"""Seasons by their first month; a winter belongs to the year in which it starts."""
LAST_NAMED_MONTH = 12


@dataclass(frozen=True, slots=True)
class Window:
    """Times from `start_us` up to, not including, `end_us`: microseconds since 1970."""

    start_us: int
    end_us: int

    @property
    def is_closed(self) -> bool:
        """Whether it has both bounds."""
        return self.start_us > OPEN_START_US and self.end_us < OPEN_END_US


@dataclass(frozen=True, slots=True)
class Standpoint:
    """The moment and the place from which words of time are understood.

    Attributes:
        now_us: microseconds since 1970.
        zone: in which days begin.
        looks_ahead: a bare weekday or month is the next one, as in a plan; else the last one.
    """

    now_us: int
    zone: tzinfo
    looks_ahead: bool = False

    @property
    def today(self) -> date:
        """The local date."""
        return (EPOCH + self.now_us * MICROSECOND).astimezone(self.zone).date()

    def hours(self, day: date, hours: tuple[int, int]) -> Window:
        """Part of a local day, between two full hours; hours past 24 are of the next day."""
        return Window(self._at(day, hours[0]), self._at(day, hours[1]))

    def days(self, first: date, count: int = 1) -> Window:
        """Whole days: `count` >= 1 of them."""
        return self.until(first, first + timedelta(days=count))

    def until(self, first: date, end: date) -> Window:
        """Whole days from `first` up to, not including, `end`, which is later."""
        return Window(self._at(first, 0), self._at(end, 0))

    def day(self, offset: int, count: int = 1) -> Window:
        """Whole days from `offset` days after today."""
        return self.days(self.today + timedelta(days=offset), count)

    def monday(self, offset: int = 0) -> date:
        """Monday of the week `offset` weeks after this one."""
        return self.today + timedelta(days=7 * offset - self.today.weekday())

    def week(self, offset: int, first: int = 0, count: int = 7) -> Window:
        """Days of the week `offset` weeks after this one, from weekday `first` (0 = Monday)."""
        return self.days(self.monday(offset) + timedelta(days=first), count)

    def weekday(self, number: int) -> date:
        """Date of a bare weekday: the last one or the next one, today counting as either."""
        distance = (number - self.today.weekday()) % 7
        is_next = self.looks_ahead or distance == 0
        return self.today + timedelta(days=distance if is_next else distance - 7)

    def month(self, year: int, month: int, count: int = 1) -> Window:
        """Whole months from one that may be numbered beyond its year (0 = December before)."""
        return self.until(first_of(year, month), first_of(year, month + count))

    def month_at(self, offset: int, count: int = 1) -> Window:
        """Whole months from the one `offset` months after this one."""
        return self.month(self.today.year, self.today.month + offset, count)

    def year(self, year: int) -> Window:
        """A whole year."""
        return self.month(year, 1, 12)

    def year_of_month(self, month: int, day: int = 0) -> int:
        """Year of a month (or day) named without one: its last start, or its next end."""
        this = self.today
        if self.looks_ahead:
            is_over = month < this.month or (month == this.month and 0 < day < this.day)
            return this.year + 1 if is_over else this.year
        is_ahead = month > this.month or (month == this.month and day > this.day)
        return this.year - 1 if is_ahead else this.year

    def season(self, first_month: int, year: int) -> Window:
        """Three months from `first_month`."""
        return self.month(year, first_month, 3)

    def last_season(self, first_month: int) -> Window:
        """The last season of a name that is over."""
        window = self.season(first_month, self.today.year)
        return (
            window
            if window.end_us <= self.now_us
            else self.season(first_month, self.today.year - 1)
        )

    def near_season(self, first_month: int) -> Window:
        """A bare season: the last one that has begun, or the next one that is not over."""
        window = self.season(first_month, self.today.year)
        if self.looks_ahead:
            over = window.end_us <= self.now_us
            return self.season(first_month, self.today.year + 1) if over else window
        ahead = window.start_us > self.now_us
        return self.season(first_month, self.today.year - 1) if ahead else window

    def quarter_at(self, offset: int) -> Window:
        """The quarter `offset` quarters after this one."""
        return self.month(self.today.year, (self.today.month - 1) // 3 * 3 + 1 + 3 * offset, 3)

    def unit_at(self, unit: str, offset: int) -> Window:
        """The hour, day, week, month or year `offset` of them after now; hours are centred."""
        if unit == "hour":
            centre = self.now_us + offset * _HOUR_US
            return Window(centre - _HOUR_US // 2, centre + _HOUR_US // 2)
        if unit == "day":
            return self.day(offset)
        if unit == "week":
            return self.week(offset)
        return self.month_at(offset) if unit == "month" else self.year(self.today.year + offset)

    def units_back(self, unit: str, count: int) -> Window:
        """The last `count` hours, days, weeks, months or years.

        They end with today; in a plan, which knows nothing of what follows, with the moment.
        """
        today = self.today
        end = self.now_us if self.looks_ahead else self.day(1).start_us
        if unit == "hour":
            return Window(self.now_us - count * _HOUR_US, self.now_us + 1)
        if unit in ("day", "week"):
            back = today - timedelta(days=count * (7 if unit == "week" else 1))
        else:
            start = first_of(today.year, today.month - count * (12 if unit == "year" else 1))
            # The same day of that month, or its last one: no 31st of February.
            following = first_of(start.year, start.month + 1)
            back = min(start + timedelta(days=today.day - 1), following - timedelta(days=1))
        return Window(self.days(back).start_us, end)

    def units_around(self, unit: str, count: int) -> Window:
        """These `count` days or weeks: the last ones, in a plan as many on both sides."""
        back = self.units_back(unit, count)
        return (
            Window(back.start_us, self.units_on(unit, count).end_us) if self.looks_ahead else back
        )

    def units_on(self, unit: str, count: int) -> Window:
        """The next `count` days, weeks, months or years, from the start of today."""
        if unit == "hour":
            return Window(self.now_us, self.now_us + count * _HOUR_US)
        if unit in ("day", "week"):
            return self.day(0, count * (7 if unit == "week" else 1) + 1)
        months = self.month_at(count * (12 if unit == "year" else 1))
        return Window(self.day(0).start_us, months.end_us)

    def _at(self, day: date, hour: int) -> int:
        """Absolute time of a full hour of a local day."""
        if not YEAR_MIN <= day.year <= YEAR_MAX:
            raise ValueError(f"{day} lies outside {YEAR_MIN} to {YEAR_MAX}")
        later, of_day = divmod(hour, 24)
        wall = datetime(day.year, day.month, day.day, of_day) + timedelta(days=later)
        return (wall.replace(tzinfo=self.zone).astimezone(UTC) - EPOCH) // MICROSECOND


_HOUR_US = 3_600_000_000


def first_of(year: int, month: int) -> date:
    """First day of a month that may be numbered beyond its year."""
    years, number = divmod(month - 1, LAST_NAMED_MONTH)
    return date(year + years, number + 1, 1)
