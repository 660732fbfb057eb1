"""Every limit of the wire contract, in one place; GetServerInfo reports them by these names.

A limit over which a request is refused is never silently clamped, except page sizes.
"""

from __future__ import annotations

CONTENT_BYTES_MAX = 8192
NAME_BYTES_MAX = 256
URI_BYTES_MAX = 1024
REQUEST_ID_BYTES_MAX = 128
LANGUAGE_BYTES_MAX = 35
STRUCT_BYTES_MAX = 16384
STRUCT_DEPTH_MAX = 8
CUE_COUNT_MAX = 8
BATCH_COUNT_MAX = 256
K_MAX = 200
K_DEFAULT = 5
CONTEXT_TURN_COUNT_MAX = 16
SHARED_USER_COUNT_MAX = 8
CONDITION_COUNT_MAX = 32
CONDITION_VALUE_COUNT_MAX = 256
FORGET_ID_COUNT_MAX = 1000
USAGE_ID_COUNT_MAX = 200
PAGE_SIZE_DEFAULT = 100
PAGE_SIZE_MAX = 1000
BATCH_RECALL_COUNT_MAX = 32
TOKEN_BUDGET_MIN = 64
TOKEN_BUDGET_MAX = 32768
TOKEN_BUDGET_DEFAULT = 600
CONTEXT_CANDIDATE_COUNT_MAX = 10_000
WEIGHT_MAX = 10.0
SET_SIZE_DEFAULT = 10
RESPONSE_BYTES_MAX = 3_670_016
"""3.5 MiB: stubs of every language accept 4 MiB by default."""
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
REQUEST_PART_COUNT_MAX = 100_000
"""Fields of a request and of the messages in it, each repetition counted."""
METADATA_BYTES_MAX = 16 * 1024
STREAM_COUNT_MAX = 100
"""Calls at once on one connection; clients keep more waiting. HTTP/2 recommends no less."""
CONNECTION_COUNT_MAX = 4096

TIME_MIN_US = -2_208_988_800_000_000
"""1900-01-01T00:00:00Z in microseconds since 1970."""
TIME_MAX_US = 7_258_118_400_000_000
"""2200-01-01T00:00:00Z in microseconds since 1970."""


def table() -> dict[str, int]:
    """Whole-number limits by their reported name (lower case, unit last)."""
    return {
        name.lower(): value
        for name, value in sorted(globals().items())
        if name.isupper() and isinstance(value, int) and not name.startswith("TIME_")
    }
