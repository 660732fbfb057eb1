"""What was said last, and the talk around it.

A request is more than its last line, and less than all that was pasted before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from recalld.server.tokens import CJK

REQUEST_TOKENS_MAX = 48
"""Relevance is trained on requests up to this long; of dialogues and documents it knows nothing."""
LAST_WORDS_TOKENS_MAX = 24
TURN_COUNT = 2
"""Recent turns that are embedded together with the request."""
EARLIER_CHARS_MAX = 4_000
"""Of the recent turns, what is looked up word by word."""
TOKENS_PER_CJK, TOKENS_PER_OTHER = 0.65, 0.23

_SENTENCE_END = re.compile(r"(?<=[。！？!?…\n])\s*|(?<=\.)\s+")


def size(text: str) -> float:
    """Tokens of a text, roughly: by the default model, measured on both languages."""
    wide = len(CJK.findall(text))
    return wide * TOKENS_PER_CJK + (len(text) - wide) * TOKENS_PER_OTHER


def last_words(text: str) -> str:
    """What a long text ends with: that is where it asks. A short one is returned whole.

    Returns:
        As many of the last sentences as fit into `LAST_WORDS_TOKENS_MAX`, at least one; of one
        that is itself too long for a request, the end.
    """
    if size(text) <= REQUEST_TOKENS_MAX:
        return text
    text = text.strip()
    starts = [0, *(end.end() for end in _SENTENCE_END.finditer(text) if end.end() < len(text))]
    last = text[starts.pop() :]
    while starts and size(longer := text[starts.pop() :]) <= LAST_WORDS_TOKENS_MAX:
        last = longer
    if size(last) > REQUEST_TOKENS_MAX:
        last = last[-int(len(last) * LAST_WORDS_TOKENS_MAX / size(last)) :]
    return last


class Spoken(NamedTuple):
    """What is embedded of a request.

    Attributes:
        texts: how it ends, and the whole of what is talked about; one where both are the same.
        is_short: whether the whole is no more than relevance knows.
    """

    texts: tuple[str, ...]
    is_short: bool


UNSPOKEN = Spoken((), is_short=True)


def speak(text: str, turns: Sequence[str]) -> Spoken:
    """What is embedded of a request.

    Args:
        text: the request.
        turns: before it, oldest first; of long ones only the end is taken.
    """
    asking = last_words(text)
    if not turns:
        # Only a text that is longer than that has an end of its own.
        return Spoken((text,), is_short=True) if asking == text else Spoken((asking, text), False)
    whole = " ".join([*map(last_words, turns[-TURN_COUNT:]), text])
    return Spoken((asking, whole), size(whole) <= REQUEST_TOKENS_MAX)


def earlier_words(turns: Sequence[str]) -> str:
    """The words of all turns, the last ones where they are many."""
    return " ".join(turns)[-EARLIER_CHARS_MAX:]
