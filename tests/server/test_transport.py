"""The limits below the handlers."""

from __future__ import annotations

from recalld.server import limits, transport


def test_one_connection_is_never_turned_away() -> None:
    """All calls of one connection may wait at once: the runtime turns none of them away."""
    assert transport.PENDING_CALL_COUNT >= limits.STREAM_COUNT_MAX
    assert transport.PENDING_CALL_COUNT_MAX > transport.PENDING_CALL_COUNT


def test_answers_fit() -> None:
    """An answer of the largest size passes the runtime, and the 4 MiB that clients take."""
    largest = dict(transport.channel_options())["grpc.max_send_message_length"]
    assert limits.RESPONSE_BYTES_MAX < largest <= 4 * 1024 * 1024


def test_each_option_once() -> None:
    """No option is given twice."""
    names = [name for name, _ in transport.channel_options()]
    assert len(names) == len(set(names))
