"""UpdateMemory."""

from __future__ import annotations

import asyncio

import pytest

from recalld.server.errors import EtagMismatch, InvalidRequest
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import types_pb2
from tests.server.core import (
    DAY_US,
    NOW_US,
    Core,
    condition,
    memory,
    must,
    opened,
    texts,
)
from tests.server.faulty import FaultyStore


async def stored(core: Core, content: str = "likes tea", **fields: object) -> types_pb2.Memory:
    """A memory of user u, as it is after storing."""
    result = (await core.remember("u", memory(content, **fields))).results[0]
    found: types_pb2.Memory = await core.get("u", result.id)
    return found


CHANGES = {
    "kind": 2,
    "key": "drink.hot",
    "content": "likes coffee",
    "value": {"name": "coffee"},
    "relevant_when": ["ordering"],
    "importance": 3,
    "confidence": 0.25,
    "stated_by": 3,
    "source": types_pb2.Source(session_id="s2", turn=4),
    "visibility": 3,
    "event_time": NOW_US - 9 * DAY_US,
    "valid_from": NOW_US - 8 * DAY_US,
    "valid_to": NOW_US + DAY_US,
    "expire_time": NOW_US + 5 * DAY_US,
    "language": "fr",
    "metadata": {"a": 1},
}


@pytest.mark.parametrize("path", sorted(CHANGES))
async def test_masked_field_changes_alone(core: Core, path: str) -> None:
    """The field that the mask names changes; everything else that can be set stays."""
    old = await stored(core, event_time=NOW_US - 3 * DAY_US, metadata={"b": 2})
    core.clock.time_us += 1
    changed = (await core.update("u", old.id, path, **CHANGES)).memory
    wanted = memory(**{"content": "", path: CHANGES[path]})
    for field in old.DESCRIPTOR.fields:
        name = field.name
        if name in ("etag", "revision", "update_time", "key_cardinality", "status"):
            continue
        if name == path:
            assert getattr(changed, name) == getattr(wanted, name)
        elif not (path == "content" and name == "language"):
            assert getattr(changed, name) == getattr(old, name), name
    assert changed.update_time.ToMicroseconds() == NOW_US + 1
    assert changed.etag != old.etag
    assert changed == await core.get("u", old.id)


async def test_masked_field_that_is_not_set_is_cleared(core: Core) -> None:
    """A field that the mask names and the memory leaves out goes back to its default."""
    old = await stored(core, key="drink", metadata={"a": 1}, importance=3, expire_time=NOW_US + 1)
    paths = ("key", "metadata", "importance", "expire_time")
    changed = (await core.update("u", old.id, *paths)).memory
    assert (changed.key, changed.importance) == ("", 2)
    assert not changed.HasField("metadata")
    assert not changed.HasField("expire_time")


async def test_without_a_mask_set_fields_change(core: Core) -> None:
    """Without a mask every field that is set changes, and no other."""
    old = await stored(core, key="drink", importance=3)
    changed = (await core.update("u", old.id, confidence=0.5)).memory
    assert (changed.key, changed.importance, changed.confidence) == ("drink", 3, 0.5)


@pytest.mark.parametrize("path", ["id", "scope", "status", "etag", "nothing", "content.x"])
async def test_other_paths_are_refused(core: Core, path: str) -> None:
    """Output-only and unknown fields cannot be changed."""
    old = await stored(core)
    with pytest.raises(InvalidRequest) as caught:
        await core.update("u", old.id, path)
    assert caught.value.field == "update_mask"


async def test_nothing_to_change(core: Core) -> None:
    """A request that changes nothing is refused."""
    old = await stored(core)
    with pytest.raises(InvalidRequest, match="update_mask"):
        await core.update("u", old.id)


async def test_event_time_cannot_be_taken_away(core: Core) -> None:
    """A memory always has an event time."""
    old = await stored(core)
    with pytest.raises(InvalidRequest, match=r"memory\.event_time"):
        await core.update("u", old.id, "event_time")


async def test_end_in_the_past(core: Core) -> None:
    """The end of an old memory can be set to a time that has passed since."""
    old = await stored(core, event_time=NOW_US - 30 * DAY_US)
    changed = (await core.update("u", old.id, "valid_to", valid_to=NOW_US - DAY_US)).memory
    assert changed.status == types_pb2.MemoryStatus.MEMORY_STATUS_EXPIRED
    with pytest.raises(InvalidRequest, match=r"memory\.valid_to"):
        await core.update("u", old.id, "valid_to", valid_to=NOW_US - 31 * DAY_US)


async def test_superseded_at_its_own_time_can_still_be_edited(core: Core) -> None:
    """A value that was superseded at its own event time can be changed in other fields."""
    old = await stored(core, key="drink")
    await core.remember("u", memory("likes coffee", key="drink"))
    changed = (await core.update("u", old.id, "importance", importance=1)).memory
    assert changed.importance == 1


async def test_etag(core: Core) -> None:
    """A change under the current etag goes through, under an older one it does not."""
    old = await stored(core)
    new = (await core.update("u", old.id, "confidence", confidence=0.5, etag=old.etag)).memory
    with pytest.raises(EtagMismatch):
        await core.update("u", old.id, "confidence", confidence=0.1, etag=old.etag)
    assert (await core.get("u", old.id)) == new


async def test_one_of_two_changes_under_one_etag_wins(core: Core) -> None:
    """Of changes that come at once under the same etag exactly one goes through."""
    old = await stored(core)
    answers = await asyncio.gather(
        *(core.update("u", old.id, "content", content=f"c{n}", etag=old.etag) for n in range(5)),
        return_exceptions=True,
    )
    assert sum(not isinstance(answer, EtagMismatch) for answer in answers) == 1


async def test_text_changes_words_and_vector(core: Core) -> None:
    """After a change of the text the new words find the memory and the old ones do not."""
    old = await stored(core, "plays the bassoon")
    await core.update("u", old.id, "content", content="collects postage stamps")
    assert texts((await core.recall("u", "postage stamps")).hits) == ["collects postage stamps"]
    assert (await core.recall("u", "bassoon")).abstained
    part = core.partitions.find("default", "u")
    assert part is not None
    fresh = core.embedder.embed(["collects postage stamps"], is_query=False)
    label = part.label_of(old.id)
    assert label is not None
    assert part.index.vectors_of([label]).tobytes() == fresh.tobytes()


async def test_key_change_moves_the_slot(core: Core) -> None:
    """After a change of the key the memory is found under the new one only."""
    old = await stored(core, key="drink")
    await core.update("u", old.id, "key", key="beverage")
    assert (await core.get("u", key="beverage")).id == old.id
    with pytest.raises(MemoryNotFound):
        await core.get("u", key="drink")
    created = (await core.remember("u", memory("likes milk", key="drink"))).results[0]
    assert list(created.superseded_ids) == []
    found = await core.recall("u", filter=must(condition(key={"values": ["beverage"]})))
    assert texts(found.hits) == ["likes tea"]


async def test_changes_at_the_same_time_all_hold(core: Core) -> None:
    """Changes of different fields that come at once are all there afterwards."""
    old = await stored(core)
    await asyncio.gather(
        core.update("u", old.id, "content", content="likes coffee", request_id="a"),
        core.update("u", old.id, "key", key="drink", request_id="b"),
        core.update("u", old.id, "confidence", confidence=0.5, request_id="c"),
    )
    new = await core.get("u", old.id)
    assert (new.content, new.key, new.confidence) == ("likes coffee", "drink", 0.5)
    for request_id, fields in (("a", {"content": "likes coffee"}), ("b", {"key": "drink"})):
        [path] = fields
        again = await core.update("u", old.id, path, request_id=request_id, **fields)
        assert again.memory.id == old.id


async def test_memory_of_somebody_else(core: Core) -> None:
    """Another user's memory, and one that does not exist, are not found."""
    old = await stored(core)
    await core.remember("v", memory("x"))
    for user, memory_id in (("v", old.id), ("u", "f" * 32), ("nobody", old.id)):
        with pytest.raises(MemoryNotFound):
            await core.update(user, memory_id, "confidence", confidence=0.5)


async def test_text_that_changes_meanwhile_is_embedded_again() -> None:
    """A change of the key, planned while another changes the text, keeps one answer and both."""
    store = FaultyStore()
    async with opened(store) as core:
        old = await stored(core)
        store.is_held = True
        first = asyncio.ensure_future(core.update("u", old.id, "content", content="likes milk"))
        while not store.held:
            await asyncio.sleep(0)
        second = asyncio.ensure_future(core.update("u", old.id, "key", key="drink", request_id="r"))
        await asyncio.sleep(0.05)
        store.release()
        await asyncio.gather(first, second)
        assert store.stats().commit_count == 3
        new = await core.get("u", old.id)
        assert (new.content, new.key) == ("likes milk", "drink")
        assert texts((await core.recall("u", "milk")).hits) == ["likes milk"]
