"""The clock: nothing else in the server reads the time.

Wall time stamps memories; durations come from the monotonic clock and never from differences of
wall time.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Source of wall time and of durations."""

    def now_us(self) -> int:
        """Wall time, microseconds since 1970-01-01T00:00:00Z."""
        ...

    def monotonic_s(self) -> float:
        """Seconds of a clock that never jumps back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Wall time, microseconds since 1970."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds, monotonic."""
        return time.perf_counter()
