"""Graphs of large partitions: built beside writes, and never a different answer."""

from __future__ import annotations

import asyncio

from tests.server.core import Core, memory, opened, texts

EXACT_MAX = 40
COUNT = 120
DONE_S = 20


async def attached(core: Core) -> None:
    """Waits until the user's partition answers from a graph."""
    part = core.partitions.find("default", "u")
    assert part is not None
    async with asyncio.timeout(DONE_S):
        while part.index.generation.graph is None:
            await asyncio.sleep(0.01)


async def fill(core: Core) -> None:
    """Memories that differ by one word."""
    for start in range(0, COUNT, 20):
        made = [memory(f"note about subject{start + n}") for n in range(20)]
        await core.remember("u", *made)


async def test_graph_answers_like_the_exact_scan() -> None:
    """A partition that outgrew the exact scan gets a graph, whose answers are those of the scan,
    for memories that were stored or forgotten afterwards too."""
    answers = []
    for exact_max in (EXACT_MAX, 10 * COUNT):
        async with opened(exact_max=exact_max) as core:
            await fill(core)
            if exact_max == EXACT_MAX:
                await attached(core)
            await core.remember("u", memory("a late word on zebras"))
            await core.forget("u", content="note about subject8")
            found = []
            for text in ("late zebras", "subject8", "subject99", "subject7"):
                hits = (await core.recall("u", text, k=3, min_score=0.0)).hits
                found.append((texts(hits)[0], round(hits[0].score, 5)))
            assert found[0][0] == "a late word on zebras"
            assert found[2][0] == "note about subject99"
            answers.append(found)
    assert answers[0] == answers[1]


async def test_text_changes_under_a_graph() -> None:
    """A memory whose text changes is found by its new words after the graph is there."""
    async with opened(exact_max=EXACT_MAX) as core:
        await fill(core)
        await attached(core)
        [item] = [m for m in await core.listed("u") if m.content == "note about subject7"]
        await core.update("u", item.id, "content", content="now about giraffes")
        assert texts((await core.recall("u", "giraffes")).hits)[0] == "now about giraffes"


async def test_closing_gives_up_a_build() -> None:
    """A server that stops while a graph is being built does not wait for ever, nor fail."""
    async with asyncio.timeout(DONE_S):
        async with opened(exact_max=EXACT_MAX) as core:
            await fill(core)
