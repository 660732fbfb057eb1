"""Steps of reported cases as wire messages."""

from datetime import UTC, datetime, timedelta

import pytest

from recalld.bench import case_wire
from recalld.v1.types_pb2 import (
    Importance,
    Memory,
    MemoryKind,
    MemoryStatus,
    Scope,
    StatedBy,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_scope_has_defaults_and_a_prefix():
    """Missing parts are u1 and a1; the user stands under the case's prefix."""
    assert case_wire.scope_of({}, "c1") == Scope(user_id="c1/u1", agent_id="a1")
    named = {"scope": {"user_id": "a:b", "session_id": "s"}}
    assert case_wire.scope_of(named, "c1").user_id == "c1/a:b"
    assert case_wire.scope_of(named, "c1").session_id == "s"


def test_blank_user_stays_blank():
    """A blank user is a test of the server's check, so nothing is put before it."""
    assert case_wire.scope_of({"scope": {"user_id": "  "}}, "c1").user_id == "  "


def test_step_becomes_a_memory():
    """Every field of a step has its place on the wire."""
    step = {
        "kind": "state",
        "text": "x",
        "key": "a.b",
        "value": "v",
        "importance": 0.95,
        "confidence": 0.5,
        "source": "tool",
        "meta": {"n": 1},
        "expires_in": 60,
    }
    (memory,) = case_wire.memories_of(step, "x", -100, NOW)
    assert memory.kind == MemoryKind.MEMORY_KIND_STATE
    assert (memory.key, memory.content, memory.confidence) == ("a.b", "x", 0.5)
    assert memory.value["value"] == "v"
    assert memory.importance == Importance.IMPORTANCE_HIGH
    assert memory.stated_by == StatedBy.STATED_BY_TOOL
    assert memory.metadata["n"] == 1
    assert memory.event_time.ToDatetime(UTC) == NOW - timedelta(seconds=100)
    assert memory.expire_time.ToDatetime(UTC) == NOW - timedelta(seconds=40)


def test_importance_bounds():
    """Below 0.35 is low, below 0.75 medium, from there on high."""
    values = {0.34: "low", 0.35: "medium", 0.74: "medium", 0.75: "high"}
    for value, name in values.items():
        assert case_wire.importance_of(value) == case_wire.importance_of(name)


def test_text_may_be_described():
    """Prefix, repeated filler and suffix make a text."""
    described = {"prefix": "a", "filler": "b", "times": 3, "suffix": "c"}
    assert case_wire.text_of(described) == "abbbc"


def test_blank_text_goes_as_it_is():
    """A blank text is a test of the server's check and is not cleaned."""
    (memory,) = case_wire.memories_of({"kind": "fact"}, "  \n", 0, NOW)
    assert memory.content == "  \n"


def test_overlong_text_becomes_several_memories():
    """A text that is longer than one memory may be is stored in pieces."""
    pieces = case_wire.memories_of({"kind": "fact"}, "word " * 2000, 0, NOW)
    assert len(pieces) == 2


def test_filters_become_conditions():
    """Each filter is a condition that has to hold; both times make one range."""
    filters = {
        "kind": ["fact"],
        "source": ["user"],
        "session_id": "s",
        "meta": {"order": 3},
        "time_from": {"t": -60, "offset": "+08:00"},
        "time_to": 0,
    }
    conditions = case_wire.filter_of(filters, NOW).must
    tests = [c.WhichOneof("test") for c in conditions]
    assert tests == ["kind", "stated_by", "session_id", "metadata", "event_time"]
    assert list(conditions[0].kind.values) == [MemoryKind.MEMORY_KIND_FACT]
    assert list(conditions[2].session_id.values) == ["s"]
    assert conditions[3].metadata.equals.number_value == 3
    start = getattr(conditions[4].event_time, "from")
    assert start.ToDatetime(UTC) == NOW - timedelta(seconds=60)
    assert conditions[4].event_time.to.ToDatetime(UTC) == NOW


def test_unknown_filter_is_refused():
    """A filter without a counterpart is an error, not ignored."""
    with pytest.raises(ValueError, match="unknown filter 'colour'"):
        case_wire.filter_of({"colour": "red"}, NOW)


def test_vector_may_have_the_wrong_width():
    """A unit vector is as wide as the embedder's plus the difference asked for."""
    step = {"vector": {"gen": "unit", "dim_delta": 1}, "k": 3, "min_score": 0}
    request = case_wire.recall_of(step, "c1", NOW, 8)
    assert list(request.vector.floats.values) == [1.0] + [0.0] * 8
    assert request.HasField("min_score")


def test_memory_is_seen_with_marks_and_fields():
    """Status and groups become marks, wire values become those of the case."""
    memory = Memory(
        id="1",
        content="x",
        status=MemoryStatus.MEMORY_STATUS_SUPERSEDED,
        conflict_group="g",
        stated_by=StatedBy.STATED_BY_AGENT,
        importance=Importance.IMPORTANCE_HIGH,
    )
    memory.event_time.FromDatetime(NOW - timedelta(seconds=5))
    seen = case_wire.seen_of(memory, {"m1", "m2"}, NOW)
    assert seen.marks == {"superseded", "conflict", "duplicate"}
    assert not seen.live
    assert (seen.fields["t"], seen.fields["source"]) == (-5, "agent")


def test_expected_importance_is_compared_as_a_level():
    """A number in an expectation is the level that the server keeps, nested ones too."""
    fields = {"fields": {"m1": {"importance": 0.7, "t": -1}}}
    level = {"fields": {"m1": {"importance": "IMPORTANCE_MEDIUM", "t": -1}}}
    assert case_wire.expected_on_wire(fields) == level
    nested = case_wire.expected_on_wire({"any_of": [fields], "should": fields})
    assert nested == {"any_of": [level], "should": level}
