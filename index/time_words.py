"""Words of time in a text: the windows they mean, and whether the newest is asked for.

"上周三", "in March", "three days ago", "before 2026-05-01" become half-open windows, seen from a
moment in a time zone. Text that names no time gives none; words that mean no day of the calendar
(the 31st of February) are passed over. It is pure: no clock, no state.

Invariants: windows do not come from overlapping words, the earlier and longer find wins; equal
input gives equal output.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from recalld.index import time_words_en, time_words_zh
from recalld.index.calendar_windows import OPEN_END_US, OPEN_START_US, Standpoint, Window

# Longer texts are read up to here: times of a request stand in its sentences, not in a paste.
TEXT_COUNT_MAX = 2_000
WINDOW_COUNT_MAX = 8

# Traditional characters of the words that the rules know.
_SIMPLE = str.maketrans(
    "個這兩幾後號週禮時鐘頭當現過來開從間陣節", "个这两几后号周礼时钟头当现过来开从间阵节"
)
# A text without any of these names no time; most texts end here, at a tenth of the cost.
_HINT = re.compile(
    r"[年月周天日号季昨今明晚]|前|后|最近|近|星期|礼拜|\b(?:19|20|21)\d\d\b"
    r"|day|night|week|month|quarter|year|hour|morning|afternoon|evening|recent|lately|tomorrow"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|q[1-4])"
)
_NEWEST = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|right now|at the moment|at present"
    r"|nowadays|as of now|these days|last time|up to date)\b"
    r"|最新|最近一次|上一?次|目前|现在|当前|如今|眼下|至今"
)
_BEFORE = re.compile(r"(?:\b(?:before|prior to|earlier than)(?: the)? )$")
_AFTER = re.compile(r"(?:\b(?:after|later than)(?: the)? )$")
_SINCE = re.compile(r"(?:\b(?:since|starting)(?: the)? |自从|自|从)$")
_UNTIL = re.compile(r"(?:\b(?:until|till|by|up to)(?: the)? |截至|截止|直到|到)$")
_FROM = re.compile(r"(?:\b(?:from|between)(?: the)? |从)$")
_RANGE = re.compile(r"\b(?:from|between|since)\b|从|自")
_BEFORE_ZH = re.compile(r"(?:之前|以前|前)")
_AFTER_ZH = re.compile(r"(?:之后|以后|后)")
_SINCE_ZH = re.compile(r"(?:以来|起|开始)")
_TO = re.compile(r"(?: (?:to|and|through|until|till) (?:the )?| ?[-–—~～] ?|到|至|和)")


@dataclass(frozen=True, slots=True)
class _Find:
    """One place of a text that names a time."""

    start: int
    end: int
    window: Window


def windows(text: str, at: Standpoint) -> tuple[Window, ...]:
    """Return the windows that a text names, in its order, at most WINDOW_COUNT_MAX, distinct."""
    read = _folded(text)
    if not _HINT.search(read):
        return ()
    finds = list(_joined(read, _chosen(read, at)))
    bounded = (_bounded(read, find, at) for find in finds)
    return tuple(dict.fromkeys(bounded))[:WINDOW_COUNT_MAX]


def asks_for_newest(text: str) -> bool:
    """Tell whether a request asks for what is latest, or holds at present."""
    return _NEWEST.search(_folded(text)) is not None


def _folded(text: str) -> str:
    """The form in which rules read: half width, lower case, simplified."""
    cut = unicodedata.normalize("NFKC", text[:TEXT_COUNT_MAX]).lower()
    return cut if cut.isascii() else cut.translate(_SIMPLE)


def _chosen(text: str, at: Standpoint) -> list[_Find]:
    """Finds that do not overlap: the earlier first, of those that start together the longest."""
    found = sorted(_found(text, at), key=lambda find: (find.start, -find.end))
    chosen: list[_Find] = []
    for find in found:
        if not chosen or find.start >= chosen[-1].end:
            chosen.append(find)
    return chosen


def _found(text: str, at: Standpoint) -> Iterator[_Find]:
    """Everything that a rule finds and that is a time."""
    padded = f"{text} "
    for hints, pattern, meaning in (*time_words_en.RULES, *time_words_zh.RULES):
        if not any(hint in padded for hint in hints):
            continue
        core = "core" if "core" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            ahead = text[: match.start(core)]
            # A deadline lies ahead, whatever else the text looks back on; the end of a range not.
            is_due = _UNTIL.search(ahead) and not _RANGE.search(ahead)
            try:
                window = meaning(match, replace(at, looks_ahead=True) if is_due else at)
            except (ValueError, OverflowError):
                # No such day, or centuries away.
                continue
            yield _Find(*match.span(core), window)


def _joined(text: str, finds: list[_Find]) -> Iterator[_Find]:
    """Finds, with "from A to B" made one."""
    place = 0
    while place < len(finds):
        find = finds[place]
        if place + 1 < len(finds):
            other = finds[place + 1]
            ranged = _TO.fullmatch(text, find.end, other.start)
            is_list = ranged is not None and ranged[0].strip() in ("and", "和")
            named = not is_list or _FROM.search(text[: find.start])
            if ranged and named and find.window.start_us < other.window.end_us:
                window = Window(find.window.start_us, other.window.end_us)
                # Nothing before or behind it bounds it once more.
                yield _Find(0, len(text), window)
                place += 2
                continue
        yield find
        place += 1


def _bounded(text: str, find: _Find, at: Standpoint) -> Window:
    """The window, or what lies before or after it when the text says so."""
    ahead, window = text[: find.start], find.window
    if _BEFORE.search(ahead) or _BEFORE_ZH.match(text, find.end):
        return Window(OPEN_START_US, window.start_us)
    if _AFTER.search(ahead) or _AFTER_ZH.match(text, find.end):
        return Window(window.end_us, OPEN_END_US)
    if _SINCE_ZH.match(text, find.end) or _SINCE.search(ahead):
        return replace(window, end_us=OPEN_END_US)
    if _UNTIL.search(ahead):
        return replace(window, start_us=min(window.start_us, at.now_us))
    return window
