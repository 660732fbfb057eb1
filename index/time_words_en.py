"""Words of time in English: patterns and the windows they mean.

Each rule is a pattern over lower-case text and what it means from a standpoint. Rules know nothing
of each other; `recalld.index.time_words` picks among overlapping finds. Names of months and seasons
are other words too ("may", "march", "fall"): they count only with a word or number that makes them
a time; where that word is not part of the time, the group `core` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from recalld.index.calendar_windows import (
    AFTERNOON,
    AUTUMN,
    EVENING,
    MORNING,
    NIGHT,
    NOON,
    SPRING,
    SUMMER,
    WINTER,
    Standpoint,
    Window,
    first_of,
)

Meaning = Callable[["re.Match[str]", Standpoint], Window]
Rule = tuple[tuple[str, ...], "re.Pattern[str]", Meaning]

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "jan(?:uary)?",
    "feb(?:ruary)?",
    "mar(?:ch)?",
    "apr(?:il)?",
    "may",
    "june?",
    "july?",
    "aug(?:ust)?",
    "sept?(?:ember)?",
    "oct(?:ober)?",
    "nov(?:ember)?",
    "dec(?:ember)?",
)
_PARTS = {
    "morning": MORNING,
    "noon": NOON,
    "afternoon": AFTERNOON,
    "evening": EVENING,
    "night": NIGHT,
}
_SEASONS = {"spring": SPRING, "summer": SUMMER, "autumn": AUTUMN, "fall": AUTUMN, "winter": WINTER}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# "A few" is no number: three, and softly, as all windows are meant.
_VAGUE = {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "a few": 3, "few": 3}
_NAMED = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_DAY_OFFSETS = {
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
}
_THIRDS = {"early": (0, 10), "mid": (10, 20), "late": (20, 0)}
SATURDAY, WEEKEND_COUNT = 5, 2

_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}|a couple(?: of)?|couple of|a few|few|an?)"
_UNIT = r"(?P<unit>hour|day|week|month|year)s?"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\.?"
_PART = rf"(?P<part>{'|'.join(_PARTS)})"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_WHICH = r"(?P<which>last|this|next)"
# "On Friday" is a day, "the Friday push" a habit.
_AT_DAY = "".join(f"(?<={word} )|" for word in ("on", "by", "to", "until", "till", "since", "from"))
_AT_DAY = f"(?:{_AT_DAY}(?<=before )|(?<=after )|(?<=and )|(?<=between ))"
_IN = r"(?:in|during|since|before|after|by|until|till|from|to|of|between|around|and|through)"


def _count(text: str) -> int:
    """A count, as digits or words."""
    if text.isdecimal():
        return int(text)
    return _VAGUE[text] if text in _VAGUE else _NUMBERS.index(text) + 1


def _month_number(name: str) -> int:
    """Number of a month's name."""
    return next(i for i, known in enumerate(_MONTHS, 1) if re.fullmatch(known, name))


def _part_of(day: date, match: re.Match[str], at: Standpoint) -> Window:
    """The named part of a day, or all of it."""
    return at.hours(day, _PARTS[match["part"]]) if match["part"] else at.days(day)


def _day(match: re.Match[str], at: Standpoint) -> Window:
    """A day named by its distance, whole or a part of it."""
    return _part_of(at.today + timedelta(days=_DAY_OFFSETS[match["day"]]), match, at)


def _named(match: re.Match[str], at: Standpoint) -> Window:
    """Last week, this month, next year, last quarter, next weekend."""
    offset, unit = _NAMED[match["which"]], match["unit"]
    if unit == "weekend":
        return at.week(offset, SATURDAY, WEEKEND_COUNT)
    return at.quarter_at(offset) if unit == "quarter" else at.unit_at(unit, offset)


def _weekend(_: re.Match[str], at: Standpoint) -> Window:
    """On the weekend: the one at hand, else the last or the next one."""
    is_on = at.looks_ahead or at.today.weekday() >= SATURDAY
    return at.week(0 if is_on else -1, SATURDAY, WEEKEND_COUNT)


def _weekday(match: re.Match[str], at: Standpoint) -> Window:
    """On Monday, last Monday (before today), this Monday, next Monday (of next week)."""
    number = _DAYS.index(match["weekday"])
    which = match["which"]
    if which in ("last", "previous", "past"):
        day = at.today - timedelta(days=(at.today.weekday() - number - 1) % 7 + 1)
    elif which:
        day = at.monday(int(which == "next")) + timedelta(days=number)
    else:
        day = at.weekday(number)
    return _part_of(day, match, at)


def _iso(match: re.Match[str], at: Standpoint) -> Window:
    """2026-03-05, or 2026-03."""
    year, month = int(match["year"]), int(match["month"])
    return at.days(date(year, month, int(match["day"]))) if match["day"] else at.month(year, month)


def _date(match: re.Match[str], at: Standpoint) -> Window:
    """March 5th 2026; without a year the last or next one."""
    month, day = _month_number(match["month"]), int(match["day"])
    year = int(match["year"]) if match["year"] else at.year_of_month(month, day)
    return at.days(date(year, month, day))


def _month(match: re.Match[str], at: Standpoint) -> Window:
    """In March, last March, late March 2025."""
    named = match.groupdict()
    month, which = _month_number(match["month"]), named.get("which")
    if named.get("year"):
        year = int(match["year"])
    elif which == "last":
        year = at.today.year - int(month >= at.today.month)
    elif which:
        year = at.today.year + int(which == "next" and month <= at.today.month)
    else:
        year = at.year_of_month(month)
    if not named.get("third"):
        return at.month(year, month)
    first, end = _THIRDS[match["third"]]
    start = first_of(year, month) + timedelta(days=first)
    last = first_of(year, month) + timedelta(days=end) if end else first_of(year, month + 1)
    return at.until(start, last)


def _quarter(match: re.Match[str], at: Standpoint) -> Window:
    """Q3 2026."""
    year = int(match["year"]) if match["year"] else at.today.year
    return at.month(year, 3 * int(match["quarter"]) - 2, 3)


def _season(match: re.Match[str], at: Standpoint) -> Window:
    """Last summer, in the spring, summer of 2024."""
    named = match.groupdict()
    first = _SEASONS[match["season"]]
    if named.get("year"):
        return at.season(first, int(match["year"]))
    which = named.get("which")
    if which == "last":
        return at.last_season(first)
    return at.season(first, at.today.year + (which == "next")) if which else at.near_season(first)


def _rule(pattern: str, meaning: Meaning, *hints: str) -> Rule:
    """One rule over whole words, worth trying where one of the hints stands in the text."""
    return hints, re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])"), meaning


def _away(sign: int) -> Meaning:
    """So many units before or after now."""
    return lambda match, at: at.unit_at(match["unit"], sign * _count(match["count"]))


_LAST, _NEXT = ("last", "past", "previous"), ("next", "coming")
_CENTURIES = ("19", "20", "21")
# Whole names, and short ones that end there: "decide" names no month.
_MONTH_HINTS = tuple(
    hint
    for name in _MONTHS
    for short in (re.sub(r"\(.*", "", name).rstrip("?"),)
    for hint in (re.sub(r"[()?:]", "", name), f"{short} ", f"{short}.", f"{short},")
)

RULES: tuple[Rule, ...] = (
    _rule(
        rf"(?:the )?(?P<day>{'|'.join(_DAY_OFFSETS)})(?: {_PART})?", _day, "today", "yest", "morrow"
    ),
    _rule(rf"this {_PART}", lambda m, at: _part_of(at.today, m, at), "this"),
    _rule("tonight", lambda _, at: at.hours(at.today, NIGHT), "tonight"),
    _rule("last night", lambda _, at: at.hours(at.today - timedelta(days=1), NIGHT), "last night"),
    _rule(rf"{_COUNT} {_UNIT} (?:ago|back|earlier)", _away(-1), "ago", "back", "earlier"),
    _rule(rf"in {_COUNT} {_UNIT}(?: time)?", _away(1), "in "),
    _rule(rf"{_COUNT} {_UNIT} from now", _away(1), "from now"),
    _rule(
        rf"(?:last|past|previous) {_COUNT} {_UNIT}",
        lambda m, at: at.units_back(m["unit"], _count(m["count"])),
        *_LAST,
    ),
    _rule(rf"past {_UNIT}", lambda m, at: at.units_back(m["unit"], 1), "past"),
    _rule(
        rf"(?:next|coming) {_COUNT} {_UNIT}",
        lambda m, at: at.units_on(m["unit"], _count(m["count"])),
        *_NEXT,
    ),
    _rule(
        rf"(?P<which>{'|'.join(_NAMED)}) (?P<unit>week|weekend|month|quarter|year)", _named, *_NAMED
    ),
    _rule(r"(?:on|at|over) the weekend", _weekend, "weekend"),
    _rule(
        "(?:recently|lately|the other day)",
        lambda _, at: at.units_around("week", 2),
        "recently",
        "lately",
        "other day",
    ),
    _rule(
        rf"(?:(?P<which>last|previous|past|this|next|coming) |{_AT_DAY})"
        rf"(?P<weekday>{'|'.join(_DAYS)})(?: {_PART})?",
        _weekday,
        "day",
    ),
    _rule(rf"(?P<which>)(?P<weekday>{'|'.join(_DAYS)}) {_PART}", _weekday, "day"),
    _rule(
        rf"{_YEAR}[-/.](?P<month>\d\d?)(?:[-/.](?P<day>\d\d?))?(?:t[\d:.]+z?)?", _iso, *_CENTURIES
    ),
    _rule(
        rf"{_MONTH} (?:the )?(?P<day>\d\d?)(?:st|nd|rd|th)?(?:,? {_YEAR})?", _date, *_MONTH_HINTS
    ),
    _rule(
        rf"(?:the )?(?P<day>\d\d?)(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? {_YEAR})?",
        _date,
        *_MONTH_HINTS,
    ),
    _rule(
        rf"(?P<third>early|mid|late)[- ](?:in )?{_MONTH}(?: {_YEAR})?",
        _month,
        "early",
        "mid",
        "late",
    ),
    _rule(rf"{_WHICH} {_MONTH}", _month, *_MONTH_HINTS),
    _rule(rf"{_MONTH}(?: of)?,? {_YEAR}", _month, *_MONTH_HINTS),
    _rule(rf"{_IN} (?P<core>{_MONTH})", _month, *_MONTH_HINTS),
    _rule(rf"{_IN} (?P<core>{_YEAR})", lambda m, at: at.year(int(m["year"])), *_CENTURIES),
    _rule(rf"q(?P<quarter>[1-4])(?: (?:of )?{_YEAR})?", _quarter, "q"),
    _rule(rf"{_WHICH} (?P<season>{'|'.join(_SEASONS)})", _season, *_SEASONS),
    _rule(rf"(?P<season>{'|'.join(_SEASONS)})(?: of)? {_YEAR}", _season, *_SEASONS),
    _rule(rf"{_IN} (?:the )?(?P<core>(?P<season>{'|'.join(_SEASONS)}))", _season, *_SEASONS),
)
