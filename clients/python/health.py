"""The standard `grpc.health.v1.Health/Check` call, encoded by hand.

One string in, one enum out: not worth a dependency. It never looks at which services a server
names; the empty service means the server as a whole.
"""

from __future__ import annotations

from recalld.client import errors

CHECK_METHOD = "/grpc.health.v1.Health/Check"
POLL_INTERVAL_S = 0.1
# Answers that a server gives on its way up; anything else (such as a refused token) will not
# change by waiting.
NOT_READY_YET = (errors.Unavailable, errors.DeadlineExceeded, errors.NotFound)

# HealthCheckResponse.status is field 1, a varint; SERVING is 1.
_SERVING_RESPONSE = b"\x08\x01"


def encode_request(_request: None) -> bytes:
    """HealthCheckRequest for the server as a whole: the empty message."""
    return b""


def decode_is_serving(response: bytes) -> bool:
    """Whether a HealthCheckResponse says SERVING."""
    return response == _SERVING_RESPONSE
