"""The two counters of a store: the next label, and each tenant's newest submitted revision.

It knows nothing of durability: a submitted revision may still fail to be written.

Invariants: labels only go up; a tenant's revision only goes up; order of revisions is order of
submission, because both happen under one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from recalld.storage.errors import StaleRevision
from recalld.storage.store import WriteBatch

R = TypeVar("R")


class Counters:
    """Label and revision counters.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, label_max: int, revisions: Mapping[str, int]) -> None:
        """Continues after `label_max` (0 = no rows) and the given revisions."""
        self._lock = threading.Lock()
        self._label_next = label_max + 1
        self._revisions = dict(revisions)

    def allocate_labels(self, count: int) -> range:
        """See `Store.allocate_labels`."""
        assert count >= 0
        with self._lock:
            first = self._label_next
            self._label_next += count
        return range(first, first + count)

    def submit(self, batch: WriteBatch, submit: Callable[[WriteBatch], R]) -> R:
        """Calls `submit(batch)` in revision order; what it raises leaves the counters alone.

        Raises:
            StaleRevision: the batch does not follow its tenant's last one.
        """
        with self._lock:
            last = self._revisions.get(batch.tenant, 0)
            if batch.revision < last or (
                (batch.memories or batch.purge) and batch.revision == last
            ):
                raise StaleRevision(f"revision {batch.revision} does not follow {last}")
            result = submit(batch)
            self._revisions[batch.tenant] = batch.revision
            for memory in batch.memories:
                self._label_next = max(self._label_next, memory.record.label + 1)
        return result
