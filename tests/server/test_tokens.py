"""Counting tokens."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.hash_embedder import HashEmbedder
from recalld.server import tokens
from recalld.server.errors import InvalidRequest

COUNT = HashEmbedder().count_tokens
TEXTS = st.text(st.sampled_from("ab c1，。中文字カ한𠀀é\n"), max_size=60)
WIDE = set("，。中文字カ한𠀀")


@given(TEXTS)
def test_estimate(text: str) -> None:
    """One token per CJK character, and one per four others, rounded up."""
    wide = sum(character in WIDE for character in text)
    assert tokens.estimate(text) == wide + math.ceil((len(text) - wide) / 4)


@given(TEXTS)
def test_conservative_is_the_larger(text: str) -> None:
    """The conservative count, which is the default, is never below the embedder's."""
    for name in ("", "conservative"):
        assert tokens.counter(name, COUNT)(text) == max(COUNT(text), tokens.estimate(text))


def test_embedder_count() -> None:
    """The embedder's own count can be asked for."""
    assert tokens.counter("embedder", COUNT)("two words") == 2


def test_unknown_name() -> None:
    """A tokenizer that is not known is refused, with those that are."""
    with pytest.raises(InvalidRequest, match=r"tokenizer.*conservative.*embedder"):
        tokens.counter("gpt-2", COUNT)
