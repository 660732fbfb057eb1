"""Checks of single fields.

Each names the field and its limit when it refuses, and changes nothing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sized
from typing import Any

import numpy as np
from google.protobuf.struct_pb2 import Struct, Value
from numpy.typing import NDArray

from recalld.scoring.scan import unit_into
from recalld.server.errors import InvalidRequest
from recalld.server.limits import LANGUAGE_BYTES_MAX, NAME_BYTES_MAX, STRUCT_DEPTH_MAX
from recalld.v1 import types_pb2

LITTLE_FLOAT32 = np.dtype("<f4")
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
CONTROL_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
VISIBLE = re.compile("[^\\s\u200b\u200c\u200d\u2060\ufeff]")


def is_blank(text: str) -> bool:
    """Whether nothing of the text can be seen: white space and zero-width characters only."""
    return VISIBLE.search(text) is None


def name(text: str, field: str, *, required: bool = False, bytes_max: int = NAME_BYTES_MAX) -> str:
    """One identifier-like text.

    A limit in bytes, no control characters; not blank when required.
    """
    if required and is_blank(text):
        raise InvalidRequest(field, "is required and must not be blank")
    # Nearly all names are plain ASCII, and most are empty: one look tells.
    if len(text) <= bytes_max and text.isascii() and text.isprintable():
        return text
    size = len(text.encode())
    if size > bytes_max:
        raise InvalidRequest(field, f"has {size} bytes; the limit is {bytes_max}")
    if CONTROL.search(text):
        raise InvalidRequest(field, "must not hold control characters")
    return text


def language(text: str, field: str) -> str:
    """A language tag (BCP 47, RFC 5646 section 2.1, by its outer form), or nothing."""
    name(text, field, bytes_max=LANGUAGE_BYTES_MAX)
    if text and not LANGUAGE_TAG.fullmatch(text):
        raise InvalidRequest(field, "must be a language tag such as zh, en or zh-TW")
    return text


def key(text: str, field: str) -> str:
    """A key, in the form in which keys are compared (NFC)."""
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    if normal and is_blank(normal):
        raise InvalidRequest(field, "must not be blank")
    return name(normal, field)


def content(text: str, field: str, bytes_max: int) -> str:
    """A text of a person.

    Not blank, a limit in bytes, no control characters but tab and line breaks.
    """
    if is_blank(text):
        raise InvalidRequest(field, "is required and must not be blank")
    size = len(text.encode())
    if size > bytes_max:
        raise InvalidRequest(field, f"has {size} bytes; the limit is {bytes_max}")
    found = None if text.isprintable() else CONTROL_IN_TEXT.search(text)
    if found:
        raise InvalidRequest(field, f"holds the control character U+{ord(found[0]):04X}")
    return text


def enum(value: int, enum_type: Any, field: str) -> int:
    """A number that the enum has, UNSPECIFIED included."""
    if value not in enum_type.DESCRIPTOR.values_by_number:
        raise InvalidRequest(field, f"{value} is not a value of {enum_type.DESCRIPTOR.name}")
    return value


def fraction(value: float, field: str, *, high: float = 1.0) -> float:
    """A finite number from 0 to `high`."""
    if not (math.isfinite(value) and 0.0 <= value <= high):
        raise InvalidRequest(field, f"must be a number from 0 to {high:g}")
    return value


def count(items: Sized, field: str, low: int, high: int) -> None:
    """A list whose length lies between both limits."""
    if not low <= len(items) <= high:
        raise InvalidRequest(field, f"has {len(items)} entries; the limits are {low} to {high}")


def whole(value: int, field: str, low: int, high: int) -> int:
    """A whole number between both limits."""
    if not low <= value <= high:
        raise InvalidRequest(field, f"is {value}; the limits are {low} to {high}")
    return value


def page_size(value: int, default: int, high: int) -> int:
    """A page size: 0 is the default, too large counts as the limit."""
    if value < 0:
        raise InvalidRequest("page_size", f"is {value}; it must not be negative")
    return min(value, high) or default


def vector(message: types_pb2.Vector, field: str, dim: int) -> NDArray[np.float32]:
    """A given vector, normalised: float32[dim].

    Raises:
        InvalidRequest: wrong width, NaN, infinite or zero.
    """
    form = message.WhichOneof("form")
    if form == "float32_le":
        body = message.float32_le  # Each look at it copies it.
        if len(body) % 4:
            raise InvalidRequest(f"{field}.float32_le", "must hold 4 bytes an element")
        given = np.frombuffer(body, dtype=LITTLE_FLOAT32)
    elif form == "floats":
        given = np.fromiter(
            message.floats.values, dtype=np.float32, count=len(message.floats.values)
        )
    else:
        raise InvalidRequest(field, "must hold floats or float32_le")
    if given.shape[0] != dim:
        raise InvalidRequest(
            field, f"has {given.shape[0]} elements; this server's embedder has {dim}"
        )
    unit = np.empty(dim, dtype=np.float32)
    # One element that is not finite makes the length so.
    length = unit_into(given, unit)
    if not math.isfinite(length):
        raise InvalidRequest(field, "must hold finite numbers only")
    if length < 1e-12:
        raise InvalidRequest(field, "must not be zero")
    return unit


def plain(message: Struct, field: str) -> dict[str, Any]:
    """A Struct as plain Python.

    Raises:
        InvalidRequest: nested too deep, or a number that JSON does not have.
    """
    return {
        name(k, f"{field} key", required=True): _plain_value(v, f"{field}.{k}", 1)
        for k, v in message.fields.items()
    }


def _plain_value(value: Value, field: str, depth: int) -> Any:
    """One value of a Struct as plain Python."""
    if depth > STRUCT_DEPTH_MAX:
        raise InvalidRequest(field, f"is nested deeper than {STRUCT_DEPTH_MAX} levels")
    which = value.WhichOneof("kind")
    if which == "number_value":
        if not math.isfinite(value.number_value):
            raise InvalidRequest(field, "must be a finite number")
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if which == "string_value":
        found = CONTROL_IN_TEXT.search(value.string_value)
        if found:
            raise InvalidRequest(field, f"holds the control character U+{ord(found[0]):04X}")
        return value.string_value
    if which == "bool_value":
        return value.bool_value
    if which == "struct_value":
        inner = value.struct_value.fields.items()
        return {
            name(k, f"{field} key", required=True): _plain_value(v, f"{field}.{k}", depth + 1)
            for k, v in inner
        }
    if which == "list_value":
        return [
            _plain_value(v, f"{field}[{i}]", depth + 1)
            for i, v in enumerate(value.list_value.values)
        ]
    return None
