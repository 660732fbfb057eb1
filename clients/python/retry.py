"""When a call is tried again, and for how long.

Two mechanisms, both bounded by the deadline of the logical call:

1. UNAVAILABLE is retried inside grpc by a service config (gRFC A6): the call did not reach a
   server that answered, or the server is loading or draining. Writes are safe to repeat because
   each carries one `request_id` for all its attempts.
2. RESOURCE_EXHAUSTED is retried here, only when the server says after how long (RetryInfo) and
   that still fits the deadline: nothing was done, so repeating is safe.

The service config never has a `timeout` key: Python's grpc fires it up to a second early.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from recalld.client.errors import RecalldError, ResourceExhausted

ATTEMPTS_MAX = 4
INITIAL_BACKOFF_S = 0.1
MAX_BACKOFF_S = 2.0
BACKOFF_MULTIPLIER = 3.0
# A channel stops retrying while more than about one call in ten needs it, so that retries never
# pile onto a server that is already down.
THROTTLE_TOKENS_MAX = 100
THROTTLE_TOKEN_RATIO = 0.1

SERVICE_NAMES = (
    "recalld.v1.MemoryService",
    "recalld.v1.RecallService",
    "recalld.v1.SessionService",
    "recalld.v1.AdminService",
)


def service_config() -> str:
    """The gRFC A6 service config of every channel, as JSON."""
    policy = {
        "maxAttempts": ATTEMPTS_MAX,
        "initialBackoff": f"{INITIAL_BACKOFF_S}s",
        "maxBackoff": f"{MAX_BACKOFF_S}s",
        "backoffMultiplier": BACKOFF_MULTIPLIER,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    names = [{"service": name} for name in SERVICE_NAMES]
    return json.dumps(
        {
            "methodConfig": [{"name": names, "retryPolicy": policy}],
            "retryThrottling": {
                "maxTokens": THROTTLE_TOKENS_MAX,
                "tokenRatio": THROTTLE_TOKEN_RATIO,
            },
        }
    )


class Budget:
    """Deadline and attempts of one logical call.

    Args:
        timeout_s: Seconds from now, over all attempts.
        clock: Seconds, monotonic.
    """

    def __init__(self, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts the deadline now."""
        self._clock = clock
        self._deadline_s = clock() + timeout_s
        self._attempt_count = 1

    def remaining_s(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._deadline_s - self._clock())

    def delay_s(self, error: RecalldError) -> float | None:
        """Seconds to wait before trying again; None: give up and raise."""
        if not isinstance(error, ResourceExhausted) or error.retry_after_s is None:
            return None
        if self._attempt_count >= ATTEMPTS_MAX or error.retry_after_s >= self.remaining_s():
            return None
        self._attempt_count += 1
        return error.retry_after_s
