"""Filters that can match nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.conditions import (
    Condition,
    Filter,
    LabelIn,
    NumberIn,
    StringIn,
    StringPrefix,
    TimeIn,
)
from recalld.server import contradictions
from recalld.server.errors import ContradictoryFilter
from tests.server.core import Core, condition, memory, must

KINDS = frozenset(range(1, 9))


def kind(*values: int) -> NumberIn:
    """A condition on the kind."""
    return NumberIn("kind", frozenset(values))


def keys(*values: str) -> StringIn:
    """A condition on the key."""
    return StringIn("key", frozenset(values))


REFUSED: list[tuple[Filter, str]] = [
    (Filter(must=(kind(1, 2), kind(3))), "f.must[1]"),
    (Filter(must=(kind(1),), must_not=(kind(5), kind(1))), "f.must_not[1]"),
    (Filter(must=(kind(1),), must_not=(kind(1, 2),)), "f.must_not[0]"),
    (Filter(must=(keys("a"), keys("b"))), "f.must[1]"),
    (Filter(must=(keys("a", "ab"), StringPrefix("key", "b"))), "f.must[1]"),
    (Filter(must=(StringPrefix("key", "b"), keys("a"))), "f.must[1]"),
    (Filter(must=(StringPrefix("key", "ab"), StringPrefix("key", "ac"))), "f.must[1]"),
    (
        Filter(must=(StringPrefix("namespace", "p/a"), StringPrefix("namespace", "p/ab"))),
        "f.must[1]",
    ),
    (Filter(must=(keys("ab", "ac"),), must_not=(StringPrefix("key", "a"),)), "f.must_not[0]"),
    (Filter(must=(TimeIn("event_time", 10), TimeIn("event_time", None, 10))), "f.must[1]"),
    (Filter(should=(kind(1), kind(2)), must_not=(kind(1, 2),)), "f.should"),
    (
        Filter(must=(TimeIn("event_time", 1, 2),), must_not=(TimeIn("event_time", 1, 2),)),
        "f.must_not[0]",
    ),
]
TAKEN: list[Filter] = [
    Filter(),
    Filter(must=(kind(1, 2), kind(2, 3))),
    Filter(must=(kind(1, 2),), must_not=(kind(1),)),
    Filter(must=(keys("a"), StringIn("agent_id", frozenset("b")))),
    Filter(must=(keys("a", "b"), StringPrefix("key", "b"))),
    Filter(must=(StringPrefix("key", "ab"), StringPrefix("key", "a"))),
    Filter(must=(StringPrefix("namespace", "p/"), StringPrefix("namespace", "p"))),
    Filter(must=(keys("a"), StringPrefix("namespace", "b"))),
    Filter(must=(keys("a", "b"),), must_not=(StringPrefix("key", "a"),)),
    Filter(must=(TimeIn("event_time", 10), TimeIn("event_time", None, 11))),
    Filter(must=(TimeIn("event_time", 10), TimeIn("create_time", None, 10))),
    Filter(should=(kind(1), kind(2)), must_not=(kind(1),)),
    Filter(must=(LabelIn(frozenset()),), must_not=(LabelIn(frozenset()),)),
]


@pytest.mark.parametrize(("filter_", "field"), REFUSED)
def test_contradictions_are_named(filter_: Filter, field: str) -> None:
    """A filter that nothing can pass is refused, and the condition at odds is named."""
    with pytest.raises(ContradictoryFilter) as caught:
        contradictions.refuse(filter_, "f")
    assert caught.value.field == field


@pytest.mark.parametrize("filter_", TAKEN)
def test_what_can_match_is_taken(filter_: Filter) -> None:
    """A filter that some memory could pass is never refused."""
    contradictions.refuse(filter_, "f")


sets = st.frozensets(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3)


@given(*[st.lists(sets, max_size=3)] * 3)
def test_sets_of_kinds_are_judged_exactly(
    wanted: list[frozenset[int]], any_of: list[frozenset[int]], banned: list[frozenset[int]]
) -> None:
    """What is refused passes no kind at all; every kind tried one by one says so."""
    parts: list[tuple[Condition, ...]] = [
        tuple(NumberIn("kind", values) for values in part) for part in (wanted, any_of, banned)
    ]
    passing = [
        number
        for number in KINDS
        if all(number in values for values in wanted)
        and (not any_of or any(number in values for values in any_of))
        and not any(number in values for values in banned)
    ]
    try:
        contradictions.refuse(Filter(*parts), "f")
    except ContradictoryFilter:
        assert passing == []


async def test_kinds_against_the_filter(core: Core) -> None:
    """Kinds of a recall that its filter cannot hold are refused under the name `kinds`."""
    await core.remember("u", memory("likes tea"))
    with pytest.raises(ContradictoryFilter) as caught:
        await core.recall("u", kinds=[2], filter=must(condition(kind={"values": [1]})))
    assert caught.value.field == "kinds"
    assert len((await core.recall("u", kinds=[1], filter=must())).hits) == 1
