"""Conversions between Python values and the wire: times, structs, vectors, whole messages.

Never guesses: a time without a timezone is refused, because it means another instant on another
machine. Whatever cannot be sent is refused with the name of the argument.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from google.protobuf import struct_pb2, timestamp_pb2
from google.protobuf.message import Message

from recalld.v1 import types_pb2

# Largest integer that a Struct's double holds exactly.
EXACT_INTEGER_MAX = 2**53
# A level of a Struct takes three of the 100 levels of messages that any receiver reads. The
# server's own limit is lower; this one ends an object that holds itself.
STRUCT_DEPTH_MAX = 32
SHOWN_LENGTH_MAX = 60

MessageT = TypeVar("MessageT", bound=Message)
ElementT = TypeVar("ElementT")


def build(message_class: type[MessageT], /, **fields: Any) -> MessageT:
    """A wire message of these fields; a field that is None stays unset.

    Raises:
        TypeError, ValueError: If a field cannot hold what it is given; names the field.
    """
    try:
        return message_class(**fields)
    except (TypeError, ValueError):
        # protobuf does not say which field it was, so each is tried alone.
        for name, given in fields.items():
            try:
                message_class(**{name: given})
            except UnicodeError:
                raise ValueError(f"{name}: {shown(given)} is not valid Unicode text") from None
            except ValueError:
                raise ValueError(f"{name}: {shown(given)} is out of range") from None
            except TypeError:
                raise TypeError(f"{name}: {shown(given)} has the wrong type") from None
        raise


def shown(given: object) -> str:
    """A value in an error message: one short line that any terminal can print."""
    text = ascii(given)
    return text if len(text) <= SHOWN_LENGTH_MAX else f"{text[:SHOWN_LENGTH_MAX]}..."


def listed(name: str, given: Iterable[ElementT]) -> Sequence[ElementT]:
    """The elements of a list.

    Raises:
        ValueError: If it is no list, or a lone string, which would count as a list of letters.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ValueError(f"{name}: give a list, not {shown(given)}")
    return given if isinstance(given, (list, tuple)) else list(given)


def timestamp(name: str, time: datetime | None) -> timestamp_pb2.Timestamp | None:
    """The wire form of a time; None stays None.

    Raises:
        TypeError: If it is no datetime.
        ValueError: If the time has no timezone. Both name the argument, `name`.
    """
    if time is None:
        return None
    if not isinstance(time, datetime):
        raise TypeError(f"{name}: {shown(time)} is no datetime with a timezone")
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
        TypeError: If it is no mapping.
        ValueError: If it holds something that JSON, or the double that the wire has for every
            number, cannot hold, or is nested too deep. Both name the argument, `name`.
    """
    if mapping is None:
        return None
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{name}: {shown(mapping)} is no mapping")
    return _to_value(name, mapping, 0).struct_value


def _to_value(name: str, given: Any, depth: int) -> struct_pb2.Value:
    if depth > STRUCT_DEPTH_MAX:
        raise ValueError(f"{name}: nested deeper than {STRUCT_DEPTH_MAX} levels, or holds itself")
    match given:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            return struct_pb2.Value(bool_value=given)
        case int() | float():
            return struct_pb2.Value(number_value=_exact_number(name, given))
        case str():
            return struct_pb2.Value(string_value=_checked_text(name, given))
        case Mapping():
            fields = {
                _checked_key(name, k): _to_value(name, v, depth + 1) for k, v in given.items()
            }
            return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
        case list() | tuple():
            inner = [_to_value(name, v, depth + 1) for v in given]
            return struct_pb2.Value(list_value=struct_pb2.ListValue(values=inner))
    raise ValueError(f"{name}: JSON has no form for {type(given).__name__}")


def _checked_key(name: str, key: object) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{name}: the key {shown(key)} is not a string")
    return _checked_text(name, key)


def _checked_text(name: str, text: str) -> str:
    """Refuses half of a surrogate pair, for which UTF-8 has no form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {shown(text)} is not valid Unicode text") from None
    return text


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
    """The packed little-endian form of a vector; None stays None.

    Raises:
        TypeError: If it is no sequence of numbers.
        ValueError: If a number is too large for a float32.
    """
    if elements is None:
        return None
    try:
        packed = struct.pack(f"<{len(elements)}f", *elements)
    except OverflowError:
        raise ValueError("vector: holds a number that is too large for a float32") from None
    except (struct.error, TypeError):
        raise TypeError(f"vector: {shown(elements)} is no sequence of numbers") from None
    return types_pb2.Vector(float32_le=packed)
