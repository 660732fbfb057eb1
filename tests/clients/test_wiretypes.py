"""Times, JSON objects and vectors on their way to the wire and back."""

import math
import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.client import wiretypes
from recalld.v1 import types_pb2

JSON_NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | JSON_NUMBERS | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.datetimes(
        datetime(1900, 1, 1),
        datetime(2199, 12, 31),
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=8))]),
    )
)
def test_times_round_trip_to_the_microsecond(time: datetime) -> None:
    """A time comes back as the same instant, in UTC."""
    memory = types_pb2.Memory(event_time=wiretypes.timestamp("event_time", time))
    back = wiretypes.to_datetime(memory, "event_time")
    assert back == time
    assert back is not None and back.tzinfo is UTC


def test_time_without_timezone_is_refused() -> None:
    """A naive time raises ValueError that names the argument."""
    with pytest.raises(ValueError, match=r"as_of: .* has no timezone"):
        wiretypes.timestamp("as_of", datetime(2026, 11, 30))


def test_unset_stays_unset() -> None:
    """None becomes an unset field, and an unset field becomes None."""
    memory = types_pb2.Memory(event_time=wiretypes.timestamp("event_time", None))
    assert not memory.HasField("event_time")
    assert wiretypes.to_datetime(memory, "event_time") is None
    assert wiretypes.to_dict(memory, "metadata") is None


@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), JSON_VALUES, max_size=4))
def test_json_objects_round_trip(given_object: dict[str, object]) -> None:
    """A JSON object comes back equal."""
    memory = types_pb2.Memory(metadata=wiretypes.to_struct("metadata", given_object))
    assert wiretypes.to_dict(memory, "metadata") == given_object


def test_whole_numbers_come_back_as_int() -> None:
    """3 comes back as int 3, 3.5 as float."""
    memory = types_pb2.Memory(value=wiretypes.to_struct("value", {"a": 3, "b": 3.5}))
    back = wiretypes.to_dict(memory, "value")
    assert back == {"a": 3, "b": 3.5}
    assert isinstance(back["a"], int)


@pytest.mark.parametrize(
    "bad", [{"a": {1}}, {"a": [math.nan]}, {"a": b"x"}, {1: 2}, {"a": 2**53 + 1}]
)
def test_what_the_wire_cannot_hold_is_refused(bad: dict[str, object]) -> None:
    """A set, NaN, bytes, a key that is no string or an inexact integer raise ValueError."""
    with pytest.raises(ValueError, match="metadata: "):
        wiretypes.to_struct("metadata", bad)


def test_vector_is_little_endian_float32() -> None:
    """A vector is sent as 4 little-endian bytes an element."""
    wire = wiretypes.vector([1.0, -0.5])
    assert wire is not None
    assert wire.float32_le == struct.pack("<2f", 1.0, -0.5)
    assert wiretypes.vector(None) is None
