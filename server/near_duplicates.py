"""Memories that tell a reader nothing which another one does not.

Two are near-duplicates when their words are the same in the same order, apart from case, width,
punctuation around words, articles, and how the user is named ("I am allergic to peanuts", "The user
is allergic to peanuts."). Any other word, number or negation makes them two, and so does another
key. Nothing is compared by vectors: "room 301" is very near to "room 302".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from recalld.server.hits import RankedHit
from recalld.server.partition import TOPIC_KINDS
from recalld.storage.record import MemoryRecord, StatedBy

EDGES = ".,;:!?\"'`()[]{}…“”‘’«»"
WIDE_PUNCTUATION = re.compile("[、。〈-】〔-〟・，．：；？！（）]")
USER_WORDS = frozenset(["i", "my", "user", "user's", "the", "a", "an", "am", "is", "are"])
USER_WORDS_ZH = re.compile("^(?:这位|该)?(?:用户|我)的?")


def words_of(text: str) -> str:
    """What a text says, in the one form in which near-duplicates are equal."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    words = [word.strip(EDGES) for word in WIDE_PUNCTUATION.sub(" ", folded).split()]
    telling = [word for word in words if word and word not in USER_WORDS]
    return USER_WORDS_ZH.sub("", " ".join(telling)) or folded.strip()


def fold(hits: Iterable[RankedHit]) -> tuple[list[RankedHit], list[RankedHit]]:
    """Keep one hit of each group of near-duplicates.

    Which one depends on the memories alone, never on the ranking; it stands in the place of the
    group's best. Events and documents of different times are told apart, and so are memories of
    different conflicts.

    Returns:
        The hits kept, in their order, and those folded into them.
    """
    groups: dict[object, list[RankedHit]] = {}
    for hit in hits:
        groups.setdefault(_identity(hit.record), []).append(hit)
    kept = [max(group, key=lambda hit: _weight(hit.record)) for group in groups.values()]
    chosen = set(kept)
    return kept, [hit for group in groups.values() for hit in group if hit not in chosen]


def _identity(record: MemoryRecord) -> object:
    """What near-duplicates have in common."""
    occurrence = record.event_time_us if record.kind in TOPIC_KINDS else None
    return words_of(record.content), record.key, record.conflict_group, occurrence


def _weight(record: MemoryRecord) -> tuple[int, bool, float, int, int]:
    """Which of several near-duplicates speaks for all: the one that claims most."""
    return (
        record.importance,
        record.stated_by == StatedBy.USER,
        record.confidence,
        record.event_time_us,
        record.label,
    )
