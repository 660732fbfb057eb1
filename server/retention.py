"""When answers to request ids may be forgotten, on a clock that may jump.

Answers carry wall time, and a wall clock that is set wrong or right would make all of them seem
older than a day at once: a repeated call would be carried out a second time. So nothing is
forgotten until a day has passed, by the clock that never jumps, since the last jump. Keeping an
answer longer costs little.

It reads no store; the caller forgets what it is told.
"""

from __future__ import annotations

from recalld.server.clock import Clock

KEEP_S = 24 * 3600
KEEP_US = KEEP_S * 1_000_000
JUMP_S_MIN = 300.0
"""The two clocks differ by less than this over an hour of slewing, suspending apart."""


class Retention:
    """What a server knows of the age of answers."""

    def __init__(self, clock: Clock, newest_us: int) -> None:
        """Start to watch the clock.

        Args:
            clock: of the server.
            newest_us: wall time of the newest stored answer; 0 = there is none. A jump while the
                server was down shows in it: either it is to come, or everything seems outdated.
        """
        self._clock = clock
        self._wall_us = clock.now_us()
        self._monotonic_s = clock.monotonic_s()
        seems_jumped = newest_us and not 0 <= self._wall_us - newest_us < KEEP_US
        self._hold_until_s = self._monotonic_s + (KEEP_S if seems_jumped else 0.0)

    def forget_before_us(self) -> int:
        """Wall time before which answers may be forgotten now; 0 = none may."""
        now_us, now_s = self._clock.now_us(), self._clock.monotonic_s()
        drift_s = (now_us - self._wall_us) / 1e6 - (now_s - self._monotonic_s)
        self._wall_us, self._monotonic_s = now_us, now_s
        if abs(drift_s) >= JUMP_S_MIN:
            self._hold_until_s = now_s + KEEP_S
        return now_us - KEEP_US if now_s >= self._hold_until_s else 0
