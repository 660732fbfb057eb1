"""Things that bear numbers: whether two statements are about neighbours, like rooms 301 and 302.

Pure functions of claims, by words alone. A number is a name where a statement begins with it and
the word before it is no preposition: "room 301 has a projector", not "the meeting is at 10" or "the
key is in box 774", where the number is what is said.
"""

from __future__ import annotations

from recalld.index.analyzer import STOP_WORDS
from recalld.server.claims import Claim

RELATING = frozenset("在是有到从共约花为和给才只就已每第过于")
WORD_COUNT_MAX, HAN_COUNT_MAX = 2, 4
"""Words, or Chinese characters, before a number that a statement begins with."""


def are_apart(one: Claim, other: Claim) -> bool:
    """Whether both begin with a thing of one sort, of different numbers."""
    begins, other_begins = _numbered(one), _numbered(other)
    if begins is None or other_begins is None:
        return False
    (thing, number), (other_thing, other_number) = begins, other_begins
    return thing == other_thing and number != other_number


def _numbered(claim: Claim) -> tuple[str, str] | None:
    """The thing that a statement begins with and the number it bears, or None."""
    words = claim.words[: HAN_COUNT_MAX + 1]
    place = next((i for i, word in enumerate(words) if word in claim.numbers), 0)
    before = words[:place]
    is_han = all("\u3400" <= word <= "\u9fff" for word in before)
    if not before or (place > WORD_COUNT_MAX and not is_han):
        return None
    is_name = before[-1] not in STOP_WORDS and before[-1] not in RELATING
    return (before[-1], words[place]) if is_name else None
