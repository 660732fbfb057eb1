"""Loading of one partition: its durable rows become records, books and index.

It reads and builds on threads of its own, never on the event loop, and keeps nothing. It is only
asked for partitions that nobody writes to meanwhile (see `recalld.server.partitions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.server import logs
from recalld.server.clock import Clock
from recalld.server.indexing import index_row
from recalld.server.load_priority import LoadPriority
from recalld.server.metrics import Metrics
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.reembedding import Reembedding
from recalld.storage.store import Store, StoredMemory

Labels = NDArray[np.int64]
THREAD_COUNT = 2
"""A large partition never keeps small ones waiting; more threads would only share one core. One
more is for what nobody waits for."""
CHUNK_ROW_COUNT = 8_192


@dataclass(frozen=True)
class Loading:
    """Makes partitions.

    Attributes:
        store: where the rows are.
        models: whose vectors are searched.
        reembedding: knows which partitions are not all of the configured model.
        zone: in which the days of a memory's words begin.
        clock: for durations.
        metrics: where they go.
        log: of failures.
        priority: which loads calls wait for.
    """

    store: Store
    models: Models
    reembedding: Reembedding
    zone: tzinfo
    clock: Clock
    metrics: Metrics
    log: Any
    priority: LoadPriority = field(default_factory=LoadPriority, init=False)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREAD_COUNT, "recalld-load"), init=False
    )
    _idle_thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, "recalld-warm"), init=False
    )

    def empty(self, tenant: str, user_id: str) -> Partition:
        """A partition without memories, of the configured model."""
        return self._empty(tenant, user_id, self.models.current.fingerprint)

    async def load(self, tenant: str, user_id: str, labels: Labels) -> Partition:
        """A partition as it is stored, of the rows with these labels.

        One that no call wants yet stands still while others are loaded for calls; of these there
        is one at a time, or the second could be wanted and stand behind the first.

        Raises:
            Corrupt, StorageError, StoreClosed: its rows cannot be read.
        """
        started_s = self.clock.monotonic_s()
        loop = asyncio.get_running_loop()
        is_wanted = self.priority.is_wanted((tenant, user_id))
        threads = self._threads if is_wanted else self._idle_thread
        try:
            partition = await loop.run_in_executor(threads, self._read, tenant, user_id, labels)
        except Exception as error:
            self.log.error("a user's memories cannot be loaded", fault=logs.fault(error))
            raise
        self.metrics.stage.labels("load").observe(self.clock.monotonic_s() - started_s)
        return partition

    def close(self) -> None:
        """End the threads; what they do is finished."""
        self._threads.shutdown()
        self._idle_thread.shutdown()

    def _read(self, tenant: str, user_id: str, labels: Labels) -> Partition:
        """Rows in chunks, so that a large partition is not in memory twice."""
        self.priority.give_way((tenant, user_id))
        stored = self.store.load_partition(tenant, user_id, labels)
        model = self.models.current.fingerprint
        if self.reembedding.is_pending(tenant, user_id):
            # Which model searches them is known when all of them were seen.
            every = list(stored)
            model, stored = self.models.serving(every), iter(every)
        partition = self._empty(tenant, user_id, model)
        for rows in chunks(stored, CHUNK_ROW_COUNT):
            partition.put(row.record for row in rows)
            vectors, cues = self.models.vectors_of(model, rows)
            partition.index.add([index_row(row.record, self.zone) for row in rows], vectors, cues)
            self.priority.give_way((tenant, user_id))
        return partition

    def _empty(self, tenant: str, user_id: str, model: str) -> Partition:
        index, judge = self.models.index(model), self.models.judge_of(model)
        return Partition(tenant, user_id, index, judge)


def chunks(rows: Iterator[StoredMemory], size: int) -> Iterator[list[StoredMemory]]:
    """Rows in lists of at most `size`."""
    while chunk := list(islice(rows, size)):
        yield chunk
