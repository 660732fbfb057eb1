"""How work behind the calls makes way for them."""

import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.storage.background import PRIORITY, stepped_back, unhurried


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
def test_work_that_steps_back_has_a_low_priority_and_its_caller_keeps_the_own() -> None:
    """The nice value is that of the working thread alone."""
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert stepped_back(priority) == max(before, PRIORITY)
    assert priority() == before


def test_what_the_work_raises_reaches_the_caller() -> None:
    """An error passes the thread as it is."""
    with pytest.raises(ZeroDivisionError):
        stepped_back(lambda: 1 // 0)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(), max_size=20), st.integers(1, 7))
def test_slices_together_are_the_whole(items: list[int], slice_count: int) -> None:
    """Nothing is lost, repeated or put in another order, and no slice is larger than asked."""
    slices = list(unhurried(items, slice_count))
    assert [one for some in slices for one in some] == items
    assert all(0 < len(some) <= slice_count for some in slices)
