"""When answers to request ids may be forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.retention import KEEP_S, KEEP_US, Retention
from tests.server.core import NOW_US

HOUR_S = 3600
YEAR_S = 365 * 24 * HOUR_S


class TwoClocks:
    """Wall time and monotonic time, moved apart by the test."""

    def __init__(self) -> None:
        self.wall_us = NOW_US
        self.seconds = 1_000.0

    def now_us(self) -> int:
        return self.wall_us

    def monotonic_s(self) -> float:
        return self.seconds

    def pass_hours(self, count: float = 1) -> None:
        self.wall_us += int(count * HOUR_S * 1e6)
        self.seconds += count * HOUR_S

    def jump(self, seconds: float) -> None:
        self.wall_us += int(seconds * 1e6)


def test_a_steady_clock() -> None:
    """On a clock that does not jump, what is older than a day may go, every hour."""
    clock = TwoClocks()
    retention = Retention(clock, NOW_US - HOUR_S * 1_000_000)
    for _ in range(3):
        clock.pass_hours()
        assert retention.forget_before_us() == clock.now_us() - KEEP_US


@pytest.mark.parametrize("seconds", [10 * YEAR_S, -10 * YEAR_S, 2 * HOUR_S, -2 * HOUR_S])
def test_a_jump_holds_everything_for_a_day(seconds: float) -> None:
    """After a jump nothing is forgotten until a day of real time has passed."""
    clock = TwoClocks()
    retention = Retention(clock, 0)
    clock.pass_hours()
    clock.jump(seconds)
    for _ in range(24):
        assert retention.forget_before_us() == 0
        clock.pass_hours()
    assert retention.forget_before_us() == clock.now_us() - KEEP_US


@pytest.mark.parametrize("ahead_s", [HOUR_S, 10 * YEAR_S, -2 * KEEP_S, -10 * YEAR_S])
def test_a_jump_while_the_server_was_down(ahead_s: float) -> None:
    """When the newest answer is of the future, or all are outdated, a day passes first."""
    clock = TwoClocks()
    retention = Retention(clock, NOW_US + int(ahead_s * 1e6))
    clock.pass_hours(23)
    assert retention.forget_before_us() == 0
    clock.pass_hours(1)
    assert retention.forget_before_us() == clock.now_us() - KEEP_US


@given(st.lists(st.sampled_from([0.0, 1.0, -YEAR_S, YEAR_S, 600.0]), max_size=60))
def test_no_answer_goes_before_its_day(jumps: list[float]) -> None:
    """However the clock jumps between the hours, no answer goes within a day of real time."""
    clock = TwoClocks()
    retention = Retention(clock, 0)
    written: list[tuple[int, float]] = []
    for jump in jumps:
        written.append((clock.now_us(), clock.monotonic_s()))
        clock.pass_hours()
        clock.jump(jump)
        before_us = retention.forget_before_us()
        for wall_us, seconds in written:
            assert wall_us >= before_us or clock.monotonic_s() - seconds >= KEEP_S - 1
