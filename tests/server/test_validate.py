"""Checks of single fields."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import numpy as np
import pytest
from google.protobuf.struct_pb2 import Struct, Value
from hypothesis import assume, given
from hypothesis import strategies as st

from recalld.server import validate
from recalld.server.errors import InvalidRequest
from recalld.server.limits import NAME_BYTES_MAX, STRUCT_DEPTH_MAX
from recalld.v1 import types_pb2

CONTROLS = [chr(n) for n in (*range(32), *range(0x7F, 0xA0))]
BLANK = ["", " ", "\u3000", "\u200b\ufeff", " \u2060 "]


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=64))
def test_names_pass_unchanged(text: str) -> None:
    """A name of at most 256 bytes without control characters is taken as it is."""
    assume(len(text.encode()) <= NAME_BYTES_MAX)
    assert validate.name(text, "f") == text


@pytest.mark.parametrize("control", [*CONTROLS, "\u2028", "\u2029"])
def test_names_hold_no_controls(control: str) -> None:
    """A control character or line separator in a name is refused by field."""
    with pytest.raises(InvalidRequest, match="control") as caught:
        validate.name(f"a{control}b", "scope.user_id")
    assert caught.value.field == "scope.user_id"


def test_names_have_a_limit_in_bytes() -> None:
    """256 bytes pass; 86 Chinese characters, which are 258 bytes, do not; the limit is told."""
    validate.name("a" * 256, "f")
    with pytest.raises(InvalidRequest, match=r"258 bytes.*256"):
        validate.name("字" * 86, "f")


@pytest.mark.parametrize("blank", BLANK)
def test_blank_is_not_enough(blank: str) -> None:
    """What nobody can see is no required name and no content."""
    for check in (lambda: validate.name(blank, "f", required=True), lambda: content(blank)):
        with pytest.raises(InvalidRequest, match="blank"):
            check()


def content(text: str) -> str:
    """A content under the contract's limit."""
    return validate.content(text, "f", 8192)


@given(st.text(max_size=40))
def test_keys_are_composed(text: str) -> None:
    """A key that passes is in NFC, and both forms of a text are the same key."""
    try:
        key = validate.key(text, "f")
    except InvalidRequest:
        return
    assert key == unicodedata.normalize("NFC", text)
    assert validate.key(unicodedata.normalize("NFD", text), "f") == key


@pytest.mark.parametrize("control", CONTROLS)
def test_content_holds_tab_and_breaks_only(control: str) -> None:
    """Tab, line feed and carriage return are the only control characters of a content."""
    text = f"a{control}b"
    if control in "\t\n\r":
        assert content(text) == text
    else:
        with pytest.raises(InvalidRequest, match=f"U\\+{ord(control):04X}"):
            content(text)


def test_content_limit_is_exact() -> None:
    """8192 bytes pass and 8193 do not."""
    assert content("a" * 8192)
    with pytest.raises(InvalidRequest, match=r"8193 bytes.*8192"):
        content("a" * 8193)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, 1.001])
def test_fractions(value: float) -> None:
    """A fraction is a finite number from 0 to 1."""
    with pytest.raises(InvalidRequest, match="from 0 to 1"):
        validate.fraction(value, "f")
    assert validate.fraction(1.0, "f") == 1.0


def test_enum_numbers() -> None:
    """Numbers of the enum pass, UNSPECIFIED included; others are refused by the enum's name."""
    for number in types_pb2.MemoryKind.values():
        assert validate.enum(number, types_pb2.MemoryKind, "f") == number
    for number in (-1, 9, 2**31 - 1):
        with pytest.raises(InvalidRequest, match="MemoryKind"):
            validate.enum(number, types_pb2.MemoryKind, "f")


def test_page_sizes() -> None:
    """Zero is the default, too large is the limit, negative is refused."""
    assert [validate.page_size(n, 100, 1000) for n in (0, 1, 1000, 5000)] == [100, 1, 1000, 1000]
    with pytest.raises(InvalidRequest, match="negative"):
        validate.page_size(-1, 100, 1000)


FLOATS = st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=4, max_size=4
)


@given(FLOATS)
def test_both_forms_of_a_vector_are_the_same(values: list[float]) -> None:
    """Packed floats and bytes give the same unit vector, whatever the length of the given one."""
    length = math.sqrt(sum(value * value for value in values))
    assume(length > 1e-6)
    packed = types_pb2.Vector(float32_le=np.array(values, "<f4").tobytes())
    listed = types_pb2.Vector(floats=types_pb2.FloatVector(values=values))
    first, second = (validate.vector(form, "f", 4) for form in (packed, listed))
    assert first.dtype == np.float32
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(first, [value / length for value in values], atol=1e-6)


BAD_VECTORS = [
    ([1.0, math.nan, 0, 0], "finite"),
    ([1.0, math.inf, 0, 0], "finite"),
    ([0.0, 0, 0, 0], "zero"),
    ([1.0, 0, 0], "4"),
    ([1.0, 0, 0, 0, 0], "4"),
]


@pytest.mark.parametrize(("values", "problem"), BAD_VECTORS)
def test_bad_vectors(values: list[float], problem: str) -> None:
    """NaN, infinite, zero and wrong-width vectors are refused in both forms."""
    for form in (
        types_pb2.Vector(float32_le=np.array(values, "<f4").tobytes()),
        types_pb2.Vector(floats=types_pb2.FloatVector(values=values)),
    ):
        with pytest.raises(InvalidRequest, match=problem) as caught:
            validate.vector(form, "vector", 4)
        assert caught.value.field == "vector"


def test_bytes_that_are_no_floats() -> None:
    """Bytes that are not four per element, and a vector of neither form, are refused."""
    with pytest.raises(InvalidRequest, match="4 bytes"):
        validate.vector(types_pb2.Vector(float32_le=b"abc"), "f", 1)
    with pytest.raises(InvalidRequest):
        validate.vector(types_pb2.Vector(), "f", 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text("ab字", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("xy", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=3), JSON, max_size=4))
def test_objects_come_back(given_object: dict[str, Any]) -> None:
    """A JSON object within the limits is the same afterwards, whole numbers whole."""
    message = Struct()
    message.update(given_object)
    if depth_of(given_object) - 1 <= STRUCT_DEPTH_MAX:
        found = validate.plain(message, "f")
        assert found == given_object
        assert repr(found) == repr({key: found[key] for key in found})
        assert [type(v) for v in found.values()] == [type(given_object[k]) for k in found]


def depth_of(value: Any) -> int:
    """Levels of a JSON value; a scalar is one."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 1


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have(number: float) -> None:
    """NaN and infinities in an object are refused by path, however deep."""
    message = Struct()
    message.update({"a": {"b": [1, 2]}})
    message.fields["a"].struct_value.fields["b"].list_value.values[1].number_value = number
    with pytest.raises(InvalidRequest) as caught:
        validate.plain(message, "metadata")
    assert caught.value.field == "metadata.a.b[1]"


def test_depth_limit() -> None:
    """Eight levels pass and nine do not, for objects and for lists."""
    for wrap in ("struct", "list"):
        value = Value(bool_value=True)
        for _ in range(STRUCT_DEPTH_MAX - 1):
            outer = Value()
            if wrap == "struct":
                outer.struct_value.fields["k"].CopyFrom(value)
            else:
                outer.list_value.values.append(value)
            value = outer
        message = Struct(fields={"top": value})
        validate.plain(message, "f")
        deeper = Struct(fields={"top": Value(struct_value=message)})
        with pytest.raises(InvalidRequest, match="8 levels"):
            validate.plain(deeper, "f")


def test_objects_hold_no_controls() -> None:
    """Control characters are refused in keys and in texts of an object."""
    for key, text in (("a\x00", "x"), ("a", "x\x00"), (" ", "x")):
        with pytest.raises(InvalidRequest):
            validate.plain(Struct(fields={key: Value(string_value=text)}), "f")


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_refused_without_a_word() -> None:
    """A signalling NaN is refused like any other, and the arithmetic does not warn of it."""
    body = bytes.fromhex("0100807f") * 2
    with pytest.raises(InvalidRequest, match="finite"):
        validate.vector(types_pb2.Vector(float32_le=body), "vector", 2)
