"""From bytes to messages and back, naming what is wrong with the bytes.

The protobuf runtime only says "error parsing"; for text that is not UTF-8 this module finds the
field, so that the caller learns which one. It walks the bytes only after a failed parse.
"""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from recalld.server.errors import InvalidRequest
from recalld.server.limits import REQUEST_PART_COUNT_MAX
from recalld.server.wire_parts import has_more_parts

M = TypeVar("M", bound=Message)

WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 0, 1, 2, 5
DEPTH_MAX = 64
SMALL_BYTES = 64 * 1024
"""Requests up to this size are parsed as they are: they become 12 MB at most."""


def parse(message_class: type[M], body: bytes) -> M:
    """Decode one request.

    Raises:
        InvalidRequest: the bytes are no such message, or one of too many parts; names the field
            when its text is not UTF-8.
    """
    descriptor: Any = message_class.DESCRIPTOR
    if len(body) > SMALL_BYTES and has_more_parts(descriptor, body, REQUEST_PART_COUNT_MAX):
        raise InvalidRequest(
            "request", f"has more than {REQUEST_PART_COUNT_MAX} fields in all; send less at once"
        )
    try:
        return message_class.FromString(body)
    except DecodeError:
        path = find_bad_text(descriptor, body)
        if path:
            raise InvalidRequest(path, "is not valid UTF-8") from None
        raise InvalidRequest("request", f"is not a valid {descriptor.full_name} message") from None


def encode(response: Message | bytes) -> bytes:
    """The bytes of a response; some handlers have put them together already."""
    return response if isinstance(response, bytes) else response.SerializeToString()


def find_bad_text(descriptor: Descriptor, body: bytes, depth: int = 0) -> str:
    """Path of the first string field that is not UTF-8.

    "" when there is none or the bytes are malformed.
    """
    position = 0
    counts: dict[str, int] = {}
    while position < len(body) and depth < DEPTH_MAX:
        tag, position = _varint(body, position)
        wire_type = tag & 7
        if wire_type != WIRE_BYTES:
            position = _skip(body, position, wire_type)
            if position < 0:
                return ""
            continue
        length, position = _varint(body, position)
        piece = body[position : position + length]
        position += length
        field = descriptor.fields_by_number.get(tag >> 3)
        if field is None:
            continue
        name = field.name
        if field.is_repeated:
            name = f"{field.name}[{counts.get(field.name, 0)}]"
            counts[field.name] = counts.get(field.name, 0) + 1
        if field.type == FieldDescriptor.TYPE_STRING:
            try:
                piece.decode("utf-8")
            except UnicodeDecodeError:
                return name
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            assert field.message_type is not None
            inner = find_bad_text(field.message_type, piece, depth + 1)
            if inner:
                return f"{name}.{inner}"
    return ""


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """One base-128 number and the position behind it; past the end when cut off."""
    value = shift = 0
    while position < len(body):
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return value, len(body)


def _skip(body: bytes, position: int, wire_type: int) -> int:
    """Position behind a field that holds no bytes; -1 for types that proto3 does not have."""
    if wire_type == WIRE_VARINT:
        return _varint(body, position)[1]
    if wire_type == WIRE_FIXED64:
        return position + 8
    if wire_type == WIRE_FIXED32:
        return position + 4
    return -1
