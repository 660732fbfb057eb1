"""Embedding anew beside calls: nothing mixed, nothing lost, and a switch only to what finds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recalld.index.hash_embedder import HashEmbedder
from recalld.server.indexing import embedded_text
from recalld.server.models import STAND_IN
from recalld.server.probes import self_recall
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.storage.record import Kind
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1.recall_service_pb2 import Channel
from tests.server.anew import embedded_anew
from tests.server.core import Core, memory, opened, texts

OLD, NEW = HashEmbedder(64), HashEmbedder(32)


async def filled(image: MemoryImage, count: int = 40, *, lost: bool = False) -> None:
    """Stores memories under the old model; lost: as of one that is not at hand any more."""
    async with opened(MemoryStore(image), dim=OLD.dim) as core:
        for start in range(0, count, 20):
            made = [
                memory(f"fact number{n} about topic{n % 7}", relevant_when=[f"cue {n}"] * (n % 3))
                for n in range(start, min(start + 20, count))
            ]
            await core.remember("u", *made)
        await core.remember("u", memory("likes green tea", key="drink"))
        await core.remember("v", memory("plays the cello"))
    if lost:
        for label, row in image.memories.items():
            image.memories[label] = replace(row, fingerprint="f" * 32)


async def index_model(core: Core, user: str) -> str:
    """Fingerprint of the vectors by which a user's memories are searched."""
    partition = await core.partitions.loaded("default", user)
    assert partition is not None
    return partition.index.fingerprint


def assert_of_new_model(image: MemoryImage) -> None:
    """Every stored row has the vectors that the new model makes of its texts now."""
    for row in image.memories.values():
        assert row.fingerprint == NEW.fingerprint and row.vector is not None
        made = NEW.embed([embedded_text(row.record)], is_query=False)[0]
        np.testing.assert_allclose(row.vector, made, atol=1e-6)
        if row.record.relevant_when:
            cues = NEW.embed(row.record.relevant_when, is_query=True)
            assert row.cues is not None
            np.testing.assert_allclose(row.cues, cues, atol=1e-6)
    assert image.renewals == {}


async def test_the_old_model_answers_until_the_switch() -> None:
    """With the old model at hand recalls are as before until the new vectors are all there."""
    image = MemoryImage()
    await filled(image)
    async with opened(MemoryStore(image), dim=OLD.dim) as core:
        before = await core.recall("u", "green tea", explain=True, min_score=0.0)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        assert await index_model(core, "u") == OLD.fingerprint
        meanwhile = await core.recall("u", "green tea", explain=True, min_score=0.0)
        assert meanwhile.hits == before.hits and not meanwhile.degraded
        core.embed_anew()
        await embedded_anew(core)
        assert await index_model(core, "u") == await index_model(core, "v") == NEW.fingerprint
        after = await core.recall("u", "green tea")
        assert texts(after.hits)[0] == "likes green tea" and not after.degraded
    assert_of_new_model(image)


async def test_without_the_old_model_words_and_keys_answer() -> None:
    """Without the old model a recall goes by words, says so, and finds by vectors afterwards."""
    image = MemoryImage()
    await filled(image, lost=True)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        assert await index_model(core, "u") == STAND_IN
        found = await core.recall("u", "green tea", explain=True)
        assert texts(found.hits)[0] == "likes green tea"
        assert list(found.degraded) == ["reembedding"]
        channels = {part.channel for hit in found.hits for part in hit.parts.channels}
        assert channels and Channel.Value("CHANNEL_VECTOR") not in channels
        assert (await core.get("u", key="drink")).content == "likes green tea"
        await core.remember("u", memory("owns a red bicycle"))
        await core.remember("w", memory("is new here"))
        assert await index_model(core, "w") == NEW.fingerprint
        assert texts((await core.recall("u", "red bicycle")).hits)[0] == "owns a red bicycle"
        core.embed_anew()
        await embedded_anew(core)
        assert not (await core.recall("u", "green tea")).degraded
    assert_of_new_model(image)


async def test_a_restart_goes_on_where_it_was() -> None:
    """What was embedded before a stop is not embedded again after it."""
    image = MemoryImage()
    await filled(image, 60)
    total = len(image.memories)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        core.embed_anew()
        while not image.renewals:
            await asyncio.sleep(0)
        await core.reembedding.close()
        kept = len(image.renewals)
        assert 0 < kept < total and await index_model(core, "u") == OLD.fingerprint
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        assert core.reembedding.progress.total == total
        core.embed_anew()
        await embedded_anew(core)
        made = core.metrics.registry.get_sample_value("recalld_reembedded_memories_total")
        assert made == total - kept
    assert_of_new_model(image)


async def test_another_change_forgets_what_was_made() -> None:
    """Vectors made for a model that is not wanted any more are dropped, and none of them used."""
    image = MemoryImage()
    await filled(image)
    async with opened(MemoryStore(image), dim=16) as core:
        core.embed_anew()
        while not image.renewals:
            await asyncio.sleep(0)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        core.embed_anew()
        await embedded_anew(core)
    assert_of_new_model(image)


class Confused(HashEmbedder):
    """A model whose requests have nothing in common with its memories."""

    def embed(self, given: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        turned = [text[::-1] + " turned" for text in given] if is_query else given
        return super().embed(turned, is_query=is_query)


async def test_vectors_that_find_nothing_are_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """New vectors that do not find what is stored are not used: the old ones go on answering."""
    image = MemoryImage()
    await filled(image)
    monkeypatch.setattr("tests.server.core.HashEmbedder", Confused)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        core.embed_anew()
        await embedded_anew(core)
        assert core.reembedding.progress.held == {("default", "u")}
        assert await index_model(core, "u") == OLD.fingerprint
        assert texts((await core.recall("u", "green tea")).hits)[0] == "likes green tea"
        held = core.metrics.registry.get_sample_value("recalld_reembedding_users_held")
        assert held == 1
        await core.remember("u", memory("still takes writes"))
    stored = {row.fingerprint for row in image.memories.values() if "u" in row.record.scope.user_id}
    assert stored == {OLD.fingerprint}


async def test_memories_that_are_all_alike_are_switched() -> None:
    """Where the old model cannot tell memories apart either, the new one need not."""
    image = MemoryImage()
    async with opened(MemoryStore(image), dim=OLD.dim) as core:
        alike = ["ab ba " * (n + 1) for n in range(40)]
        await core.remember("u", *(memory(text, kind=Kind.EVENT) for text in alike))
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        core.embed_anew()
        await embedded_anew(core)
        assert not core.reembedding.progress.held
    assert_of_new_model(image)


async def test_a_read_only_store_stays_as_it_is() -> None:
    """Where nothing can be written the old model goes on answering, and nothing is embedded."""
    image = MemoryImage()
    await filled(image)
    store = MemoryStore(image)
    store.read_only_reason = "a test"  # type: ignore[misc]
    async with opened(store, dim=NEW.dim) as core:
        core.embed_anew()
        await asyncio.sleep(0.01)
        assert await index_model(core, "u") == OLD.fingerprint and not image.renewals
        assert texts((await core.recall("u", "green tea")).hits)[0] == "likes green tea"


async def remembered(core: Core, number: int) -> None:
    await core.remember("u", memory(f"written meanwhile {number}", relevant_when=["when asked"]))


async def reworded(core: Core, number: int) -> None:
    every = await core.listed("u")
    if every:
        await core.update("u", every[number % len(every)].id, content=f"reworded {number}")


async def forgotten(core: Core, number: int) -> None:
    every = await core.listed("u", 1)
    if every:
        await core.forget("u", every[number % len(every)].id)


async def purged(core: Core, number: int) -> None:
    every = await core.listed("u")
    if every:
        chosen = every[number % len(every)].id
        await core.forget("u", chosen, mode=pb.ForgetMode.FORGET_MODE_PURGE)


async def recalled(core: Core, number: int) -> None:
    await core.recall("u", f"fact number{number}", explain=True)


ACTIONS: list[Callable[[Core, int], object]] = [remembered, reworded, forgotten, purged, recalled]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.integers(0, 60), st.integers(0, 6)), max_size=12
    ),
    lost=st.booleans(),
)
def test_writes_meanwhile_are_embedded_too(
    steps: list[tuple[Callable[[Core, int], object], int, int]], lost: bool
) -> None:
    """Whatever is written while memories are embedded anew, in the end every vector is right."""

    async def run() -> MemoryImage:
        image = MemoryImage()
        await filled(image, 25, lost=lost)
        async with opened(MemoryStore(image), dim=NEW.dim) as core:
            core.embed_anew()
            for action, number, pauses in steps:
                await action(core, number)  # type: ignore[misc]
                for _ in range(pauses):
                    await asyncio.sleep(0.001)
            await embedded_anew(core)
            assert not core.reembedding.progress.held
            asked = await core.recall("u", "fact number3", explain=True)
            assert not asked.degraded
        return image

    assert_of_new_model(asyncio.run(run()))


async def test_probes_count_what_is_found() -> None:
    """Self-recall is the share of texts whose own vector is among the nearest ten to them."""
    image = MemoryImage()
    await filled(image, 40)
    async with opened(MemoryStore(image), dim=NEW.dim) as core:
        partition = await core.partitions.loaded("default", "u")
        assert partition is not None
        core.embed_anew()
        while len(image.renewals) < len(partition.records):
            await asyncio.sleep(0)
        waiting = core.store.renewals.of_partition("default", "u", NEW.fingerprint)
        records, vectors = partition.records, {one.label: one.vector for one in waiting}
        assert await self_recall(records, vectors, core.embedder) == 1.0
        opposite = {label: -vector for label, vector in vectors.items()}
        assert await self_recall(records, opposite, core.embedder) < 0.2
        assert await self_recall({}, vectors, core.embedder) == 1.0
