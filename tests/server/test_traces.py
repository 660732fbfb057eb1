"""The book of traces: bounds, writing behind the answer, and what is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from recalld.scoring.params import CHANNEL_COUNT
from recalld.server import trace_table, traces
from recalld.server.errors import TraceNotFound
from recalld.server.sections import RankingSection, TracesSection
from recalld.server.traced import config_hash
from recalld.storage.errors import StoreBusy, StoreFailed
from recalld.storage.memory_store import MemoryStore
from recalld.storage.store import StoredTrace
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import Core, memory, opened, scope


async def ask(core: Core, text: str = "tea") -> pb.RecallResponse:
    """One traced recall."""
    response: pb.RecallResponse = await core.recall("u", text, explain=True)
    return response


async def is_kept(core: Core, answer: pb.RecallResponse) -> bool:
    try:
        await core.traces.find("default", "u", answer.recall_id)
    except TraceNotFound:
        return False
    return True


def counted(core: Core, outcome: str) -> float:
    return core.metrics.registry.get_sample_value("recalld_traces_total", {"outcome": outcome}) or 0


async def test_the_oldest_give_way() -> None:
    """Of more recalls than are kept, the newest are found and the older ones are not."""
    async with opened(traces=TracesSection(kept_max=2)) as core:
        await core.remember("u", memory("green tea"))
        answers = []
        for _ in range(4):
            core.clock.time_us += 1
            answers.append(await ask(core))
        assert all([await is_kept(core, answer) for answer in answers])
        await core.traces.write()
        assert [await is_kept(core, answer) for answer in answers] == [False, False, True, True]
        assert counted(core, "kept") == 4


async def test_too_many_at_once_are_not_made(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """When too many traces are in the making, the answer comes and says that it has no trace."""
    monkeypatch.setattr(traces, "MAKING_COUNT_MAX", 0)
    await core.remember("u", memory("green tea"))
    answer = await ask(core)
    assert len(answer.hits) == 1
    assert list(answer.degraded) == ["trace_not_kept"]
    assert not await is_kept(core, answer)
    assert counted(core, "lost") == 1


async def test_a_question_is_held_for_the_recent_ones(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the recent traces the question is not known any more; the candidates still are."""
    monkeypatch.setattr(traces, "RECENT_COUNT_MAX", 1)
    await core.remember("u", memory("green tea"))
    first, second = await ask(core), await ask(core)
    # The second one is made by now, which is when the first one's question goes.
    held = [await core.traces.find("default", "u", a.recall_id) for a in (second, first)][::-1]
    assert [trace.plans is not None for trace in held] == [False, True]
    assert [len(trace.table) for trace in held] == [1, 1]
    assert held[0].header.recall_id == first.recall_id


class HeldStore(MemoryStore):
    """A store whose traces wait, or are refused."""

    error: Exception | None = None

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.traces = self.traces, self  # type: ignore[assignment]
        self.held: list[Future[None]] = []

    def put(self, given: Sequence[StoredTrace], kept_max: int) -> Future[None]:
        if self.error is not None:
            raise self.error
        self.held.append(Future())
        self.inner.put(given, kept_max)
        return self.held[-1]

    def find(self, *key: str) -> StoredTrace | None:
        return self.inner.find(*key)

    def page(self, *asked: Any) -> list[StoredTrace]:
        return self.inner.page(*asked)


async def test_a_recall_does_not_wait_for_the_store() -> None:
    """While a write of traces hangs, recalls answer, and their traces can be read and listed."""
    store = HeldStore()
    async with opened(store) as core:
        await core.remember("u", memory("green tea"))
        first = await ask(core)
        assert await is_kept(core, first)
        writing = asyncio.create_task(core.traces.write())
        while not store.held:
            await asyncio.sleep(0)
        second = await ask(core)
        assert await is_kept(core, first) and await is_kept(core, second)
        request = pb.ListRecallTracesRequest(scope=scope("u"))
        listed = (await core.ask("ListRecallTraces", request)).traces
        assert {t.recall_id for t in listed} == {first.recall_id, second.recall_id}
        assert len(listed) == 2
        store.error = StoreFailed("enough")
        store.held[0].set_result(None)
        await writing
        assert counted(core, "kept") == 1


async def test_a_busy_store_is_asked_again() -> None:
    """What a busy store refuses waits for the next write."""
    store = HeldStore()
    store.error = StoreBusy("full")
    async with opened(store) as core:
        await core.remember("u", memory("green tea"))
        answer = await ask(core)
        assert await is_kept(core, answer)
        await core.traces.write()
        assert (counted(core, "kept"), counted(core, "lost")) == (0, 0)
        assert store.inner.find("default", answer.recall_id) is None
        store.error = StoreFailed("gone")


async def test_a_failed_store_loses_traces_and_nothing_else() -> None:
    """What a failed store refuses is counted as lost; recalls go on."""
    store = HeldStore()
    store.error = StoreFailed("the disk is gone")
    async with opened(store) as core:
        await core.remember("u", memory("green tea"))
        await is_kept(core, await ask(core))
        await core.traces.write()
        assert counted(core, "lost") == 1
        assert len((await ask(core)).hits) == 1


async def test_traces_hold_no_text(core: Core) -> None:
    """Neither the words of the request nor those of a memory are in what is stored."""
    await core.remember("u", memory("zanzibar cloves", key="spice.rack"))
    answer = await ask(core, "quetzal zanzibar")
    await core.traces.close()
    stored = core.store.traces.find("default", answer.recall_id)
    assert stored is not None
    plain = stored.header + trace_table.unpack(stored.candidates).tobytes()
    for word in (b"zanzibar", b"cloves", b"quetzal", b"spice"):
        assert word not in plain


def test_a_table_survives_packing() -> None:
    """Every field of every record comes back from its bytes."""
    table = np.zeros(3, dtype=trace_table.LAYOUT)
    table["id"] = [b"a" * 32, b"b" * 32, b"c" * 32]
    table["score"] = [0.5, 0.25, 1.0]
    table["weights"][:, 0] = [1, 2, 3]
    again = trace_table.unpack(trace_table.pack(table))
    assert again.dtype == table.dtype and again.tobytes() == table.tobytes()
    assert len(trace_table.unpack(trace_table.pack(table[:0]))) == 0


def test_a_table_of_fewer_channels_is_read() -> None:
    """What a server with fewer channels stored still gives its parts."""
    table = np.zeros(1, dtype=trace_table.layout(2))
    table["id"] = b"a" * 32
    table["fusion"], table["rank"] = 1, 4
    table["weights"], table["normalised"] = [[3.0, 0.0]], [[0.5, 0.25]]
    row = trace_table.unpack(trace_table.pack(table))[0]
    message = trace_table.wire_candidate(row)
    assert (message.memory_id, message.rank) == ("a" * 32, 4)
    [channel] = message.parts.channels
    assert (channel.channel, channel.weight, channel.normalised) == (1, 3.0, 0.5)
    assert CHANNEL_COUNT > 2


def test_the_hash_names_the_configuration() -> None:
    """Equal settings have one hash, other settings another."""
    first = config_hash("1", RankingSection(), "model")
    assert first == config_hash("1", RankingSection(), "model")
    others = [
        config_hash("2", RankingSection(), "model"),
        config_hash("1", RankingSection(min_score=0.1), "model"),
        config_hash("1", RankingSection(), "other"),
    ]
    assert len({first, *others}) == 4
