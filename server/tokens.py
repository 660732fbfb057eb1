"""Counting tokens for a budget that has to hold for a model nobody named.

`conservative` is the larger of the embedder's own count and one token per CJK character plus one
per four other
characters: tokenizers of language models differ, and a budget that is over-run cuts off the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from recalld.server.errors import InvalidRequest

CONSERVATIVE, EMBEDDER = "conservative", "embedder"
NAMES = (CONSERVATIVE, EMBEDDER)
CJK = re.compile(
    "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


def estimate(text: str) -> int:
    """One token per CJK character, one per four others, rounded up."""
    wide = len(CJK.findall(text))
    return wide - (-(len(text) - wide) // 4)


def counter(name: str, embedder_count: Callable[[str], int]) -> Callable[[str], int]:
    """How the named tokenizer counts.

    Raises:
        InvalidRequest: no tokenizer of that name.
    """
    if name in ("", CONSERVATIVE):
        return lambda text: max(embedder_count(text), estimate(text))
    if name == EMBEDDER:
        return embedder_count
    raise InvalidRequest("tokenizer", f"{name!r} is not known; one of {', '.join(NAMES)} is")
