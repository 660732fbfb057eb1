"""What a memory's own words say of time: the days it speaks of, and when it is past its time.

A state ("in Chengdu this week") is past when the days it names are over and half as many have gone
by since it was said, or, naming none, after several half-lives. An event is past when it was
announced ("the dentist tomorrow", or said before its own time) and its days are over; what had
happened when it was said stays what it was. Lasting kinds, pinned memories and those whose end is
given are never past. It reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from recalld.index.calendar_windows import Standpoint
from recalld.index.time_words import windows
from recalld.scoring.params import DECAY, EVENT, PINNED, STATE, US_PER_S

# An eighth is left of what fades in a state then: nobody would still call it present.
STATE_HALF_LIVES = 3
STATE_LIFE_US = int(STATE_HALF_LIVES * DECAY[STATE].half_life_s * US_PER_S)


@dataclass(frozen=True, slots=True)
class MemoryTimes:
    """Microseconds since 1970; 0 = none.

    Attributes:
        named_from_us, named_to_us: days that the text speaks of, half-open.
        past_us: from then on it is not to be presented as current.
    """

    named_from_us: int = 0
    named_to_us: int = 0
    past_us: int = 0


NONE = MemoryTimes()


def memory_times(
    kind: int,
    importance: int,
    text: str,
    event_us: int,
    said_us: int,
    anchor_us: int,
    zone: tzinfo,
) -> MemoryTimes:
    """Read a memory's own words of time.

    Args:
        kind, importance: numbers of recalld.scoring.params.
        text: the content.
        event_us: when it happened or will happen.
        said_us: when it was said last, which its words are relative to.
        anchor_us: its newest sign of life.
        zone: in which days begin.

    Returns:
        The times; none for kinds other than STATE and EVENT.
    """
    if kind not in (STATE, EVENT):
        return NONE
    named = [w for w in windows(text, Standpoint(said_us, zone, looks_ahead=True)) if w.is_closed]
    start = min((window.start_us for window in named), default=0)
    end = max((window.end_us for window in named), default=0)
    past = 0
    if importance != PINNED:
        if kind == STATE:
            # "This week", said on a Saturday, does not end with the next day.
            span_us = max((w.end_us - w.start_us for w in named if w.end_us == end), default=0)
            least = said_us + span_us // 2
            past = max(end, least) if end > said_us else anchor_us + STATE_LIFE_US
        elif event_us > said_us:
            past = max(end, Standpoint(event_us, zone).day(0).end_us)
        elif start > said_us:
            past = end
    return MemoryTimes(start, end, past)
