"""Words of time in Chinese: patterns and the windows they mean.

Each rule is a pattern and what it means from a standpoint; see `recalld.index.time_words_en`. Text
comes in simplified characters. A bare day of the month ("5号") counts only behind its month: it
is also the number of a room, a line or a product.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from recalld.index.calendar_windows import (
    AFTERNOON,
    AUTUMN,
    EVENING,
    MORNING,
    NIGHT,
    NOON,
    SMALL_HOURS,
    SPRING,
    SUMMER,
    WINTER,
    Standpoint,
    Window,
    first_of,
)
from recalld.index.time_words_en import SATURDAY, WEEKEND_COUNT, Meaning, Rule

_DIGITS = "零一二三四五六七八九"
_PARTS = {
    "凌晨": SMALL_HOURS,
    "早上": MORNING,
    "早晨": MORNING,
    "上午": MORNING,
    "早": MORNING,
    "晨": MORNING,
    "中午": NOON,
    "下午": AFTERNOON,
    "傍晚": EVENING,
    "晚上": NIGHT,
    "夜里": NIGHT,
    "晚": NIGHT,
    "夜": NIGHT,
}
_DAY_OFFSETS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEAR_OFFSETS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_SEASONS = {"春": SPRING, "夏": SUMMER, "秋": AUTUMN, "冬": WINTER}
_UNITS = {
    "小时": "hour",
    "钟头": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
# "几" is no number: three, and softly, as all windows are meant.
_SOME = 3
_THIRDS = {"初": (0, 10), "上旬": (0, 10), "中": (10, 20), "中旬": (10, 20)}
_YEAR_THIRDS = {"初": (1, 2), "中": (5, 4), "底": (11, 2), "末": (11, 2)}
"""Parts of a year: first month and how many."""
_HALVES = {"上半年": 1, "下半年": 7}

_NUMBER = r"(?P<count>(?<!\d)\d{1,3}|[一二两三四五六七八九十]{1,3}|几|半)"
# "三月" is March, "三个月" are three months.
_UNIT = r"个?(?P<unit>小时|钟头|天|日|周|星期|礼拜|(?<=个)月|年)"
_PART = rf"(?P<part>{'|'.join(_PARTS)})"
_WEEK = r"(?:周|星期|礼拜)"
_DAY_OF_MONTH = r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]"
_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)年"
_OF_YEAR = rf"(?:{_YEAR}|(?P<of>{'|'.join(_YEAR_OFFSETS)}))的?"
_UPS = r"(?P<which>上+|本|这|当|下+)"


def _count(text: str) -> int:
    """A number up to 99, in digits or characters."""
    if text.isdecimal():
        return int(text)
    if text == "几":
        return _SOME
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    tens_count = (_DIGITS.index(tens) if tens else 1) if ten else 0
    return 10 * tens_count + (_DIGITS.index(ones) if ones else 0)


def _offset(which: str) -> int:
    """上上 -> -2, 本 -> 0, 下 -> 1."""
    return len(which) * {"上": -1, "下": 1}.get(which[0], 0)


def _part_of(day: date, match: re.Match[str], at: Standpoint) -> Window:
    """The named part of a day, or all of it."""
    return at.hours(day, _PARTS[match["part"]]) if match["part"] else at.days(day)


def _year_of(match: re.Match[str], at: Standpoint) -> int:
    """The named year, as a number or by its distance; 0 when none is."""
    named = match.groupdict()
    if named.get("year"):
        return int(match["year"])
    return at.today.year + _YEAR_OFFSETS[match["of"]] if named.get("of") else 0


def _day(match: re.Match[str], at: Standpoint) -> Window:
    """昨天, 今晚, 后天下午."""
    day = at.today + timedelta(days=_DAY_OFFSETS[match["near"]])
    part = match["short"] or match["part"]
    return at.hours(day, _PARTS[part]) if part else at.days(day)


def _away(match: re.Match[str], at: Standpoint) -> Window:
    """三天前, 两周后, 半年前."""
    sign = -1 if "前" in match["side"] else 1
    unit = _UNITS[match["unit"]]
    if match["count"] == "半":
        if unit == "year":
            return at.month_at(sign * 6)
        return at.day(sign * 15 - 3, 7) if unit == "month" else at.unit_at(unit, 0)
    return at.unit_at(unit, sign * _count(match["count"]))


def _back(match: re.Match[str], at: Standpoint) -> Window:
    """最近三天, 过去半年."""
    unit = _UNITS[match["unit"]]
    if match["count"] == "半":
        return at.units_back("month", 6) if unit == "year" else at.units_back("day", 15)
    return at.units_back(unit, _count(match["count"]))


def _weekday(match: re.Match[str], at: Standpoint) -> Window:
    """上周三, 下周末, 周五下午; weeks start on Monday."""
    which, number = match["which"], match["weekday"]
    if number == "末":
        is_on = at.looks_ahead or at.today.weekday() >= SATURDAY
        offset = _offset(which) if which else (0 if is_on else -1)
        return at.week(offset, SATURDAY, WEEKEND_COUNT)
    place = 6 if number in "日天" else _DIGITS.index(number) - 1
    day = at.monday(_offset(which)) + timedelta(days=place) if which else at.weekday(place)
    return _part_of(day, match, at)


def _week(match: re.Match[str], at: Standpoint) -> Window:
    """上周, 这个星期."""
    return at.week(_offset(match["which"]))


def _month_near(match: re.Match[str], at: Standpoint) -> Window:
    """上个月, 本月5号, 下个月底."""
    month = at.today.month + _offset(match["which"])
    return _within_month(match, at, first_of(at.today.year, month))


def _month_named(match: re.Match[str], at: Standpoint) -> Window:
    """3月, 去年三月, 2025年3月5日, 三月底."""
    month = _count(match["month"])
    day = _count(match["day"]) if match["day"] else 0
    year = _year_of(match, at) or at.year_of_month(month, day)
    return _within_month(match, at, date(year, month, 1))


def _within_month(match: re.Match[str], at: Standpoint, first: date) -> Window:
    """A day or a third of a month, or all of it."""
    if match["day"]:
        return at.days(first.replace(day=_count(match["day"])))
    if not match["third"]:
        return at.month(first.year, first.month)
    start, end = _THIRDS.get(match["third"], (20, 0))
    last = first + timedelta(days=end) if end else first_of(first.year, first.month + 1)
    return at.until(first + timedelta(days=start), last)


def _year(match: re.Match[str], at: Standpoint) -> Window:
    """2025年, 去年春天, 今年上半年, 明年年初."""
    year, named = _year_of(match, at), match["season"] or match["third"] or match["half"]
    if match["season"]:
        return at.season(_SEASONS[match["season"]], year)
    if match["half"]:
        return at.month(year, _HALVES[match["half"]], 6)
    return at.month(year, *_YEAR_THIRDS[match["third"]]) if named else at.year(year)


def _this_year(match: re.Match[str], at: Standpoint) -> Window:
    """年初, 年底, 上半年: of this year."""
    if match["half"]:
        return at.month(at.today.year, _HALVES[match["half"]], 6)
    return at.month(at.today.year, *_YEAR_THIRDS[match["third"]])


def _season(match: re.Match[str], at: Standpoint) -> Window:
    """春天: the last or the next one."""
    return at.near_season(_SEASONS[match["season"]])


def _quarter(match: re.Match[str], at: Standpoint) -> Window:
    """第三季度, 2026年第三季度, 上季度."""
    if match["which"]:
        return at.quarter_at(_offset(match["which"]))
    return at.month(_year_of(match, at) or at.today.year, 3 * _count(match["quarter"]) - 2, 3)


def _rule(pattern: str, meaning: Meaning, *hints: str) -> Rule:
    """One rule, worth trying where one of the hints stands in the text."""
    return hints, re.compile(pattern), meaning


_MONTH_REST = rf"(?:{_DAY_OF_MONTH}|份?的?(?P<third>初|上旬|中旬|下旬|底|末))?"

RULES: tuple[Rule, ...] = (
    _rule(
        rf"(?P<near>大前|大后|前|昨|今|明|后)"
        rf"(?:[天日儿](?:的?{_PART})?|(?P<short>早上|早|晨|晚上|晚|夜))",
        _day,
        *"前昨今明后",
    ),
    _rule(rf"{_NUMBER}{_UNIT}(?P<side>之前|以前|前|之后|以后|后)", _away, "前", "后"),
    _rule(
        rf"(?:最近|过去|近|(?<![提目之以])前)(?:的|这)?{_NUMBER}{_UNIT}", _back, "近", "过去", "前"
    ),
    _rule(
        rf"这{_NUMBER}{_UNIT}(?!前|后|之|以)",
        lambda m, at: at.units_around(_UNITS[m["unit"]], _count(m["count"].replace("半", "一"))),
        "这",
    ),
    _rule(
        rf"(?:未来|接下来|今后)(?:的|这)?{_NUMBER}{_UNIT}",
        lambda m, at: at.units_on(_UNITS[m["unit"]], _count(m["count"].replace("半", "一"))),
        "来",
        "今后",
    ),
    _rule(
        r"最近(?!一次)|近来|近期|前阵子|前段时间|这阵子",
        lambda _, at: at.units_around("week", 2),
        "近",
        "阵",
        "前段",
    ),
    _rule(
        rf"(?:{_UPS}个?)?{_WEEK}(?P<weekday>[一二三四五六日天末])(?:的?{_PART})?",
        _weekday,
        "周",
        "星期",
        "礼拜",
    ),
    _rule(rf"{_UPS}个?{_WEEK}(?![一二三四五六日天末])", _week, "周", "星期", "礼拜"),
    _rule(rf"{_UPS}个?月{_MONTH_REST}", _month_near, "月"),
    _rule(rf"(?:{_OF_YEAR})?{_MONTH}{_MONTH_REST}", _month_named, "月"),
    _rule(
        rf"{_OF_YEAR}(?:(?P<season>[春夏秋冬])[天季]?|年?(?P<third>[初中底末])"
        r"|(?P<half>[上下]半年))?",
        _year,
        "年",
    ),
    _rule(r"(?<!\d)年(?P<third>[初底末])|(?P<half>[上下]半年)", _this_year, "年"),
    _rule(r"(?<![一-龥])(?P<season>[春夏秋冬])[天季]", _season, *_SEASONS),
    _rule(rf"(?:{_UPS}个?|(?:{_OF_YEAR})?第?(?P<quarter>[1-4一二三四]))季度", _quarter, "季度"),
)
