"""Start-up: durable rows come back as they were, under the present model."""

from __future__ import annotations

from recalld.storage.memory_store import MemoryImage, MemoryStore
from tests.server.anew import embedded_anew
from tests.server.core import Core, condition, memory, must, opened, texts


async def fill(core: Core) -> None:
    """Memories of two users, of several statuses."""
    await core.remember("u", memory("likes tea", metadata={"a": 1}), memory("lives in Leeds"))
    await core.remember("u", memory("red", key="colour"), memory("blue", key="colour"))
    await core.remember("v", memory("likes milk"))
    gone = (await core.remember("u", memory("gone"))).results[0].id
    await core.forget("u", gone)


async def test_everything_comes_back() -> None:
    """After a start on the same rows every memory, vector and answer is the same."""
    image = MemoryImage()
    async with opened(MemoryStore(image)) as core:
        await fill(core)
        before = [await core.listed(user) for user in "uv"]
        hits = (await core.recall("u", "tea", explain=True, min_score=0.0)).hits
    async with opened(MemoryStore(image)) as core:
        assert [await core.listed(user) for user in "uv"] == before
        assert (await core.recall("u", "tea", explain=True, min_score=0.0)).hits == hits
        await core.remember("u", memory("green", key="colour"))
        assert (await core.get("u", key="colour")).content == "green"
        assert (
            await core.forget("u", filter=must(condition(metadata={"path": "a", "exists": True})))
        ).count == 1


async def test_another_model() -> None:
    """Under another model every row is embedded anew, durably, once, and nothing else changes."""
    image = MemoryImage()
    async with opened(MemoryStore(image), dim=64) as core:
        await fill(core)
        before = await core.listed("u")
        revision = core.writer.published("default")
    for start in range(2):
        async with opened(MemoryStore(image), dim=32) as core:
            core.embed_anew()
            await embedded_anew(core)
            assert core.writer.published("default") == revision
            assert await core.listed("u") == before
            assert texts((await core.recall("u", "likes tea")).hits)[0] == "likes tea"
            stored = [row for row in core.store.load() if row.vector is not None]
            assert {row.fingerprint for row in stored} == {core.embedder.fingerprint}, start
            assert {row.vector.size for row in stored if row.vector is not None} == {32}
