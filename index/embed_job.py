"""One order to the shared embedder: its texts, where their vectors go, and how it ends.

It knows no lock and no queue. Invariant: its future is settled once, and can be cancelled until
then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.vector_cache import Key

Vectors = NDArray[np.float32]


@dataclass(eq=False, slots=True)
class Job:
    """One `submit` call.

    Attributes:
        owner, is_query: as submitted.
        texts, keys: in their normal form.
        rows: of `texts` still to be embedded.
        out: the vectors.
        future: what the caller waits for.
        queued_s: when it was queued, on the monotonic clock; 0 once its first text was taken.
    """

    owner: str
    is_query: bool
    texts: list[str]
    keys: list[Key]
    rows: deque[int]
    out: Vectors
    future: Future[Vectors]
    queued_s: float = 0.0

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits for it."""
        return not self.future.cancelled()

    def take_row(self, on_wait: Callable[[bool, float], None] | None) -> int:
        """The next text to embed; `on_wait` is told once how long the job waited for this."""
        if self.queued_s and on_wait is not None:
            on_wait(self.is_query, time.monotonic() - self.queued_s)
        self.queued_s = 0.0
        return self.rows.popleft()

    def finish(self) -> None:
        """Hand the vectors over, unless nobody waits any more."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(self.out)

    def fail(self, error: Exception) -> None:
        """Tell whoever waits that there will be no vectors."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)
