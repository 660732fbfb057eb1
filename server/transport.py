"""What the runtime bounds below the handlers: connections, streams, messages, and calls that wait.

These are the limits of everything that comes before a call is known. They hold memory and threads
for the callers who behave; none of them is a quota.
"""

from __future__ import annotations

from typing import Any

from recalld.server.limits import (
    CONNECTION_COUNT_MAX,
    MESSAGE_BYTES_MAX,
    METADATA_BYTES_MAX,
    RESPONSE_BYTES_MAX,
    STREAM_COUNT_MAX,
)

ENVELOPE_BYTES = 64 * 1024
"""What an answer may have beside what `RESPONSE_BYTES_MAX` counts: tags, lengths, times."""
PENDING_CALL_COUNT = 128
PENDING_CALL_COUNT_MAX = 256
"""Calls that the runtime holds before a handler takes them. Above the first number it turns some
away, above the second all, with CANCELLED and without details: to refuse a call in Python costs a
third to a half of answering a recall by key, so a flood of those could only be refused, never
served. The runtime's own numbers, 1,000 and 3,000, mean seconds of waiting."""
KEEPALIVE_S = 30
KEEPALIVE_TIMEOUT_S = 10
"""A connection whose other end does not answer a ping within this is closed, with its calls."""
HANDSHAKE_S = 10
"""Time for TLS and the first frames of HTTP/2; who says nothing is let go after it."""
IDLE_S = 1800
"""A connection without calls is closed after it, and opened again by the client's next call."""


def channel_options() -> tuple[tuple[str, Any], ...]:
    """Options of the gRPC server."""
    return (
        # Two servers must never share a port in silence.
        ("grpc.so_reuseport", 0),
        # Counted after decompression, so that a small compressed message cannot become a large one.
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", RESPONSE_BYTES_MAX + ENVELOPE_BYTES),
        ("grpc.max_metadata_size", METADATA_BYTES_MAX),
        ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
        ("grpc.max_concurrent_streams", STREAM_COUNT_MAX),
        ("grpc.max_allowed_incoming_connections", CONNECTION_COUNT_MAX),
        ("grpc.server.max_pending_requests", PENDING_CALL_COUNT),
        ("grpc.server.max_pending_requests_hard_limit", PENDING_CALL_COUNT_MAX),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_S * 1000),
        ("grpc.max_connection_idle_ms", IDLE_S * 1000),
        ("grpc.keepalive_time_ms", KEEPALIVE_S * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_S * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        # Other clients ping every 10 s; the default minimum of 5 minutes would cut them off.
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    )
