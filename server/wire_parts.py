"""How many parts a message has, before it is parsed.

Two bytes on the wire can be a message of some hundred bytes in memory: 16 MiB of empty memories
became 1.5 GB, and blocked everybody for seconds. So large requests are walked over first; the walk
stops at the limit. Invariant: nothing is kept of the bytes.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 0, 1, 2, 5
PACKED_BYTEWISE = frozenset(
    {
        FieldDescriptor.TYPE_ENUM,
        FieldDescriptor.TYPE_BOOL,
        FieldDescriptor.TYPE_INT32,
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT32,
        FieldDescriptor.TYPE_UINT64,
        FieldDescriptor.TYPE_SINT32,
        FieldDescriptor.TYPE_SINT64,
    }
)
"""Numbers that may take one byte each where they are packed; floats take what they weigh."""
FIXED_BYTES = {WIRE_FIXED64: 8, WIRE_FIXED32: 4}


def has_more_parts(descriptor: Descriptor, body: bytes, part_count_max: int) -> bool:
    """Whether a message and those in it have more fields than a limit, each repetition counted.

    Args:
        descriptor: of the message.
        body: its bytes; where they are malformed the walk goes no further.
        part_count_max: the limit, >= 0; packed numbers count as many as their bytes could be.

    Complexity: linear in the parts, not more than `part_count_max` of them.
    """
    left = part_count_max
    stack: list[tuple[Descriptor, int, int]] = [(descriptor, 0, len(body))]
    while stack:
        inside, position, end = stack.pop()
        while position < end:
            left -= 1
            if left < 0:
                return True
            tag, position = _varint(body, position, end)
            wire_type = tag & 7
            if wire_type == WIRE_BYTES:
                length, position = _varint(body, position, end)
                field = inside.fields_by_number.get(tag >> 3)
                if field is not None and field.message_type is not None and length:
                    stack.append((field.message_type, position, min(end, position + length)))
                elif field is not None and field.type in PACKED_BYTEWISE:
                    left -= min(length, end - position)
                position += length
            elif wire_type == WIRE_VARINT:
                _, position = _varint(body, position, end)
            elif wire_type in FIXED_BYTES:
                position += FIXED_BYTES[wire_type]
            else:
                break
    return left < 0


def _varint(body: bytes, position: int, end: int) -> tuple[int, int]:
    """One base-128 number and the position behind it; past the end when cut off."""
    value = shift = 0
    while position < end:
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return value, end
