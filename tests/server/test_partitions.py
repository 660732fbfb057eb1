"""Partitions on demand: loaded once, shared, let go of, and never a different answer."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from recalld.server.errors import DeadlinePassed
from recalld.storage.errors import StorageError
from recalld.storage.memory_store import MemoryImage
from recalld.storage.store import StoredMemory
from recalld.v1 import admin_service_pb2
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import TENANT, Core, memory, opened, texts
from tests.server.faulty import FaultyStore

USERS = ("ann", "bob", "cy")
TINY_BYTES = 1
"""A budget for no more than the partition used last."""


class SlowStore(FaultyStore):
    """A store whose partitions are read when the test says so, or not at all."""

    def __init__(self, image: MemoryImage) -> None:
        super().__init__(image)
        self.loaded: list[str] = []
        self.go = threading.Event()
        self.go.set()
        self.broken: set[str] = set()

    def load_partition(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None = None
    ) -> Iterator[StoredMemory]:
        self.loaded.append(user_id)
        assert self.go.wait(20)
        if user_id in self.broken:
            raise StorageError("the disk is gone")
        return super().load_partition(tenant, user_id, labels)


async def filled() -> MemoryImage:
    """Rows of some users."""
    image = MemoryImage()
    async with opened(FaultyStore(image)) as core:
        for user in USERS:
            await core.remember(user, memory(f"{user} likes tea"), memory("tea", key="drink"))
    return image


@contextlib.asynccontextmanager
async def restarted(bytes_max: int = 1 << 30) -> AsyncIterator[tuple[Core, SlowStore]]:
    """A core over such rows, started anew: nothing is in memory."""
    store = SlowStore(await filled())
    async with opened(store, memory_max_bytes=bytes_max) as core:
        yield core, store


def sample(core: Core, name: str, **labels: str) -> float:
    """A metric's value."""
    value = core.metrics.registry.get_sample_value(name, labels)
    assert value is not None
    return value


async def test_a_start_loads_nothing() -> None:
    """After a start only the first call of a user reads that user's memories, and only once."""
    async with restarted() as (core, store):
        assert (store.loaded, len(core.partitions)) == ([], 0)
        assert core.partitions.count_of(TENANT) == 6
        for _ in range(2):
            assert len((await core.recall("ann", "tea")).hits) == 2
        assert store.loaded == ["ann"]
        assert sample(core, "recalld_partition_loads_total", outcome="loaded") == 1
        assert sample(core, "recalld_partitions_resident") == 1
        assert sample(core, "recalld_partitions_resident_bytes") == core.partitions.resident_bytes
        assert sample(core, "recalld_stage_seconds_count", stage="load") == 1


async def test_unknown_users_load_nothing() -> None:
    """A user without memories costs no look into the store, by whatever call."""
    async with restarted() as (core, store):
        assert not (await core.recall("eve", "tea", shared_user_ids=["mallory"])).hits
        assert await core.listed("eve") == []
        assert store.loaded == []
        assert len(core.partitions) == 0


async def test_first_calls_share_one_load() -> None:
    """Calls that come while a partition is loaded wait for the same load."""
    async with restarted() as (core, store):
        store.go.clear()
        calls = [asyncio.create_task(core.recall("ann", "tea")) for _ in range(8)]
        write = asyncio.create_task(core.remember("ann", memory("ann likes coffee")))
        while not store.loaded:
            await asyncio.sleep(0.001)
        store.go.set()
        assert {len(answer.hits) for answer in await asyncio.gather(*calls)} == {2}
        await write
        assert store.loaded == ["ann"]
        assert len(await core.listed("ann")) == 3


async def test_shared_users_are_loaded_side_by_side() -> None:
    """A recall over several users waits for all loads at once, and answers for all of them."""
    async with restarted() as (core, store):
        store.go.clear()
        call = asyncio.create_task(core.recall("ann", "tea", shared_user_ids=["bob"]))
        while len(store.loaded) < 2:
            await asyncio.sleep(0.001)
        store.go.set()
        assert {"ann likes tea", "bob likes tea"} <= set(texts((await call).hits))


async def test_a_deadline_ends_the_wait_not_the_load() -> None:
    """A call whose deadline passes while its user is loaded says so; the next one finds it."""
    async with restarted() as (core, store):
        store.go.clear()
        soon = {"deadline_s": core.clock.monotonic_s() + 0.02}
        with pytest.raises(DeadlinePassed, match="memories of this user were loaded"):
            await core.recall("ann", "tea", call=soon)
        store.go.set()
        assert len((await core.recall("ann", "tea")).hits) == 2
        assert store.loaded == ["ann"]


async def test_a_failing_load_fails_its_calls_alone() -> None:
    """What cannot be read is an error of the calls that need it; others, and later ones, work."""
    async with restarted() as (core, store):
        store.broken.add("ann")
        for _ in range(2):
            with pytest.raises(StorageError, match="the disk is gone"):
                await core.recall("ann", "tea")
        assert len((await core.recall("bob", "tea")).hits) == 2
        assert sample(core, "recalld_partition_loads_total", outcome="failed") == 2
        store.broken.clear()
        assert len((await core.recall("ann", "tea")).hits) == 2


async def test_the_least_recently_used_goes() -> None:
    """Above the budget the partition that was used least recently is let go of, and comes back."""
    async with restarted() as (core, store):
        for user in USERS:
            await core.recall(user, "tea")
        core.partitions.bytes_max = core.partitions.resident_bytes - 1
        await core.recall("ann", "tea")
        await core.remember("ann", memory("ann likes milk"))
        assert core.partitions.find(TENANT, "bob") is None
        assert core.partitions.find(TENANT, "cy") is not None
        assert sample(core, "recalld_partition_evictions_total") == 1
        await core.recall("bob", "tea")
        assert store.loaded == [*USERS, "bob"]


async def test_what_is_used_is_never_loaded_twice() -> None:
    """Whoever holds a partition keeps it the only one, and what is written to it stays visible."""
    async with restarted(TINY_BYTES) as (core, store):
        held = await core.partitions.use(TENANT, "ann", core.caller())
        await core.recall("bob", "tea")
        assert len(core.partitions) == 1
        assert core.partitions.find(TENANT, "ann") is held
        await core.remember("ann", memory("ann likes milk"))
        assert held is not None and len(held) == 3
        del held
        await core.recall("bob", "tea")
        gc.collect()
        assert len(await core.listed("ann")) == 3
        assert store.loaded == ["ann", "bob", "bob", "ann"]


async def test_counts_and_statistics_need_no_load() -> None:
    """Quota counts and GetStats are right for users who are not in memory."""
    async with restarted(TINY_BYTES) as (core, store):
        stats = await core.ask("GetStats", admin_service_pb2.GetStatsRequest())
        assert (stats.memory_count, stats.user_count) == (6, 3)
        assert store.loaded == []
        await core.forget("ann", all=True, mode=pb.ForgetMode.FORGET_MODE_PURGE)
        await core.recall("bob", "tea")
        stats = await core.ask("GetStats", admin_service_pb2.GetStatsRequest())
        assert (stats.memory_count, stats.user_count) == (4, 2)
        assert core.partitions.count_of(TENANT) == 4
        assert await core.listed("ann") == []


async def test_the_newest_are_warmed_within_half_of_the_budget() -> None:
    """What was changed last is loaded first, and warming never makes room by letting go."""
    async with restarted() as (core, store):
        newest = sorted(core.store.partitions(), key=lambda one: one.user_id, reverse=True)
        await core.partitions.warm(newest[:1])
        assert store.loaded == ["cy"]
        core.partitions.bytes_max = 3 * core.partitions.resident_bytes
        await core.partitions.warm(newest)
        assert store.loaded == ["cy", "bob"]
        assert sample(core, "recalld_partition_evictions_total") == 0


async def test_calls_go_ahead_of_what_is_warmed() -> None:
    """While calls wait for loads nothing is warmed, unless one of them wants just that."""
    async with restarted() as (core, store):
        newest = {one.user_id: one for one in core.store.partitions()}
        store.go.clear()
        calls = [asyncio.create_task(core.recall("ann", "tea"))]
        while store.loaded != ["ann"]:
            await asyncio.sleep(0.001)
        warming = asyncio.create_task(core.partitions.warm([newest["bob"], newest["cy"]]))
        calls.append(asyncio.create_task(core.recall("cy", "tea")))
        while len(store.loaded) < 2:
            await asyncio.sleep(0.001)
        assert store.loaded == ["ann", "cy"]
        calls.append(asyncio.create_task(core.recall("bob", "tea")))
        while len(store.loaded) < 3:
            await asyncio.sleep(0.001)
        store.go.set()
        assert {len(answer.hits) for answer in await asyncio.gather(*calls)} == {2}
        await warming
        assert store.loaded == ["ann", "cy", "bob"]
