"""Times between the wire and whole microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import times
from recalld.server.errors import InvalidRequest

FIRST = datetime(1900, 1, 1, tzinfo=UTC)
LAST = datetime(2200, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(
    FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC)
)


@given(MOMENTS)
def test_round_trip(moment: datetime) -> None:
    """Every time from 1900 to 2200 comes back to the microsecond, but for 1970's first one."""
    message = Timestamp()
    message.FromDatetime(moment)
    time_us = times.from_wire(message, "t")
    assert time_us != 0
    back = times.to_wire(time_us)
    assert back is not None
    if moment != times.EPOCH:
        assert back == message


def test_not_set_stays_not_set() -> None:
    """Zero inside is no time on the wire."""
    assert times.to_wire(0) is None


def test_epoch_is_kept_as_one_microsecond() -> None:
    """The instant 1970-01-01T00:00:00Z is told from "not set"."""
    assert times.from_wire(Timestamp(), "t") == 1


@pytest.mark.parametrize(
    "message",
    [
        Timestamp(seconds=int(FIRST.timestamp()) - 1, nanos=999_999_999),
        Timestamp(seconds=int(LAST.timestamp()), nanos=1_000),
        Timestamp(seconds=2**63 - 1),
        Timestamp(seconds=-(2**63)),
        Timestamp(nanos=-1),
        Timestamp(nanos=1_000_000_000),
    ],
)
def test_out_of_range_names_the_field(message: Timestamp) -> None:
    """A time outside the years 1900 to 2200, or with impossible nanos, is refused by field."""
    with pytest.raises(InvalidRequest) as caught:
        times.from_wire(message, "memory.event_time")
    assert caught.value.field == "memory.event_time"


@given(MOMENTS, st.integers(-14 * 60, 14 * 60))
def test_rfc3339_in_any_zone(moment: datetime, zone_minutes: int) -> None:
    """A text with a zone means its instant."""
    from datetime import timezone

    zone = timezone(timedelta(minutes=zone_minutes))
    text = moment.astimezone(zone).isoformat()
    expected = (moment - times.EPOCH) // timedelta(microseconds=1)
    assert times.parse_rfc3339(text, "t") == (expected or 1)


def test_rfc3339_with_z() -> None:
    """Z is UTC."""
    assert times.parse_rfc3339("1970-01-02T00:00:00Z", "t") == 86_400_000_000


@pytest.mark.parametrize("text", ["", "yesterday", "2026-12-02T14:00:00", "1650-01-01T00:00:00Z"])
def test_bad_rfc3339(text: str) -> None:
    """A text that is no time, has no zone or lies out of range is refused."""
    with pytest.raises(InvalidRequest):
        times.parse_rfc3339(text, "t")
