"""Between wire messages and records."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import codec, limits
from recalld.server.call import Call
from recalld.server.errors import InvalidRequest
from recalld.storage.record import MemoryRecord, Scope, Source, Status
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, FixedClock, memory, scope

CALL = Call("acme", True, "r", NOW_US, math.inf, FixedClock())
SCOPE = Scope("acme", "ann", "agent", "session", "a/b")
NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=12)
KEYS = st.text("abc._字", max_size=8)
TIMES = st.integers(NOW_US - 900 * DAY_US, NOW_US)
NUMBERS = st.integers(-9, 9) | st.floats(-1, 1).map(lambda number: number + 0.0)
"""Without -0.0, which is kept as 0, as in canonical JSON (RFC 8785, 3.2.2.3)."""
OBJECTS = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3),
    st.none() | st.booleans() | NUMBERS | st.text("a字", max_size=3),
    max_size=3,
)
MEMORIES = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.integers(1, 8),
        "key": KEYS,
        "value": OBJECTS,
        "relevant_when": st.lists(st.text("ab字", min_size=1, max_size=9), max_size=8),
        "importance": st.integers(1, 4),
        "confidence": st.floats(0, 1),
        "stated_by": st.integers(1, 4),
        "source": st.builds(
            types_pb2.Source,
            session_id=NAMES,
            turn=st.integers(0, 2**31 - 1),
            message_id=NAMES,
            uri=NAMES,
        ),
        "visibility": st.integers(1, 3),
        "event_time": TIMES,
        "valid_from": TIMES,
        "valid_to": st.integers(NOW_US + 1, NOW_US + 900 * DAY_US),
        "expire_time": TIMES,
        "language": st.sampled_from(["zh", "en", "zh-Hant-TW"]),
        "metadata": OBJECTS,
        "key_cardinality": st.integers(1, 2),
    },
)


def decoded(made: types_pb2.Memory) -> MemoryRecord:
    """The record of a message."""
    draft = codec.draft(pb.MemoryInput(memory=made), SCOPE, CALL, "memories[3]", 4, "model")
    return draft.record


def shown(record: MemoryRecord) -> types_pb2.Memory:
    """The message of a record, as soon as it is stored."""
    stored = dataclasses.replace(record, label=7, id="f" * 32, revision=9)
    return codec.memory(stored, CALL.now_us)


@given(st.text("ab 字1", min_size=1, max_size=20).filter(str.strip), MEMORIES)
def test_every_given_field_comes_back(content: str, fields: dict[str, Any]) -> None:
    """Every field that a writer can set comes back as it was given."""
    made = memory(content, **fields)
    back = shown(decoded(made))
    expected = types_pb2.Memory()
    expected.CopyFrom(made)
    if not expected.key:
        expected.key_cardinality = 0
    for field in made.DESCRIPTOR.fields:
        if field.name in fields or field.name == "content":
            given_value = getattr(expected, field.name)
            if field.name in ("source", "value", "metadata") and not given_value.ByteSize():
                assert not back.HasField(field.name)
            else:
                assert getattr(back, field.name) == given_value, field.name


def test_defaults() -> None:
    """What is not given is a shared, certain, medium fact of the user, said now."""
    record = decoded(memory("字 and letters"))
    back = shown(record)
    kind, level = types_pb2.MemoryKind, types_pb2.Importance
    assert back.kind == kind.MEMORY_KIND_FACT
    assert back.importance == level.IMPORTANCE_MEDIUM
    assert back.stated_by == types_pb2.StatedBy.STATED_BY_USER
    assert back.visibility == types_pb2.Visibility.VISIBILITY_SHARED
    assert (back.confidence, back.language) == (1.0, "zh")
    for name in ("event_time", "create_time", "update_time"):
        assert getattr(back, name).ToMicroseconds() == NOW_US
    for name in ("valid_from", "valid_to", "confirm_time", "expire_time", "last_used_time"):
        assert not back.HasField(name)
    for name in ("source", "value", "metadata"):
        assert not back.HasField(name)


def test_scope_and_output_fields() -> None:
    """A record goes out with its scope, its number of writes and its fate."""
    record = MemoryRecord(
        label=16,
        id="a" * 32,
        scope=SCOPE,
        kind=1,
        content="x",
        source=Source("s", 4, "m", "u"),
        event_time_us=NOW_US,
        create_time_us=1,
        update_time_us=2,
        confirm_time_us=3,
        last_used_time_us=4,
        access_count=5,
        status=Status.SUPERSEDED,
        superseded_by="b" * 32,
        conflict_group="g",
        revision=255,
    )
    back = codec.memory(record, NOW_US)
    assert back.scope == types_pb2.Scope(
        user_id="ann", agent_id="agent", session_id="session", namespace="a/b"
    )
    assert [back.create_time.nanos, back.update_time.nanos] == [1_000, 2_000]
    assert [back.confirm_time.nanos, back.last_used_time.nanos] == [3_000, 4_000]
    assert (back.access_count, back.revision) == (5, 255)
    assert (back.superseded_by, back.conflict_group) == ("b" * 32, "g")
    assert back.status == types_pb2.MemoryStatus.MEMORY_STATUS_SUPERSEDED
    assert back.source == types_pb2.Source(session_id="s", turn=4, message_id="m", uri="u")


def test_etag_changes_with_every_write() -> None:
    """Two writes of a record, and two records of a write, have different etags."""
    record = decoded(memory("x"))
    tags = {
        codec.etag(dataclasses.replace(record, label=label, revision=revision))
        for label in (1, 17)
        for revision in (1, 17)
    }
    assert len(tags) == 4


@pytest.mark.parametrize("name", ["expire_time", "valid_to"])
def test_ended_records_are_shown_as_expired(name: str) -> None:
    """A current record is shown as EXPIRED from its end on, and no earlier."""
    record = decoded(memory("x", event_time=NOW_US - DAY_US, **{name: NOW_US}))
    assert codec.shown_status(record, NOW_US - 1) == Status.ACTIVE
    assert codec.shown_status(record, NOW_US) == Status.EXPIRED
    forgotten = dataclasses.replace(record, status=Status.FORGOTTEN)
    assert codec.shown_status(forgotten, NOW_US) == Status.FORGOTTEN


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Likes  tea", "likes tea\n", True),
        ("ＡＢＣ", "abc", True),
        ("room 301", "room 302", False),
        ("is allowed", "is not allowed", False),
    ],
)
def test_content_hash(first: str, second: str, same: bool) -> None:
    """Case, width and white space do not count; numbers and negations do."""
    assert (codec.content_hash(first) == codec.content_hash(second)) == same


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"confidence": math.nan}, "confidence"),
        ({"kind": 9}, "kind"),
        ({"importance": 5}, "importance"),
        ({"stated_by": -1}, "stated_by"),
        ({"visibility": 4}, "visibility"),
        ({"key_cardinality": 3}, "key_cardinality"),
        ({"key": "k" * 257}, "key"),
        ({"language": "l" * 36}, "language"),
        ({"relevant_when": ["c"] * 9}, "relevant_when"),
        ({"relevant_when": ["fine", " "]}, "relevant_when[1]"),
        ({"source": types_pb2.Source(turn=-1)}, "source.turn"),
        ({"source": types_pb2.Source(uri="u" * 1025)}, "source.uri"),
        ({"event_time": -(10**16)}, "event_time"),
        ({"valid_from": NOW_US, "valid_to": NOW_US}, "valid_to"),
        ({"event_time": NOW_US, "valid_to": NOW_US - 1}, "valid_to"),
        ({"metadata": {"k": "v" * 16384}}, "metadata"),
        ({"value": {"k": math.inf}}, "value.k"),
    ],
)
def test_refusals_name_the_field(fields: dict[str, Any], named: str) -> None:
    """A field that is malformed or over its limit is refused by its path."""
    with pytest.raises(InvalidRequest) as caught:
        decoded(memory("x", **fields))
    assert caught.value.field == f"memories[3].memory.{named}"


def test_metadata_limit_is_exact() -> None:
    """Metadata of 16384 bytes as compact JSON pass, one more does not."""
    room = limits.STRUCT_BYTES_MAX - len('{"k":""}')
    for extra, fits in ((0, True), (1, False)):
        message = Struct()
        message.update({"k": "v" * (room + extra)})
        if fits:
            assert len(codec.struct_json(message, "f")) == limits.STRUCT_BYTES_MAX
        else:
            with pytest.raises(InvalidRequest, match="16384"):
                codec.struct_json(message, "f")


def test_private_memories_need_an_agent() -> None:
    """A private memory without an agent could be recalled by nobody, so it is refused."""
    private = types_pb2.Visibility.VISIBILITY_PRIVATE
    made = pb.MemoryInput(memory=memory("x", visibility=private))
    with pytest.raises(InvalidRequest) as caught:
        codec.draft(made, Scope("acme", "ann"), CALL, "memories[0]", 4, "model")
    assert caught.value.field == "memories[0].memory.visibility"


def test_given_vectors_need_the_fingerprint() -> None:
    """A vector is taken only under the fingerprint of this server's model."""
    made = pb.MemoryInput(memory=memory("x"), vector_fingerprint="other")
    made.vector.floats.values.extend([3.0, 4.0])
    with pytest.raises(InvalidRequest, match="model-1") as caught:
        codec.draft(made, SCOPE, CALL, "memories[0]", 2, "model-1")
    assert caught.value.field == "memories[0].vector_fingerprint"
    made.vector_fingerprint = "model-1"
    vector = codec.draft(made, SCOPE, CALL, "memories[0]", 2, "model-1").vector
    assert vector is not None
    assert vector.tolist() == pytest.approx([0.6, 0.8])


def test_scope_is_checked_by_field() -> None:
    """Each part of a scope has its path, and the tenant never comes from the message."""
    assert codec.scope(scope("u", "a", "n"), "acme") == Scope("acme", "u", "a", "", "n")
    for name in ("user_id", "agent_id", "session_id", "namespace"):
        bad = types_pb2.Scope(**{"user_id": "u", name: "x\x00"})
        with pytest.raises(InvalidRequest) as caught:
            codec.scope(bad, "acme", "memory.scope")
        assert caught.value.field == f"memory.scope.{name}"
