"""Which of two values of one slot holds: whose word it is, then when it was said, then how sure.

Pure comparisons of two records; nothing here changes one. A newer claim of a weaker speaker never
wins and never vanishes: it is contested. Equal records in every respect are a tie, unless each was
said as it arrived: then the order of arrival is the order of saying.
"""

from __future__ import annotations

from enum import Enum

from recalld.server.codec import shown_status
from recalld.server.partition import CURRENT
from recalld.storage.record import MemoryRecord, StatedBy

RANK = {StatedBy.USER: 3, StatedBy.TOOL: 2, StatedBy.IMPORT: 1, StatedBy.AGENT: 0}
"""Precedence of speakers: what the user said, what a tool returned, what was loaded, a guess."""


class Standing(Enum):
    """How a value stands towards a rival for its slot."""

    WINS = "takes the slot"
    EARLIER = "was replaced by the rival before it arrived"
    CONTESTED = "newer than the rival, but a weaker claim"
    TIED = "no clear winner"


def rank(record: MemoryRecord) -> int:
    """Precedence of a record's speaker, 0 to 3."""
    return RANK[StatedBy(record.stated_by)]


def holds_now(record: MemoryRecord, now_us: int) -> bool:
    """Whether a record is current and has not run out."""
    return shown_status(record, now_us) in CURRENT


def last_said_us(record: MemoryRecord) -> int:
    """When a value was last said to hold."""
    return max(record.event_time_us, record.confirm_time_us)


def start_us(record: MemoryRecord) -> int:
    """From when on a value holds."""
    return record.valid_from_us or record.event_time_us


def standing(record: MemoryRecord, rival: MemoryRecord, now_us: int) -> Standing:
    """How an arriving value stands towards a current one of its slot."""
    said_us, rival_us = last_said_us(record), last_said_us(rival)
    if said_us != rival_us and _said_on_arrival(record, rival):
        # Labels are given out as values arrive; no jump of the clock changes their order.
        said_us, rival_us = record.label, rival.label
    if rank(record) > rank(rival):
        return Standing.WINS
    if said_us < rival_us:
        return Standing.EARLIER
    if rank(record) < rank(rival):
        return Standing.CONTESTED if holds_now(rival, now_us) else Standing.WINS
    same = (record.content_hash, record.value_json) == (rival.content_hash, rival.value_json)
    if said_us > rival_us or record.confidence > rival.confidence or same:
        return Standing.WINS
    if record.confidence < rival.confidence:
        return Standing.EARLIER
    return Standing.WINS if _said_on_arrival(record, rival) else Standing.TIED


def _said_on_arrival(*records: MemoryRecord) -> bool:
    """Whether each record's event time is the time at which it was stored."""
    return all(record.event_time_us == record.create_time_us for record in records)
