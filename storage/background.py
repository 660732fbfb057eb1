"""How long work behind the calls makes way for them.

Native work (a statement of the database, a checksum, a search for bytes) runs on a thread of low
priority. Python's own work stays at the usual one and comes in slices with rests: a thread that is
made to wait for a processor while it holds Python's lock makes every call wait with it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

PRIORITY = 10
"""Nice value: a thread that wakes up for a call seldom waits for the end of a time slice, and where
others want all of the processor a tenth of it is left, since writes may wait for the work."""
SLICE_COUNT = 64
"""Rows that Python looks at in one go: some hundred microseconds."""
REST_S = 0.0003
"""Behind each slice, with Python's lock let go: otherwise whoever waits for it gets it only after
the interpreter's switch interval, several times a call."""

T = TypeVar("T")


def step_back(priority: int = PRIORITY) -> None:
    """Gives this thread, and those that it starts, a lower priority, for good."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # Never up again: only a process with special rights may.
        priority = max(priority, os.getpriority(os.PRIO_PROCESS, thread))
        os.setpriority(os.PRIO_PROCESS, thread, priority)


def stepped_back(work: Callable[[], T]) -> T:
    """Runs native work on a thread that has stepped back; waits, and returns or raises as it."""
    with ThreadPoolExecutor(1, "recalld-background", step_back) as thread:
        return thread.submit(work).result()


def unhurried(items: Sequence[T], slice_count: int = SLICE_COUNT) -> Iterator[Sequence[T]]:
    """All of `items` in order, some at a time, with a rest behind each but the last."""
    for start in range(0, len(items), slice_count):
        if start:
            time.sleep(REST_S)
        yield items[start : start + slice_count]
