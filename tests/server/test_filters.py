"""Filters from the wire, each condition against a plain test of the message."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.struct_pb2 import ListValue, Struct, Value

from recalld.server import filters
from recalld.server.errors import ContradictoryFilter, InvalidRequest
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, scope, timestamp

Memory = types_pb2.Memory
META: list[dict[str, Any]] = [
    {},
    {"n": 1, "s": "x", "b": True, "z": None, "o": {"p": 5}},
    {"n": 2.5, "s": "y", "b": False, "o": {"p": "five"}},
    {"n": "1", "s": ["x"], "o": 7},
]


async def fill(core: Core) -> list[Memory]:
    """Memories of user u that differ in everything that can be filtered on."""
    for number in range(8):
        made = memory(
            f"text {number}",
            kind=1 + number,
            key=("", "food.likes", "food", "foo", "caf\u00e9", "", "city", "")[number],
            importance=1 + number % 4,
            confidence=number / 8,
            stated_by=1 + number % 4,
            source=types_pb2.Source(session_id=f"s{number % 3}", uri=f"u{number % 2}"),
            event_time=NOW_US + number * DAY_US,
            language=("zh", "en", "fr")[number % 3],
            metadata=META[number % 4],
        )
        request = pb.RememberRequest(scope=scope("u"), memories=[pb.MemoryInput(memory=made)])
        request.scope.agent_id = ("", "a", "b")[number % 3]
        request.scope.session_id = f"w{number % 2}"
        request.scope.namespace = ("", "p", "p/q", "pq")[number % 4]
        core.clock.time_us = NOW_US + number * 1_000_000
        await core.ask("Remember", request)
    return await core.listed("u")


async def listed(core: Core, message: types_pb2.Filter) -> set[str]:
    """Contents that pass a filter."""
    request = pb.ListMemoriesRequest(scope=scope("u"), filter=message, statuses=range(1, 7))
    return {item.content for item in (await core.ask("ListMemories", request)).memories}


def span(start: int | None, end: int | None, unit_us: int) -> types_pb2.TimeRange:
    """A half-open time range around the fixed date."""
    fields = {"from": start, "to": end}
    times = {k: timestamp(NOW_US + v * unit_us) for k, v in fields.items() if v is not None}
    return types_pb2.TimeRange(**times)


def meta(path: str, **test: Any) -> dict[str, Any]:
    """A test on metadata."""
    return {"metadata": types_pb2.MetadataCondition(path=path, **test)}


def micros(message: Any) -> int:
    """Microseconds after the fixed date."""
    return int(message.ToMicroseconds()) - NOW_US


def plain(item: Memory) -> dict[str, Any]:
    """Metadata as Python."""
    return META[int(item.content.split()[1]) % 4]


HALF = META[2]["n"]
CASES: list[tuple[dict[str, Any], Callable[[Memory], bool]]] = [
    ({"kind": {"values": [1, 4]}}, lambda m: m.kind in (1, 4)),
    ({"key": {"values": ["food", "cafe\u0301"]}}, lambda m: m.key in ("food", "caf\u00e9")),
    ({"key": {"values": [""]}}, lambda m: m.key == ""),
    ({"key_prefix": "food"}, lambda m: m.key.startswith("food")),
    ({"namespace_prefix": "p"}, lambda m: m.scope.namespace in ("p", "p/q")),
    ({"namespace_prefix": "p/"}, lambda m: m.scope.namespace in ("p", "p/q")),
    ({"agent_id": {"values": ["", "b"]}}, lambda m: m.scope.agent_id in ("", "b")),
    ({"session_id": {"values": ["w1"]}}, lambda m: m.scope.session_id == "w1"),
    ({"source_session_id": {"values": ["s2"]}}, lambda m: m.source.session_id == "s2"),
    ({"source_uri": {"values": ["u0"]}}, lambda m: m.source.uri == "u0"),
    ({"stated_by": {"values": [2, 3]}}, lambda m: m.stated_by in (2, 3)),
    ({"importance": {"values": [4]}}, lambda m: m.importance == 4),
    ({"language": {"values": ["zh", "fr"]}}, lambda m: m.language in ("zh", "fr")),
    ({"min_confidence": 0.5}, lambda m: m.confidence >= 0.5),
    ({"event_time": span(2, 5, DAY_US)}, lambda m: 2 <= micros(m.event_time) / DAY_US < 5),
    ({"event_time": span(None, 1, DAY_US)}, lambda m: micros(m.event_time) < DAY_US),
    ({"create_time": span(3, None, 10**6)}, lambda m: micros(m.create_time) >= 3 * 10**6),
    ({"update_time": span(3, 4, 10**6)}, lambda m: micros(m.update_time) == 3 * 10**6),
    (meta("n", equals=Value(number_value=1)), lambda m: plain(m).get("n") == 1),
    (meta("n", equals=Value(string_value="1")), lambda m: plain(m).get("n") == "1"),
    (meta("b", equals=Value(bool_value=False)), lambda m: plain(m).get("b") is False),
    (meta("z", equals=Value(null_value=0)), lambda m: "z" in plain(m)),
    (
        meta("s", **{"in": ListValue(values=[Value(string_value=v) for v in "xy"])}),
        lambda m: plain(m).get("s") in ("x", "y"),
    ),
    (meta("o.p", exists=True), lambda m: isinstance(plain(m).get("o"), dict)),
    (meta("o.p", exists=False), lambda m: not isinstance(plain(m).get("o"), dict)),
    (meta("n", range={"gte": 1, "lt": 2.5}), lambda m: plain(m).get("n") == 1),
    (meta("n", range={"gt": 1, "lte": 2.5}), lambda m: plain(m).get("n") == HALF),
    (meta("o.p", range={"gt": 0}), lambda m: plain(m).get("o") == {"p": 5}),
]


async def test_each_condition(core: Core) -> None:
    """Each condition, in each list of a filter, passes what a plain test of the memory passes."""
    everything = await fill(core)
    names = {item.content for item in everything}
    assert len(names) == 8
    for fields, passes in CASES:
        expected = {item.content for item in everything if passes(item)}
        assert 0 < len(expected) < 8, fields
        one = condition(**fields)
        assert await listed(core, must(one)) == expected, fields
        assert await listed(core, types_pb2.Filter(should=[one])) == expected, fields
        assert await listed(core, types_pb2.Filter(must_not=[one])) == names - expected, fields


async def test_lists_combine(core: Core) -> None:
    """All of must, one of should and none of must_not hold together."""
    everything = await fill(core)
    found = await listed(
        core,
        types_pb2.Filter(
            must=[condition(event_time=span(1, 7, DAY_US)), condition(min_confidence=0.25)],
            should=[condition(kind={"values": [3]}), condition(kind={"values": [4, 5]})],
            must_not=[condition(key_prefix="caf")],
        ),
    )
    assert found == {m.content for m in everything if m.kind in (3, 4)}


async def test_ids(core: Core) -> None:
    """Ids of the user match; another user's, and unknown ones, match nothing."""
    everything = await fill(core)
    other = (await core.remember("v", memory("x"))).results[0].id
    wanted = condition(id={"values": [everything[0].id, other, "f" * 32]})
    assert await listed(core, must(wanted)) == {everything[0].content}
    assert await listed(core, must(condition(id={"values": [other]}))) == set()


MANY = [str(number) for number in range(257)]
BAD: list[tuple[dict[str, Any], str, type[InvalidRequest]]] = [
    ({}, "", InvalidRequest),
    ({"kind": {}}, ".kind.values", InvalidRequest),
    ({"kind": {"values": [0]}}, ".kind", InvalidRequest),
    ({"kind": {"values": [9]}}, ".kind", InvalidRequest),
    ({"stated_by": {"values": [5]}}, ".stated_by", InvalidRequest),
    ({"importance": {"values": [-1]}}, ".importance", InvalidRequest),
    ({"key": {}}, ".key.values", InvalidRequest),
    ({"key": {"values": MANY}}, ".key.values", InvalidRequest),
    ({"key": {"values": ["a\x00"]}}, ".key", InvalidRequest),
    ({"id": {"values": [""]}}, ".id", InvalidRequest),
    ({"agent_id": {"values": ["a" * 257]}}, ".agent_id", InvalidRequest),
    ({"key_prefix": "k" * 257}, ".key_prefix", InvalidRequest),
    ({"namespace_prefix": "\x1b"}, ".namespace_prefix", InvalidRequest),
    ({"min_confidence": float("nan")}, ".min_confidence", InvalidRequest),
    ({"event_time": types_pb2.TimeRange()}, ".event_time", InvalidRequest),
    ({"event_time": span(3, 3, 1)}, ".event_time", ContradictoryFilter),
    ({"create_time": span(3, 2, 1)}, ".create_time", ContradictoryFilter),
    ({"update_time": span(-(10**9), 0, DAY_US)}, ".update_time.from", InvalidRequest),
    (meta("", exists=True), ".metadata.path", InvalidRequest),
    (meta("a"), ".metadata", InvalidRequest),
    (meta("a", equals=Value()), ".metadata.equals", InvalidRequest),
    (meta("a", equals=Value(struct_value=Struct())), ".metadata.equals", InvalidRequest),
    (meta("a", equals=Value(number_value=float("inf"))), ".metadata.equals", InvalidRequest),
    (meta("a", **{"in": ListValue()}), ".metadata.in", InvalidRequest),
    (meta("a", range={}), ".metadata.range", InvalidRequest),
    (meta("a", range={"gte": float("nan")}), ".metadata.range.gte", InvalidRequest),
    (meta("a", range={"gte": 2, "lt": 2}), ".metadata.range", ContradictoryFilter),
    (meta("a", range={"gt": 2, "lte": 1}), ".metadata.range", ContradictoryFilter),
]


@pytest.mark.parametrize(("fields", "tail", "error"), BAD)
@pytest.mark.parametrize("part", ["must", "should", "must_not"])
def test_refusals(
    fields: dict[str, Any], tail: str, error: type[InvalidRequest], part: str
) -> None:
    """A condition that cannot be understood, or can match nothing, is refused by its path."""
    message = types_pb2.Filter(**{part: [condition(min_confidence=0), condition(**fields)]})
    with pytest.raises(InvalidRequest) as caught:
        filters.decode(message, "filter", lambda _: None)
    assert caught.value.field == f"filter.{part}[1]{tail}"
    assert type(caught.value) is error


def test_condition_limit() -> None:
    """Thirty-two conditions in all three lists together pass, thirty-three do not."""
    item = condition(min_confidence=0)
    filters.decode(types_pb2.Filter(must=[item] * 20, should=[item] * 12), "f", lambda _: None)
    with pytest.raises(InvalidRequest, match=r"33.*32"):
        filters.decode(
            types_pb2.Filter(must=[item] * 20, should=[item] * 12, must_not=[item]),
            "f",
            lambda _: None,
        )


@pytest.mark.parametrize("bounds", [{"gte": 2, "lte": 2}, {"gt": 1}, {"lt": -1, "gte": -2}])
def test_ranges_that_hold_a_number(bounds: dict[str, float]) -> None:
    """A range that some number lies in is no contradiction."""
    filters.decode(must(condition(**meta("a", range=bounds))), "f", lambda _: None)


def test_a_recent_filter_is_what_a_fresh_one_is() -> None:
    """A filter that comes again is the same, other kinds make another one, the oldest goes."""
    recent = filters.RecentFilters(kept_max=2)

    def decoded(kinds: tuple[int, ...], key: str = "tea") -> filters.Filter:
        wanted = must(condition(key=types_pb2.StringSet(values=[key])))
        request = recall_service_pb2.RecallRequest(filter=wanted, kinds=kinds)
        found = recent.of_recall(request, "", lambda _: None)
        assert found == filters.of_recall(request, "", lambda _: None)
        return found

    first = decoded((1,))
    assert decoded((1,)) is first
    assert decoded((2,)) is not first
    assert decoded((1,)) is first
    decoded((1,), "coffee")
    assert decoded((1,)) is first
    decoded((2,))
    decoded((2,), "milk")
    assert decoded((1,)) is not first


def test_ids_are_looked_up_anew() -> None:
    """The same ids mean other rows in another partition."""
    recent = filters.RecentFilters()
    request = recall_service_pb2.RecallRequest(
        filter=must(condition(id=types_pb2.StringSet(values=["a"])))
    )
    for label in (1, 2):
        found = recent.of_recall(request, "", lambda _, label=label: label)
        assert found.must == (filters.plain.LabelIn(frozenset({label})),)


def test_what_is_refused_is_refused_again() -> None:
    """A filter that cannot be understood is an error each time, with the path of this request."""
    recent = filters.RecentFilters()
    request = recall_service_pb2.RecallRequest(filter=must(types_pb2.Condition()))
    for path in ("", "requests[1]"):
        with pytest.raises(InvalidRequest, match=rf"{re.escape(path)}.*filter.must"):
            recent.of_recall(request, path, lambda _: None)
