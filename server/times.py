"""Times on the wire and inside: Timestamp and RFC 3339 to whole microseconds since 1970 and back.

Zero means "not set" inside, so the one instant 1970-01-01T00:00:00Z is kept as 1 microsecond.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from recalld.server.errors import InvalidRequest
from recalld.server.limits import TIME_MAX_US, TIME_MIN_US

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def from_wire(message: Timestamp, field: str) -> int:
    """Microseconds of a Timestamp that is set.

    Raises:
        InvalidRequest: outside the years 1900 to 2200, or nanos outside 0 to 999,999,999.
    """
    if not 0 <= message.nanos < 1_000_000_000:
        raise InvalidRequest(field, "nanos must lie in 0 to 999999999")
    return check(message.seconds * 1_000_000 + message.nanos // 1000, field)


def check(time_us: int, field: str) -> int:
    """The time, if it lies in range; 0 becomes 1."""
    if not TIME_MIN_US <= time_us <= TIME_MAX_US:
        raise InvalidRequest(field, "must lie in the years 1900 to 2200")
    return time_us or 1


def to_wire(time_us: int) -> Timestamp | None:
    """Timestamp of a time; None for "not set"."""
    if time_us == 0:
        return None
    return Timestamp(seconds=time_us // 1_000_000, nanos=time_us % 1_000_000 * 1000)


def set_wire(message: Timestamp, time_us: int) -> None:
    """Set a Timestamp in place; cheaper than making one and copying it."""
    message.seconds, rest_us = divmod(time_us, 1_000_000)
    message.nanos = rest_us * 1000


def parse_rfc3339(text: str, field: str) -> int:
    """Microseconds of a text such as 2026-12-02T14:00:00Z; a zone is required.

    Raises:
        InvalidRequest: not such a text, or out of range.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            field, "must be an RFC 3339 time such as 2026-12-02T14:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise InvalidRequest(field, "must say its zone, for example 2026-12-02T14:00:00Z")
    return check((moment - EPOCH) // MICROSECOND, field)
