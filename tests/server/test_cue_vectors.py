"""The writer's cues: embedded when written, kept, and heard in a recall."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recalld.index.role_catalogue import Catalogue
from recalld.server.errors import DeadlinePassed
from recalld.server.roles import Roles
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.v1 import memory_service_pb2
from recalld.v1 import recall_service_pb2 as pb
from tests.server.anew import embedded_anew
from tests.server.core import Core, memory, opened, remember_request, texts

CUE = "ordering some food"
REASON = f"a cue of the writer: {CUE}"


def roles() -> Roles:
    """No catalogue; the server has the channel that cues speak in."""
    return Roles(Catalogue({}, {}))


@pytest.fixture
async def core() -> AsyncIterator[Core]:
    """A core in which cues are heard."""
    async with opened(roles=roles()) as made:
        yield made


async def fill(core: Core, *cues: str) -> str:
    """Three memories that share no word with the cue; the id of the one that has cues."""
    answer = await core.remember(
        "u",
        memory("zzz", relevant_when=cues),
        memory("likes museums in Lisbon"),
        memory("has a garden with roses"),
    )
    return str(answer.results[0].id)


async def test_a_memory_with_a_matching_cue_wins(core: Core) -> None:
    """The memory whose cue the request is like comes first, and the cue is named as a reason."""
    await fill(core, "painting a wall", CUE)
    hits = (await core.recall("u", CUE, explain=True)).hits
    assert texts(hits)[0] == "zzz"
    assert REASON in hits[0].reasons
    (part,) = [p for p in hits[0].parts.channels if p.channel == pb.CHANNEL_ROLE]
    assert part.normalised == 1
    assert part.weight > 0
    assert all(REASON not in hit.reasons for hit in hits[1:])


async def test_an_unrelated_request_is_not_drawn(core: Core) -> None:
    """A request unlike every cue brings the same scores as if there were none."""
    await fill(core, CUE)
    drawn = (await core.recall("u", "museum in Lisbon", min_score=0)).hits
    async with opened(roles=roles()) as other:
        await fill(other)
        plain = (await other.recall("u", "museum in Lisbon", min_score=0)).hits
    assert [hit.score for hit in drawn] == [hit.score for hit in plain]


async def test_cues_can_be_left_out(core: Core) -> None:
    """Other channels alone, or weight 0 for roles, leave cues out; a weight weighs them."""
    await fill(core, CUE)
    off = pb.ChannelWeight(channel=pb.CHANNEL_ROLE, weight=0)
    for fields in ({"weights": [off]}, {"channels": [pb.CHANNEL_VECTOR]}):
        hits = (await core.recall("u", CUE, **fields)).hits
        assert all(REASON not in hit.reasons for hit in hits), fields
    light = pb.ChannelWeight(channel=pb.CHANNEL_ROLE, weight=0.5)
    usual, lighter = [
        (await core.recall("u", CUE, **fields)).hits[0].score
        for fields in ({}, {"channels": [pb.CHANNEL_ROLE], "weights": [light]})
    ]
    assert lighter != usual
    assert texts((await core.recall("u", CUE, channels=[pb.CHANNEL_ROLE])).hits) == ["zzz"]


async def test_a_memory_is_no_request(core: Core) -> None:
    """What is like a memory is found without cues."""
    await fill(core, CUE)
    found = (await core.remember("u", memory(CUE))).results[0].id
    hits = (await core.recall("u", memory_id=found, min_score=0)).hits
    assert all(REASON not in hit.reasons for hit in hits)


async def test_updating_cues_embeds_them_anew(core: Core) -> None:
    """New cues replace the old ones, and an empty list takes them away; other fields keep them."""
    made = await fill(core, "painting a wall")
    await core.update("u", made, "importance", importance=3)
    assert texts((await core.recall("u", "painting a wall")).hits)[0] == "zzz"
    await core.update("u", made, "relevant_when", relevant_when=[CUE])
    assert REASON in (await core.recall("u", CUE)).hits[0].reasons
    answers = await core.recall("u", "painting a wall", min_score=0)
    assert all("painting" not in r for hit in answers.hits for r in hit.reasons)
    await core.update("u", made, "content", content="yyy")
    assert texts((await core.recall("u", CUE)).hits)[0] == "yyy"
    await core.update("u", made, "relevant_when")
    assert all(REASON not in hit.reasons for hit in (await core.recall("u", CUE)).hits)
    (row,) = [row for row in core.store.load() if row.record.id == made]
    assert row.cues is None


async def test_saying_it_again_with_cues_changes_them(core: Core) -> None:
    """A refreshed memory takes the cues it is said with, and keeps its own where there are none."""
    await fill(core, "painting a wall")
    for cues in ([CUE], []):
        answer = await core.remember("u", memory("zzz", relevant_when=cues))
        refreshed = memory_service_pb2.RememberOutcome.REMEMBER_OUTCOME_REFRESHED
        assert answer.results[0].outcome == refreshed
        assert REASON in (await core.recall("u", CUE)).hits[0].reasons


async def test_cues_come_back_after_a_start() -> None:
    """After a start on the same rows the answers are the same, and nothing is embedded for them."""
    image = MemoryImage()
    async with opened(MemoryStore(image), roles=roles()) as core:
        await fill(core, "painting a wall", CUE)
        before = (await core.recall("u", CUE, explain=True)).hits
    async with opened(MemoryStore(image), roles=roles()) as core:
        assert core.embedder.texts == 1  # the one that warms up
        assert (await core.recall("u", CUE, explain=True)).hits == before


@pytest.mark.parametrize("dim", [64, 32])
async def test_missing_and_foreign_cues_are_embedded_after_the_start(dim: int) -> None:
    """Cues without vectors, or with those of another model, are embedded once, and durably."""
    image = MemoryImage()
    async with opened(MemoryStore(image), roles=roles()) as core:
        await fill(core, CUE)
        vectors = {row.record.id: row.vector for row in core.store.load()}
        revision = core.writer.published("default")
    if dim == 64:
        for label, row in image.memories.items():
            image.memories[label] = replace(row, cues=None)
    for start in range(2):
        async with opened(MemoryStore(image), dim=dim, roles=roles()) as core:
            core.embed_anew()
            await embedded_anew(core)
            assert REASON in (await core.recall("u", CUE)).hits[0].reasons, start
            assert core.writer.published("default") == revision
            rows = list(core.store.load())
            assert [len(r.cues) for r in rows if r.cues is not None] == [1]
            if dim == 64:
                for row in rows:
                    assert np.array_equal(row.vector, vectors[row.record.id])  # type: ignore[arg-type]


async def test_nothing_is_embedded_for_who_is_gone(core: Core) -> None:
    """Between slices of cues nobody works on for a caller who left; nothing is stored."""
    call = core.caller()
    slices: list[str] = []
    submit = core.embedder.submit

    def leave(part: Sequence[str], *, is_query: bool, **more: Any) -> Any:
        """Note whose slice it is; the caller leaves during the first one of cues."""
        if is_query:
            slices.append(more["owner"])
            call.gone.set()
            return Future[Any]()
        return submit(part, is_query=is_query, **more)

    core.embedder.submit = leave  # type: ignore[method-assign]
    cues = [f"cue {n}" for n in range(8)]
    request = remember_request("u", memory("zzz", relevant_when=cues))
    with pytest.raises(DeadlinePassed):
        await core.handlers["Remember"](request, call)
    core.embedder.submit = submit  # type: ignore[method-assign]
    assert slices == [call.tenant]
    assert await core.listed("u") == []


async def test_many_cues_are_embedded_once_each(core: Core) -> None:
    """A batch with many cues needs no room for all of them at once, and shares equal ones."""
    before = core.embedder.texts
    batch = [
        memory(f"memory {n}", relevant_when=[f"cue {n % 32} {i}" for i in range(8)])
        for n in range(256)
    ]
    await core.remember("u", *batch)
    assert core.embedder.texts - before == 256 + 32 * 8
