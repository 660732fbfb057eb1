"""Writes: idempotent, whole or not at all, and finished whoever goes away."""

from __future__ import annotations

import asyncio

import pytest

from recalld.server.errors import DeadlinePassed, InvalidRequest, RequestIdReused
from recalld.storage.errors import StoreFailed
from recalld.storage.memory_store import MemoryImage
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import (
    Core,
    condition,
    memory,
    must,
    opened,
    remember_request,
    scope,
    texts,
)
from tests.server.faulty import FaultyStore


async def test_repeat_gets_the_first_answer(core: Core) -> None:
    """The same request under the same id is stored once and answered the same."""
    first = await core.remember("u", memory("tea"), memory("milk"), id="r1")
    second = await core.remember("u", memory("tea"), memory("milk"), id="r1")
    assert first == second
    assert len(await core.listed("u")) == 2


async def test_repeat_survives_a_restart() -> None:
    """A repeat gets the first answer from a server that was started in between."""
    image = MemoryImage()
    async with opened(FaultyStore(image)) as core:
        first = await core.remember("u", memory("tea"), id="r1")
    async with opened(FaultyStore(image)) as core:
        assert await core.remember("u", memory("tea"), id="r1") == first
        assert len(await core.listed("u")) == 1


async def test_without_an_id_nothing_is_kept(core: Core) -> None:
    """Events without an id are stored as often as they are sent at other times."""
    for event_time in (1, 2):
        await core.remember("u", memory("beep", kind=4, event_time=event_time))
    assert len(await core.listed("u")) == 2


@pytest.mark.parametrize("other", [remember_request("u", memory("beer"), id="r1"), None])
async def test_other_body_or_method_under_the_same_id(core: Core, other: object) -> None:
    """An id that comes again with another body, or for another method, is refused."""
    await core.remember("u", memory("tea"), id="r1")
    with pytest.raises(RequestIdReused):
        if other is None:
            await core.ask("Forget", pb.ForgetRequest(scope=scope("u"), all=True, request_id="r1"))
        else:
            await core.ask("Remember", other)
    assert [item.content for item in await core.listed("u", 1)] == ["tea"]


async def test_repeats_at_the_same_time(core: Core) -> None:
    """Many repeats that run at once make one row and get one answer."""
    answers = await asyncio.gather(
        *(core.remember("u", memory("tea", key="drink"), id="r1") for _ in range(20))
    )
    assert all(answer == answers[0] for answer in answers)
    assert len(await core.listed("u")) == 1


async def test_a_failed_request_may_be_sent_again(core: Core) -> None:
    """An id whose first request was refused is still free."""
    with pytest.raises(InvalidRequest):
        await core.remember("u", memory("tea", confidence=2.0), id="r1")
    await core.remember("u", memory("tea"), id="r1")


async def test_revisions_rise_by_one(core: Core) -> None:
    """Every write of a tenant, whoever the user is, carries the next revision."""
    revisions = [(await core.remember(f"u{n % 3}", memory(f"text {n}"))).revision for n in range(6)]
    assert revisions == [1, 2, 3, 4, 5, 6]
    assert core.writer.published("default") == 6


async def test_writes_of_one_user_at_the_same_time(core: Core) -> None:
    """Values of one slot that are written at once leave exactly one of them current."""
    await asyncio.gather(*(core.remember("u", memory(f"city {n}", key="city")) for n in range(30)))
    assert len(await core.listed("u", 1)) == 1
    assert len(await core.listed("u", 2)) == 29


async def test_cancelled_write_is_finished_once() -> None:
    """A write whose caller goes away while it waits for the disk is still stored, once."""
    store = FaultyStore()
    async with opened(store) as core:
        store.is_held = True
        request = asyncio.ensure_future(core.remember("u", memory("tea"), id="r1"))
        while not store.held:
            await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        again = asyncio.ensure_future(core.remember("u", memory("tea"), id="r1"))
        await asyncio.sleep(0)
        assert await core.listed("u") == []
        store.release()
        result = (await again).results[0]
        assert [item.id for item in await core.listed("u")] == [result.id]
        assert texts((await core.recall("u", "tea")).hits) == ["tea"]


async def test_nothing_is_visible_before_it_is_durable() -> None:
    """Until the store says that rows are durable, nobody reads them."""
    store = FaultyStore()
    async with opened(store) as core:
        store.is_held = True
        request = asyncio.ensure_future(core.remember("u", memory("tea")))
        while not store.held:
            await asyncio.sleep(0)
        assert (await core.recall("u", "tea")).abstained
        assert core.writer.published("default") == 0
        store.release()
        await request
        assert texts((await core.recall("u", "tea")).hits) == ["tea"]


async def test_a_value_is_replaced_in_one_step(core: Core) -> None:
    """While a slot's value is replaced again and again, every read finds exactly one value."""
    await core.remember("u", memory("value 0", key="city"))
    writing = asyncio.ensure_future(replace_often(core))
    narrow = must(condition(key={"values": ["city"]}))
    while not writing.done():
        assert len((await core.recall("u", filter=narrow, min_score=0.0)).hits) == 1
        assert len((await core.recall("u", "value", min_score=0.0)).hits) == 1
        assert len(await core.listed("u", 1)) == 1
        assert (await core.forget("u", filter=narrow, dry_run=True)).count >= 1
        await asyncio.sleep(0)
    await writing


async def replace_often(core: Core) -> None:
    """A hundred values of one slot, one after the other."""
    for number in range(1, 100):
        await core.remember("u", memory(f"value {number}", key="city"))


async def test_failed_store_changes_nothing() -> None:
    """When the store fails, the user's memories are as they were, and the caller is told."""
    store = FaultyStore()
    async with opened(store) as core:
        first = (await core.remember("u", memory("tea", key="drink"))).results[0]
        before = await core.listed("u")
        store.is_failing = True
        with pytest.raises(StoreFailed):
            await core.remember("u", memory("milk", key="drink"), memory("other"), id="r1")
        with pytest.raises(StoreFailed):
            await core.forget("u", first.id)
        with pytest.raises(StoreFailed):
            await core.update("u", first.id, "content", content="beer")
        assert await core.listed("u") == before
        assert texts((await core.recall("u", "milk drink")).hits) == ["tea"]
        assert core.writer.published("default") == 1


async def test_bad_item_stores_nothing_of_its_batch(core: Core) -> None:
    """A batch with one bad item is refused whole."""
    with pytest.raises(InvalidRequest, match=r"memories\[1\]\.memory\.content"):
        await core.remember("u", memory("tea"), memory("  "), memory("milk"))
    assert await core.listed("u") == []
    assert core.writer.revision("default") == 0


async def test_deadline_passes_while_another_writes() -> None:
    """A write whose turn comes after its deadline is not begun, and takes no revision."""
    store = FaultyStore()
    async with opened(store) as core:
        await core.remember("u", memory("tea"))
        store.is_held = True
        first = asyncio.create_task(core.remember("u", memory("milk")))
        while not store.held:
            await asyncio.sleep(0)
        soon_s = core.clock.monotonic_s() + 0.05
        second = asyncio.create_task(core.remember("u", memory("wine"), deadline_s=soon_s))
        await asyncio.sleep(0.1)
        store.release()
        await first
        with pytest.raises(DeadlinePassed):
            await second
        assert sorted(m.content for m in await core.listed("u")) == ["milk", "tea"]
        assert core.writer.revision("default") == 2


async def test_caller_leaves_before_its_turn() -> None:
    """A write whose caller went away while another wrote is not begun."""
    store = FaultyStore()
    async with opened(store) as core:
        store.is_held = True
        first = asyncio.create_task(core.remember("u", memory("milk")))
        while not store.held:
            await asyncio.sleep(0)
        second = asyncio.create_task(core.remember("u", memory("wine")))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0)
        store.release()
        await first
        await core.writer.drain()
        assert [m.content for m in await core.listed("u")] == ["milk"]


async def test_a_long_write_lets_others_in(core: Core) -> None:
    """While many memories are placed, recalls are answered, and other users' writes of the tenant
    get revisions of their own."""
    many = [memory(f"note {n} of the shelf", kind=4) for n in range(100)]
    long = asyncio.ensure_future(core.remember("u", *many))
    others = [asyncio.ensure_future(core.remember(f"v{n}", memory("tea"))) for n in range(5)]
    asked = 0
    while not long.done():
        await core.recall("v0", text="tea")
        await asyncio.sleep(0)
        asked += 1
    assert asked > 1
    done = [await long, *[await other for other in others]]
    assert sorted(one.revision for one in done) == list(range(1, 7))
    assert len(await core.listed("u")) == 100
