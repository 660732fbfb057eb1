"""What a handler knows of its call."""

from __future__ import annotations

import math
import time

import pytest

from recalld.server.call import Call
from recalld.server.clock import SystemClock
from recalld.server.errors import DeadlinePassed
from tests.server.core import NOW_US, FixedClock


def caller(deadline_s: float) -> Call:
    """A call with a deadline."""
    return Call("t", False, "r", NOW_US, deadline_s, FixedClock())


def test_without_a_deadline() -> None:
    """A call without a deadline has all the time."""
    call = caller(math.inf)
    assert call.remaining_s() == math.inf
    call.check_deadline()


def test_deadline() -> None:
    """Between stages a call goes on before its deadline and stops after it."""
    call = caller(FixedClock().monotonic_s() + 60)
    assert 59 < call.remaining_s() <= 60
    call.check_deadline()
    with pytest.raises(DeadlinePassed):
        caller(FixedClock().monotonic_s() - 0.001).check_deadline()


def test_system_clock() -> None:
    """The wall clock tells microseconds since 1970, and durations never go back."""
    clock = SystemClock()
    assert abs(clock.now_us() / 1e6 - time.time()) < 5
    first = clock.monotonic_s()
    assert clock.monotonic_s() >= first
