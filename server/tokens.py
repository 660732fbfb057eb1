"""Counting tokens for a budget that has to hold for a model nobody named.

`conservative` is the larger of the embedder's own count and one token per CJK character plus one
per four other characters: tokenizers of language models differ, and a budget that is over-run cuts
off the prompt. `embedder` is the embedder's own count alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from recalld.server.errors import InvalidRequest

CONSERVATIVE, EMBEDDER = "conservative", "embedder"
NAMES = (CONSERVATIVE, EMBEDDER)
CJK = re.compile(
    "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


class Measure(NamedTuple):
    """What a text adds to a count; measures of texts add up to that of the texts joined by lines.

    Attributes:
        model: tokens by the embedder.
        wide: CJK characters.
        other: other characters.
    """

    model: int = 0
    wide: int = 0
    other: int = 0

    def plus(self, other: Measure) -> Measure:
        """The measure of both texts."""
        return Measure(self.model + other.model, self.wide + other.wide, self.other + other.other)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """One way of counting, for one context: what it measured once it does not measure again.

    Attributes:
        name: one of NAMES.
        model: tokens of a text by the embedder.
    """

    name: str
    model: Callable[[str], int]
    _measured: dict[str, Measure] = field(default_factory=dict, init=False, repr=False)

    def measure(self, text: str) -> Measure:
        """Measure a text; rounding is left to `total`, so that it happens once."""
        known = self._measured.get(text)
        if known is None:
            wide = len(CJK.findall(text))
            known = self._measured[text] = Measure(self.model(text), wide, len(text) - wide)
        return known

    def total(self, measure: Measure) -> int:
        """Tokens of what was measured."""
        if self.name == EMBEDDER:
            return measure.model
        return max(measure.model, measure.wide - (-measure.other // 4))

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.total(self.measure(text))


def tokenizer(name: str, model: Callable[[str], int]) -> Tokenizer:
    """The tokenizer of a name; "" is the conservative one.

    Raises:
        InvalidRequest: no tokenizer of that name.
    """
    if name not in ("", *NAMES):
        raise InvalidRequest("tokenizer", f"{name!r} is not known; one of {', '.join(NAMES)} is")
    return Tokenizer(name or CONSERVATIVE, model)
