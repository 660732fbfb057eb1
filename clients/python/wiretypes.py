"""Conversions between Python values and the well-known wire types: times, structs, vectors.

Never guesses: a time without a timezone is refused, because it means another instant on another
machine.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.protobuf import json_format, struct_pb2, timestamp_pb2

from recalld.v1 import types_pb2

# Largest integer that a Struct's double holds exactly.
_EXACT_INTEGER_MAX = 2**53


def timestamp(name: str, time: datetime | None) -> timestamp_pb2.Timestamp | None:
    """The wire form of a time; None stays None.

    Raises:
        ValueError: If the time has no timezone; `name` is the argument that the message names.
    """
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"{name}: {time.isoformat()} has no timezone; add one, such as UTC")
    result = timestamp_pb2.Timestamp()
    result.FromDatetime(time)
    return result


def to_datetime(message: Any, field: str) -> datetime | None:
    """The time in `field` of a message, in UTC; None when it is not set."""
    return getattr(message, field).ToDatetime(tzinfo=UTC) if message.HasField(field) else None


def to_struct(name: str, mapping: Mapping[str, Any] | None) -> struct_pb2.Struct | None:
    """The wire form of a JSON object; None stays None.

    Raises:
        ValueError: If it holds something JSON has no form for; the message names `name`.
    """
    if mapping is None:
        return None
    result = struct_pb2.Struct()
    try:
        json_format.ParseDict(dict(mapping), result)
    except (json_format.ParseError, TypeError) as error:
        raise ValueError(f"{name}: not a JSON object: {error}") from error
    return result


def to_dict(message: Any, field: str) -> dict[str, Any] | None:
    """The JSON object in `field` of a message, whole numbers as int; None when not set."""
    if not message.HasField(field):
        return None
    return {key: _plain(value) for key, value in getattr(message, field).fields.items()}


def _plain(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            whole = number.is_integer() and abs(number) <= _EXACT_INTEGER_MAX
            return int(number) if whole else number
        case "struct_value":
            return {key: _plain(inner) for key, inner in value.struct_value.fields.items()}
        case "list_value":
            return [_plain(inner) for inner in value.list_value.values]
        case "null_value" | None:
            return None
        case form:
            return getattr(value, form)


def vector(elements: Sequence[float] | None) -> types_pb2.Vector | None:
    """The packed little-endian form of a vector; None stays None."""
    if elements is None:
        return None
    return types_pb2.Vector(float32_le=struct.pack(f"<{len(elements)}f", *elements))
