"""One form for a text's many spellings, so that patterns need to know one only.

Full-width forms, digits of other scripts and long runs of Chinese numerals become ASCII; characters
that nobody sees are taken out. It finds nothing itself.

Invariants: every character of the folded text stands for one of the original, in order.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

SPACES = "\u00a0\u2000-\u200a\u202f\u205f\u3000"
DASHES = "\u2010-\u2015\u2212\ufe58\ufe63\u30fb\u00b7\u2022\u2027"
NUMERALS = "〇零一二三四五六七八九幺"
NUMERAL_RUN_MIN = 11
"""Shorter runs are ordinary words: a year, a count."""

# Marks that end a clause stay: in Chinese they part a value from what follows it.
_TABLE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，；！？"}
_FOLDED = re.compile(rf"[\uff01-\uff5e{SPACES}{DASHES}]")
_SPACE = re.compile(f"[{SPACES}]")
_DASH = re.compile(f"[{DASHES}]")
_UNSEEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
)
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
_NUMERAL_RUN = re.compile(f"[{NUMERALS}]{{{NUMERAL_RUN_MIN},}}")
_NUMERAL_DIGITS = str.maketrans(NUMERALS, "001234567891")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in its one form.

    Attributes:
        text: what patterns look at.
        offsets: place in the original of each character, and of the end; None: the same places.
    """

    text: str
    offsets: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that a part of the folded text, not empty, stands for."""
        if self.offsets is None:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1


def fold(text: str) -> Folded:
    """The one form of a text."""
    if text.isascii():
        return Folded(text)
    offsets: tuple[int, ...] | None = None
    if _UNSEEN.search(text):
        kept = [place for place, letter in enumerate(text) if not _UNSEEN.match(letter)]
        offsets = (*kept, len(text))
        text = "".join(text[place] for place in kept)
    if _FOLDED.search(text):
        text = _DASH.sub("-", _SPACE.sub(" ", text.translate(_TABLE)))
    if _FOREIGN_DIGIT.search(text):
        text = _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    text = _NUMERAL_RUN.sub(lambda found: found[0].translate(_NUMERAL_DIGITS), text)
    return Folded(text, offsets)
