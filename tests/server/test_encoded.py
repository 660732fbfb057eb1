"""Encoded memories: never another message than a fresh one would be."""

from __future__ import annotations

from dataclasses import replace

from google.protobuf import empty_pb2, unknown_fields
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import codec
from recalld.server.encoded import EncodedMemories, field
from recalld.storage.record import Kind, MemoryRecord, Scope, Status
from recalld.v1 import recall_service_pb2, types_pb2

NOW_US = 10**15
RECORD = MemoryRecord(
    label=1,
    id="a" * 32,
    scope=Scope("t", "u"),
    kind=Kind.FACT,
    content="tea",
    event_time_us=1,
    expire_time_us=NOW_US + 10,
    revision=3,
)


def decoded(body: bytes) -> types_pb2.Memory:
    return recall_service_pb2.Hit.FromString(body).memory


@given(st.binary(max_size=70_000), st.integers(1, 15))
def test_a_field_is_read_as_one(body: bytes, number: int) -> None:
    """What `field` writes is a bytes field of that number to protobuf, whatever its length."""
    unknown = unknown_fields.UnknownFieldSet(empty_pb2.Empty.FromString(field(number, body)))
    assert [(item.field_number, item.data) for item in unknown] == [(number, body)]


def test_a_record_is_encoded_once() -> None:
    """The same record gives the same bytes object."""
    kept = EncodedMemories()
    assert kept.get(RECORD, NOW_US) is kept.get(RECORD, NOW_US)


def test_a_change_or_the_end_of_a_record_shows() -> None:
    """A new revision, and passing the expire time, give what a fresh encoding gives."""
    kept = EncodedMemories()
    kept.get(RECORD, NOW_US)
    changed = replace(RECORD, content="coffee", revision=4)
    assert decoded(kept.get(changed, NOW_US)) == codec.memory(changed, NOW_US)
    assert decoded(kept.get(changed, NOW_US + 10)).status == Status.EXPIRED


def test_the_least_recently_used_goes_first() -> None:
    """Above the bound the message that was not used for longest is dropped."""
    kept = EncodedMemories(kept_max=2)
    one, two, three = (replace(RECORD, label=label) for label in (1, 2, 3))
    first, second = kept.get(one, NOW_US), kept.get(two, NOW_US)
    kept.get(one, NOW_US)
    kept.get(three, NOW_US)
    assert kept.get(one, NOW_US) is first
    assert kept.get(two, NOW_US) is not second
