"""Conversions between Python values and the well-known wire types: times, structs, vectors.

Never guesses: a time without a timezone is refused, because it means another instant on another
machine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2

from recalld.v1 import types_pb2

# Largest integer that a Struct's double holds exactly.
EXACT_INTEGER_MAX = 2**53


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
        ValueError: If it holds something that JSON, or the double that the wire has for every
            number, cannot hold; the message names `name`.
    """
    if mapping is None:
        return None
    return _to_value(name, mapping).struct_value


def _to_value(name: str, given: Any) -> struct_pb2.Value:
    match given:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            return struct_pb2.Value(bool_value=given)
        case int() | float():
            return struct_pb2.Value(number_value=_exact_number(name, given))
        case str():
            return struct_pb2.Value(string_value=given)
        case Mapping():
            fields = {_checked_key(name, key): _to_value(name, v) for key, v in given.items()}
            return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
        case list() | tuple():
            elements = struct_pb2.ListValue(values=[_to_value(name, v) for v in given])
            return struct_pb2.Value(list_value=elements)
    raise ValueError(f"{name}: JSON has no form for {type(given).__name__}")


def _checked_key(name: str, key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{name}: the key {key!r} is not a string")
    return key


def _exact_number(name: str, given: float) -> float:
    """Refuses what would arrive as another number, such as a 64-bit id."""
    if not math.isfinite(given):
        raise ValueError(f"{name}: JSON has no form for {given}")
    if isinstance(given, int) and abs(given) > EXACT_INTEGER_MAX:
        raise ValueError(f"{name}: {given} is beyond 2**53; give it as a string")
    return given


def to_dict(message: Any, field: str) -> dict[str, Any] | None:
    """The JSON object in `field` of a message, whole numbers as int; None when not set."""
    if not message.HasField(field):
        return None
    return {key: _plain(value) for key, value in getattr(message, field).fields.items()}


def _plain(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            whole = number.is_integer() and abs(number) <= EXACT_INTEGER_MAX
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
