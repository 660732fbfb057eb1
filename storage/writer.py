"""Group commit: one thread that turns many submitted batches into few durable transactions.

Knows no database: the backend gives a `commit` function that makes a group durable or raises.
It never retries and never drops a batch: every future resolves or fails.

Invariants: one thread calls `commit` and the jobs, never two at once; groups keep the order of
submission; after the first failure nothing is committed any more, unless it was a passing one
(`room.py`) and the backend has gone back to what was acknowledged.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from recalld.storage.errors import StoreBusy, StoreClosed, StoreFailed, StoreFull
from recalld.storage.room import is_passing
from recalld.storage.store import QUEUE_ROW_COUNT_MAX, WriteBatch

GROUP_ROW_COUNT_MAX = 512


@dataclass(slots=True)
class _Entry:
    """A batch to group, or (`job` set) work to be run alone between two groups."""

    batch: WriteBatch | None = None
    job: Callable[[], Any] | None = None
    future: Future[Any] = field(default_factory=Future)

    @property
    def row_count(self) -> int:
        # A batch without rows still takes a place: the queue is bounded in either case.
        return max(1, len(self.batch.memories)) if self.batch else 1


class BatchWriter(Protocol):
    """What takes the batches and jobs of a store; `GroupWriter` says what each promises."""

    @property
    def waiting_row_count(self) -> int:
        """Rows submitted whose outcome is not known yet."""
        ...

    def submit(self, batch: WriteBatch) -> Future[None]:
        """Queues a batch."""
        ...

    def run(self, job: Callable[[], Any]) -> Future[Any]:
        """Queues work between two groups."""
        ...

    def close(self) -> None:
        """Refuses new work and finishes what is queued."""
        ...


class Recovery(Protocol):
    """How a backend comes back from a passing failure."""

    def mend(self) -> None:
        """Goes back to exactly what was acknowledged, so that it can be read.

        Raises:
            Exception: it cannot, yet (a passing one) or at all.
        """
        ...

    def require_room(self) -> None:
        """Raises a passing exception while what was lacking is still lacking."""
        ...


class GroupWriter:
    """The writer thread and its bounded queue.

    Thread safety: every method may be called from any thread.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[WriteBatch]], None],
        recovery: Recovery,
        *,
        group_row_count_max: int = GROUP_ROW_COUNT_MAX,
        queue_row_count_max: int = QUEUE_ROW_COUNT_MAX,
    ) -> None:
        """Starts the thread.

        Args:
            commit: makes a group durable; called on the thread; any exception ends all writing,
                a passing one until `recovery` succeeds.
            recovery: called on the thread.
            group_row_count_max: a group stops growing once it holds this many rows, > 0.
            queue_row_count_max: rows that may wait, > 0.
        """
        assert group_row_count_max > 0
        assert queue_row_count_max > 0
        self._commit = commit
        self._group_row_count_max = group_row_count_max
        self._queue_row_count_max = queue_row_count_max
        self._ready = threading.Condition()
        self._queue: deque[_Entry] = deque()
        self._waiting_row_count = 0
        self._closing = False
        self._recovery = recovery
        self._failure: BaseException | None = None
        self._is_mended = False
        self._retry_at_s = 0.0
        self._thread = threading.Thread(target=self._run, name="recalld-store-writer", daemon=True)
        self._thread.start()

    @property
    def waiting_row_count(self) -> int:
        """Rows submitted whose outcome is not known yet."""
        return self._waiting_row_count

    def submit(self, batch: WriteBatch) -> Future[None]:
        """Queues a batch; raises StoreBusy, StoreClosed or StoreFailed with nothing queued."""
        return self._put(_Entry(batch=batch))

    def run(self, job: Callable[[], Any]) -> Future[Any]:
        """Queues `job` to run on the writer thread after everything queued before it.

        Its exception is a failed write: it ends all writing.
        """
        return self._put(_Entry(job=job))

    def close(self) -> None:
        """Refuses new work, finishes what is queued and ends the thread."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()

    def _put(self, entry: _Entry) -> Future[Any]:
        # Running at once: a waiter that gives up must not take back what may be half written.
        entry.future.set_running_or_notify_cancel()
        with self._ready:
            if self._failure is not None and not self._may_try(self._failure):
                raise _failed(self._failure)
            if self._closing:
                raise StoreClosed("the store is closed")
            if self._waiting_row_count and (
                self._waiting_row_count + entry.row_count > self._queue_row_count_max
            ):
                raise StoreBusy(
                    f"{self._waiting_row_count} rows wait, limit {self._queue_row_count_max}"
                )
            self._waiting_row_count += entry.row_count
            self._queue.append(entry)
            self._ready.notify()
        return entry.future

    def _may_try(self, failure: BaseException) -> bool:
        """Lets one entry in now and then, which finds out whether what was lacking is back."""
        now_s = time.perf_counter()
        if not is_passing(failure) or self._queue or now_s < self._retry_at_s:
            return False
        self._retry_at_s = now_s + StoreFull.retry_after_s
        return True

    def _run(self) -> None:
        while group := self._next_group():
            result, failure = None, None
            try:
                self._require_working()
                result = self._perform(group)
            # Whatever it is, the batches' fate is unknown: stop writing and tell every waiter.
            except BaseException as error:
                failure = self._stop(error)
            with self._ready:
                self._waiting_row_count -= sum(entry.row_count for entry in group)
            for entry in group:
                if failure is None:
                    entry.future.set_result(result)
                else:
                    entry.future.set_exception(_failed(failure))

    def _require_working(self) -> None:
        """Raises what ended writing, unless it has passed."""
        if self._failure is None:
            return
        if not is_passing(self._failure):
            raise self._failure
        if not self._is_mended:
            self._recovery.mend()
            self._is_mended = True
        self._recovery.require_room()
        self._failure = None

    def _stop(self, error: BaseException) -> BaseException:
        """Ends writing; when it may begin again, at once goes back to what was acknowledged.

        Returns:
            Why it ended.
        """
        is_new = self._failure is None
        with self._ready:
            self._failure = error
        if is_new and is_passing(error):
            self._is_mended = False
            try:
                self._recovery.mend()
                self._is_mended = True
            except BaseException as worse:
                with self._ready:
                    self._failure = worse
        return self._failure

    def _perform(self, group: list[_Entry]) -> Any:
        if group[0].job is not None:
            return group[0].job()
        self._commit([entry.batch for entry in group if entry.batch is not None])
        return None

    def _next_group(self) -> list[_Entry]:
        """Waits for work; returns one job, or batches up to the row limit, or [] at the end."""
        with self._ready:
            while not self._queue and not self._closing:
                self._ready.wait()
            group: list[_Entry] = []
            row_count = 0
            while self._queue and row_count < self._group_row_count_max:
                if group and self._queue[0].job is not None:
                    break
                entry = self._queue.popleft()
                group.append(entry)
                row_count += entry.row_count
                if entry.job is not None:
                    break
            return group


def _failed(failure: BaseException) -> StoreFailed:
    """What callers are told of a failure."""
    error: StoreFailed
    if is_passing(failure):
        error = StoreFull(f"writes begin again by themselves when this is over: {failure}")
    else:
        error = StoreFailed(f"a write failed, reopen the store: {failure}")
    error.__cause__ = failure
    return error
