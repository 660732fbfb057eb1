"""The partitions of all users, by (tenant, user_id): loaded on first use, the idle ones let go.

It knows of every user how many memories are stored, and holds the partitions used last within a
budget of bytes. It never searches and never writes to disk.

Invariants: there is one object for a partition as long as anybody uses it. The budget only drops
the reference kept here; whoever still works with a partition keeps it alive, and everybody who
asks meanwhile gets the same one. So nothing is ever loaded beside changes that are under way. One
load of a partition runs at a time, its callers share it, and its failure is theirs alone.

Thread safety: everything here happens on the event loop; only the loading itself does not.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from weakref import WeakValueDictionary

import numpy as np

from recalld.server.call import Call
from recalld.server.errors import DeadlinePassed
from recalld.server.graphs import Graphs
from recalld.server.load_priority import Key
from recalld.server.loading import Labels, Loading
from recalld.server.metrics import FAILED, LOADED, PartitionMetrics
from recalld.server.partition import Partition
from recalld.storage.sizes import Partition as StoredPartition

WARM_SHARE = 0.5
"""Of the budget: what is loaded before it is asked for leaves room for what is asked for."""


class Partitions:
    """What is stored, by user, and the partitions that are in memory."""

    def __init__(
        self,
        stored: Iterable[StoredPartition],
        loading: Loading,
        graphs: Graphs,
        metrics: PartitionMetrics,
        bytes_max: int,
    ) -> None:
        """Start with nothing in memory.

        Args:
            stored: every partition that has rows.
            loading: brings rows into memory.
            graphs: told of every partition that came or grew.
            metrics: of loads and of what is resident.
            bytes_max: what partitions may take together, by their own estimate; the one used
                last stays whatever it takes.
        """
        self._loading = loading
        self._graphs = graphs
        self._metrics = metrics
        self.bytes_max = bytes_max
        self._counts: dict[str, dict[str, int]] = {}
        # Of partitions that are not held: with them a load is a look-up, not a scan.
        self._labels: dict[Key, Labels] = {}
        self._totals: Counter[str] = Counter()
        self._kept: OrderedDict[Key, Partition] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._alive: WeakValueDictionary[Key, Partition] = WeakValueDictionary()
        self._tasks: dict[Key, asyncio.Task[Partition]] = {}
        self.resident_bytes = 0
        for one in stored:
            self._count((one.tenant, one.user_id), one.count)
            self._labels[one.tenant, one.user_id] = one.labels
        metrics.resident.set_function(lambda: len(self._kept))
        metrics.resident_bytes.set_function(lambda: self.resident_bytes)

    def find(self, tenant: str, user_id: str) -> Partition | None:
        """The partition of a user if it is in memory now."""
        key = (tenant, user_id)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        alive = self._alive.get(key)
        if alive is not None:
            self.settle(alive)
        return alive

    async def use(self, tenant: str, user_id: str, call: Call) -> Partition | None:
        """The partition of a user, loaded when it is not in memory; None when nothing is stored.

        Raises:
            DeadlinePassed: it was not loaded in time; it goes on being loaded.
            Corrupt, StorageError: its rows cannot be read.
        """
        found = self.find(tenant, user_id)
        if found is not None or not self.count_of_user(tenant, user_id):
            return found
        task = self._begin((tenant, user_id))
        left_s = call.remaining_s()
        try:
            async with asyncio.timeout(None if left_s == float("inf") else max(0.0, left_s)):
                # Others wait for the same load, and the next call will want it.
                return await asyncio.shield(task)
        except TimeoutError:
            raise DeadlinePassed(
                "the deadline passed before the memories of this user were loaded"
            ) from None

    async def loaded(self, tenant: str, user_id: str) -> Partition | None:
        """As `use`, for the server itself, whatever time it takes."""
        found = self.find(tenant, user_id)
        if found is not None or not self.count_of_user(tenant, user_id):
            return found
        return await asyncio.shield(self._begin((tenant, user_id)))

    async def use_all(self, tenant: str, user_ids: Sequence[str], call: Call) -> list[Partition]:
        """The partitions of some users in their order, without those who have nothing stored.

        Raises: as `use`.
        """
        found = [self.find(tenant, user_id) for user_id in user_ids]
        if None in found:
            for user_id in user_ids:
                if self.count_of_user(tenant, user_id) and self.find(tenant, user_id) is None:
                    self._begin((tenant, user_id))
            found = [await self.use(tenant, user_id, call) for user_id in user_ids]
        return [partition for partition in found if partition is not None]

    async def open(self, tenant: str, user_id: str, call: Call) -> Partition:
        """The partition of a user, made empty when there is none: for writers only.

        Raises: as `use`.
        """
        partition = await self.use(tenant, user_id, call)
        if partition is None:
            partition = self._loading.empty(tenant, user_id)
            self._alive[tenant, user_id] = partition
        return partition

    def settle(self, partition: Partition) -> None:
        """Take note of a partition that was loaded, used again or changed."""
        key = (partition.tenant, partition.user_id)
        size = partition.size_bytes
        self._count(key, len(partition))
        self.resident_bytes += size - self._sizes.get(key, 0)
        self._sizes[key] = size
        self._labels.pop(key, None)
        self._kept[key] = partition
        self._kept.move_to_end(key)
        while self.resident_bytes > self.bytes_max and len(self._kept) > 1:
            self._let_go()
        self._graphs.consider(partition)

    def count_of(self, tenant: str) -> int:
        """Memories of one tenant, of any status."""
        return self._totals[tenant]

    def count_of_user(self, tenant: str, user_id: str) -> int:
        """Memories of one user, of any status."""
        users = self._counts.get(tenant)
        return users.get(user_id, 0) if users is not None else 0

    def users_of(self, tenant: str) -> int:
        """Users of one tenant who have memories."""
        return len(self._counts.get(tenant, ()))

    def __len__(self) -> int:
        """Partitions in memory."""
        return len(self._kept)

    def __iter__(self) -> Iterator[Partition]:
        """Partitions in memory, least recently used first."""
        return iter(list(self._kept.values()))

    async def warm(self, newest: Sequence[StoredPartition]) -> None:
        """Load some partitions, one after the other, as long as none has to go for them.

        What a call waits for is loaded first, whatever was begun here.
        """
        for one in newest:
            if self.resident_bytes >= WARM_SHARE * self.bytes_max:
                return
            if self.find(one.tenant, one.user_id) is None:
                await asyncio.wait((self._begin((one.tenant, one.user_id), is_wanted=False),))

    async def close(self) -> None:
        """Wait for what is being loaded; nothing is loaded afterwards."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        self._loading.close()

    def _begin(self, key: Key, *, is_wanted: bool = True) -> asyncio.Task[Partition]:
        """The load of a partition that is under way, or a new one; `is_wanted`: by a call."""
        if is_wanted:
            self._loading.priority.want(key)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._load(key))
            task.add_done_callback(lambda done: self._loaded(key, done))
        return task

    async def _load(self, key: Key) -> Partition:
        partition = await self._loading.load(*key, self._labels[key])
        self._alive[key] = partition
        self.settle(partition)
        return partition

    def _loaded(self, key: Key, task: asyncio.Task[Partition]) -> None:
        """Count a load; its error is looked at, whoever still waits for it."""
        del self._tasks[key]
        self._loading.priority.done(key)
        is_failed = task.cancelled() or task.exception() is not None
        self._metrics.loads.labels(FAILED if is_failed else LOADED).inc()

    def _let_go(self) -> None:
        """Drop the partition that was used least recently."""
        key, partition = self._kept.popitem(last=False)
        self._labels[key] = np.sort(np.fromiter(partition.records, np.int64, len(partition)))
        self.resident_bytes -= self._sizes.pop(key)
        self._metrics.evictions.inc()

    def _count(self, key: Key, count: int) -> None:
        """Note how many memories a user has."""
        tenant, user_id = key
        users = self._counts.setdefault(tenant, {})
        self._totals[tenant] += count - users.pop(user_id, 0)
        if count:
            users[user_id] = count
