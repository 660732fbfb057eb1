"""The parts of a message are counted before it is parsed."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.wire_parts import has_more_parts
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1.types_pb2 import Memory, Scope

DESCRIPTOR: Any = pb.RememberRequest.DESCRIPTOR


def naive_count(message: Message) -> int:
    """Fields of a parsed message and of those in it, each repetition counted."""
    count = 0
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            count += 1
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                count += naive_count(one)
    return count


@given(
    contents=st.lists(st.tuples(st.text(max_size=200), st.lists(st.text(max_size=5))), max_size=8),
    confidence=st.floats(0, 1),
)
def test_counts(contents: list[tuple[str, list[str]]], confidence: float) -> None:
    """It is over a limit exactly when the parsed message has more fields than that."""
    request = pb.RememberRequest(scope=Scope(user_id="u"))
    for content, cues in contents:
        memory = Memory(content=content, relevant_when=cues, confidence=confidence)
        request.memories.add(memory=memory)
    body, count = request.SerializeToString(), naive_count(request)
    assert not has_more_parts(DESCRIPTOR, body, count)
    assert has_more_parts(DESCRIPTOR, body, count - 1)


@given(st.binary(max_size=300))
def test_any_bytes(body: bytes) -> None:
    """Whatever the bytes, the walk ends, and never counts more parts than there are bytes."""
    assert not has_more_parts(DESCRIPTOR, body, len(body))


def test_packed_numbers() -> None:
    """Packed numbers count as many as their bytes could be, floats as one field."""
    statuses = pb.ListMemoriesRequest(statuses=[1] * 300).SerializeToString()
    floats = pb.MemoryInput(vector={"floats": {"values": [0.5] * 300}}).SerializeToString()
    listing: Any = pb.ListMemoriesRequest.DESCRIPTOR
    writing: Any = pb.MemoryInput.DESCRIPTOR
    assert has_more_parts(listing, statuses, 300)
    assert not has_more_parts(listing, statuses, 301)
    assert not has_more_parts(writing, floats, 3)


def test_stops_at_the_limit() -> None:
    """Of millions of empty messages only so many are looked at as the limit allows."""
    assert has_more_parts(DESCRIPTOR, b"\x12\x00" * 8_000_000, 10)
