"""Folding of near-duplicates."""

from __future__ import annotations

import pytest

from recalld.server.near_duplicates import fold
from recalld.storage.record import Importance, Kind, StatedBy
from tests.server.ranked import hit, record

SAME = [
    ("I am allergic to peanuts", "The user is allergic to peanuts."),
    ("Likes  TEA", "likes tea!"),
    ("用户喜欢喝茶。", "我喜欢喝茶"),
    ("用户的猫叫Momo", "我的猫叫Ｍｏｍｏ！"),
    ("it\u2019s late", "it's late"),
]
DIFFERENT = [
    ("pets are allowed", "pets are not allowed"),
    ("room 301", "room 302"),
    ("costs 1.5", "costs 15"),
    ("temperature is -5", "temperature is 5"),
    ("writes C++", "writes C"),
    ("he is allergic to nuts", "I am allergic to nuts"),
    ("Anna called Ben", "Ben called Anna"),
    ("我喜欢喝茶", "我不喜欢喝茶"),
    ("我们喜欢喝茶", "我喜欢喝茶"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_thing(first: str, second: str) -> None:
    """Case, width, punctuation, articles and the name of the user make no difference."""
    kept, folded = fold([hit(record(first, 1)), hit(record(second, 2))])
    assert (len(kept), len(folded)) == (1, 1)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_another_thing(first: str, second: str) -> None:
    """Another word, number, sign, negation or order makes another memory."""
    kept, folded = fold([hit(record(first, 1)), hit(record(second, 2))])
    assert (len(kept), len(folded)) == (2, 0)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"key": "home"}, {"key": "work"}),
        ({"conflict_group": "a"}, {"conflict_group": "b"}),
        ({"kind": Kind.EVENT, "event_time_us": 1}, {"kind": Kind.EVENT, "event_time_us": 2}),
    ],
)
def test_told_apart(left: dict[str, object], right: dict[str, object]) -> None:
    """Another key, conflict, or time of an event makes another memory."""
    kept, folded = fold([hit(record("in Leeds", 1, **left)), hit(record("in Leeds", 2, **right))])
    assert (len(kept), len(folded)) == (2, 0)


def test_which_one_is_kept() -> None:
    """The one that claims most speaks for all, in the place of the best ranked, in any order."""
    weak = hit(record("likes tea", 1, stated_by=StatedBy.AGENT, importance=Importance.LOW), 0.9)
    other = hit(record("has a cat", 2), 0.8)
    strong = hit(record("Likes tea.", 3, importance=Importance.HIGH), 0.1)
    assert fold([weak, other, strong]) == ([strong, other], [weak])
    assert fold([other, strong, weak]) == ([other, strong], [weak])
