"""Shows to readers what is durable: the last step of a write.

It changes one partition, under its lock, and never decides what is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import IndexRow
from recalld.server.change import Change
from recalld.server.indexing import index_row
from recalld.server.metrics import Metrics
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.pieces import Pieces
from recalld.server.query import INLINE_ROW_COUNT_MAX
from recalld.storage.purge import PurgeOrder

ADDED_INLINE_COUNT_MAX = 8
"""New rows that are indexed on the event loop: 0.16 ms for one, a third of it in company. A thread
takes as long until it has its turn."""


class Publisher:
    """Puts committed rows into records and index, and takes purged ones out."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        partitions: Partitions,
        metrics: Metrics,
        zone: tzinfo,
    ) -> None:
        """Args: as those of `Writer`."""
        self._pool = pool
        self._partitions = partitions
        self._metrics = metrics
        self._zone = zone

    async def rows_of(self, change: Change, pieces: Pieces) -> dict[int, IndexRow]:
        """What the index will be told of the changed rows, by label; it lets others in between."""
        rows = {}
        for label, record in change.rows.items():
            await pieces.pause()
            rows[label] = index_row(record, self._zone)
        return rows

    async def publish(
        self, partition: Partition, change: Change, rows: Mapping[int, IndexRow]
    ) -> None:
        """Show the committed rows to readers, all of them in one step.

        New rows enter the index first, where nobody follows a label that has no record yet. The
        records change at once; then the index catches up with those that it knew, whose old
        columns mislead nobody, since readers go by the record.

        Args:
            partition: theirs; the caller holds its lock.
            change: what was committed.
            rows: of all of its rows, see `rows_of`.
        """
        known = [label for label in rows if label in partition.records]
        new = [label for label in rows if label not in partition.records]
        index, loop = partition.index, asyncio.get_running_loop()
        if new:
            vectors = np.stack([change.vectors[label] for label in new])
            added = [rows[label] for label in new], vectors, _cues(change, new)
            if len(new) <= ADDED_INLINE_COUNT_MAX and len(index) <= INLINE_ROW_COUNT_MAX:
                index.add(*added)
            else:
                await loop.run_in_executor(self._pool, index.add, *added)
        partition.put(change.rows.values())
        partition.signs |= change.read_signs  # Else the next write would read these texts again.
        self._metrics.memories.inc(len(new))
        if known:
            await loop.run_in_executor(self._pool, _catch_up, partition, change, rows, known)
        self._partitions.settle(partition)

    async def withdraw(self, partition: Partition, order: PurgeOrder, pieces: Pieces) -> None:
        """Take purged rows from readers.

        The records go first: a search that still meets a row finds no record of it.
        """
        async for some in pieces.slices(order.records):
            partition.drop(some)
        self._metrics.memories.dec(len(order.records))
        labels = [record.label for record in order.records]
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._pool, partition.index.remove, labels)


def _catch_up(
    partition: Partition, change: Change, rows: Mapping[int, IndexRow], known: Iterable[int]
) -> None:
    """Change rows that the index has; native work, off the event loop."""
    replaced = [label for label in known if label in change.vectors]
    edited = [label for label in known if label not in change.vectors]
    if replaced:
        vectors = np.stack([change.vectors[label] for label in replaced])
        partition.index.replace([rows[n] for n in replaced], vectors, _cues(change, replaced))
    if edited:
        partition.index.update([rows[n] for n in edited], _cues(change, edited))


def _cues(change: Change, labels: Iterable[int]) -> dict[int, NDArray[np.float32]]:
    """The changed cues of some rows."""
    return {label: change.cues[label] for label in labels if label in change.cues}
