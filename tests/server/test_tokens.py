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
TEXTS = st.text(st.sampled_from("ab c1，。中文字カ한𠀀é\n🍵"), max_size=60)
WIDE = set("，。中文字カ한𠀀")


def rough(text: str) -> int:
    """One token per CJK character, and one per four others, rounded up."""
    wide = sum(character in WIDE for character in text)
    return wide + math.ceil((len(text) - wide) / 4)


@given(TEXTS)
def test_conservative_is_the_larger(text: str) -> None:
    """The conservative count, the default, is the larger of the embedder's and the rough one."""
    for name in ("", "conservative"):
        chosen = tokens.tokenizer(name, COUNT)
        assert chosen.name == "conservative"
        assert chosen.count(text) == max(COUNT(text), rough(text))


@given(TEXTS)
def test_embedder_count(text: str) -> None:
    """The embedder's own count can be asked for."""
    assert tokens.tokenizer("embedder", COUNT).count(text) == COUNT(text)


@given(st.lists(TEXTS, max_size=8), st.sampled_from(tokens.NAMES))
def test_measures_add_up(lines: list[str], name: str) -> None:
    """What lines measure together is what their text measures: rounding happens once."""
    chosen = tokens.tokenizer(name, COUNT)
    whole = tokens.Measure()
    for line in lines:
        whole = whole.plus(chosen.measure(line + "\n"))
    assert chosen.total(whole) == chosen.count("".join(line + "\n" for line in lines))


def test_unknown_name() -> None:
    """A tokenizer that is not known is refused, with those that are."""
    with pytest.raises(InvalidRequest, match=r"tokenizer.*conservative.*embedder"):
        tokens.tokenizer("gpt-2", COUNT)
