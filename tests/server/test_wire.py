"""From bytes to messages: what is wrong with bad bytes is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import wire
from recalld.server.errors import InvalidRequest
from recalld.server.services import SERVICES
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import memory, remember_request

BAD_TEXT = b"\xc3\x28"
SEEN_MAX = 2
"""How often a message type may lie within itself on the way to a text."""


def varint(number: int) -> bytes:
    """A base-128 number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def piece(field: FieldDescriptor, body: bytes) -> bytes:
    """A field of bytes with its tag and length."""
    return varint(field.number << 3 | 2) + varint(len(body)) + body


def bad_texts(message: Descriptor, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes]]:
    """Path of every string field below a message, and bytes in which it is not UTF-8."""
    if seen.count(message.full_name) >= SEEN_MAX:
        return
    for field in message.fields:
        name = f"{field.name}[0]" if field.is_repeated else field.name
        if field.type == FieldDescriptor.TYPE_STRING:
            yield name, piece(field, BAD_TEXT)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            assert field.message_type is not None
            for path, body in bad_texts(field.message_type, (*seen, message.full_name)):
                yield f"{name}.{path}", piece(field, body)


REQUESTS = {
    method.input_type.full_name: method.input_type
    for service, _ in SERVICES
    for method in service.methods
}


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_every_string_field_is_named(name: str) -> None:
    """Whichever string field of a request is not UTF-8, the error names its path."""
    descriptor = REQUESTS[name]
    for path, body in bad_texts(descriptor):
        with pytest.raises(InvalidRequest) as caught:
            wire.parse(GetMessageClass(descriptor), body)
        assert (caught.value.field, caught.value.problem) == (path, "is not valid UTF-8")


def test_position_in_lists_counts() -> None:
    """The path says which item of a list holds the bad text, behind good ones and other fields."""
    good = remember_request("u", memory("fine"), memory("fine too"))
    body = good.SerializeToString()
    memories = pb.RememberRequest.DESCRIPTOR.fields_by_name["memories"]
    inner = pb.MemoryInput.DESCRIPTOR.fields_by_name["memory"]
    assert inner.message_type is not None
    content = inner.message_type.fields_by_name["content"]
    bad = piece(memories, piece(inner, piece(content, BAD_TEXT)))
    with pytest.raises(InvalidRequest) as caught:
        wire.parse(pb.RememberRequest, body + bad)
    assert caught.value.field == "memories[2].memory.content"


@given(st.integers(1, 60))
def test_truncated_bytes(cut: int) -> None:
    """Bytes that end too early are refused, or, cut between fields, are a shorter message."""
    body = remember_request("u", memory("a text", key="k", confidence=0.5)).SerializeToString()
    try:
        wire.parse(pb.RememberRequest, body[: max(0, len(body) - cut)])
    except InvalidRequest as error:
        assert error.field


@given(st.binary(max_size=200))
def test_any_bytes(body: bytes) -> None:
    """Whatever the bytes are, they are a message or an InvalidRequest."""
    try:
        wire.parse(pb.RememberRequest, body)
    except InvalidRequest as error:
        assert error.field


@pytest.mark.parametrize("depth", [101, 5_000])
def test_deep_nesting(depth: int) -> None:
    """A message nested beyond what the runtime takes is refused without deep recursion."""
    value: Any = pb.RememberRequest.DESCRIPTOR.fields_by_name["memories"].message_type
    body = BAD_TEXT
    struct = value.fields_by_name["memory"].message_type.fields_by_name["metadata"]
    entry = struct.message_type.fields_by_name["fields"]
    inner = entry.message_type.fields_by_name["value"]
    nested = inner.message_type.fields_by_name["struct_value"]
    for _ in range(depth // 3):
        body = piece(nested, piece(entry, piece(inner, body)))
    outer = piece(value.fields_by_name["memory"], piece(struct, piece(entry, piece(inner, body))))
    whole = piece(pb.RememberRequest.DESCRIPTOR.fields_by_name["memories"], outer)
    with pytest.raises(InvalidRequest):
        wire.parse(pb.RememberRequest, whole)
