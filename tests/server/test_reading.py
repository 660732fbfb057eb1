"""Reads without ranking: by id, by key, in pages, as a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recalld.server.errors import InvalidPageToken, InvalidRequest
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, scope

PRIVATE = types_pb2.Visibility.VISIBILITY_PRIVATE
SYSTEM = types_pb2.Visibility.VISIBILITY_SYSTEM


async def pages(core: Core, size: int, between: Any = None, **fields: Any) -> list[Any]:
    """All pages of a list; `between` runs after each."""
    found = []
    request = pb.ListMemoriesRequest(scope=scope("u"), page_size=size, **fields)
    while True:
        page = await core.ask("ListMemories", request)
        found.append(page)
        if not page.next_page_token:
            return found
        if between is not None:
            await between(len(found))
        request.page_token = page.next_page_token


@pytest.mark.parametrize("size", [1, 3, 7, 100])
async def test_pages_hold_everything_once(core: Core, size: int) -> None:
    """Over all pages each memory comes once, newest event first, at equal times too."""
    for number in range(20):
        await core.remember("u", memory(f"m{number}", event_time=NOW_US + number // 4))
    found = await pages(core, size)
    items = [item for page in found for item in page.memories]
    assert sorted(item.content for item in items) == sorted(f"m{n}" for n in range(20))
    order = [(-item.event_time.ToMicroseconds(), item.id) for item in items]
    assert order == sorted(order)
    assert {page.total_size for page in found} == {20}
    assert all(len(page.memories) == size for page in found[:-1])
    assert found[-1].memories


async def test_pages_while_writes_go_on(core: Core) -> None:
    """What was there when the first page was made comes exactly once, whatever is written."""
    ids = [
        (await core.remember("u", memory(f"m{n}", event_time=NOW_US))).results[0].id
        for n in range(12)
    ]

    async def write(page: int) -> None:
        await core.remember("u", memory(f"new {page}", event_time=NOW_US))
        await core.remember("u", memory(f"newer {page}", event_time=NOW_US + page))
        await core.forget("u", (await core.remember("u", memory(f"gone {page}"))).results[0].id)
        await core.update("u", ids[page], "content", content=f"changed {page}")

    found = await pages(core, 2, write)
    seen = [item.id for page in found for item in page.memories]
    assert len(seen) == len(set(seen))
    assert {*ids} <= {*seen}
    assert {page.total_size for page in found} == {12}


async def test_page_limits(core: Core) -> None:
    """No size is a hundred, too large is a thousand, negative is refused."""
    for start in range(0, 1100, 220):
        await core.remember("u", *[memory(f"m{start + n}") for n in range(220)])
    for asked, size in ((0, 100), (5000, 1000)):
        request = pb.ListMemoriesRequest(scope=scope("u"), page_size=asked)
        assert len((await core.ask("ListMemories", request)).memories) == size
    for method, kind in (("ListMemories", "Memories"), ("ListKeys", "Keys")):
        request = getattr(pb, f"List{kind}Request")(scope=scope("u"), page_size=-1)
        with pytest.raises(InvalidRequest, match="page_size"):
            await core.ask(method, request)


async def test_pages_are_bounded_in_bytes(core: Core) -> None:
    """A page stays under the answer limit, and the rest comes on the next ones."""
    vector = types_pb2.Vector(floats=types_pb2.FloatVector(values=[1.0] * core.embedder.dim))
    for start in range(0, 512, 256):
        request = pb.RememberRequest(scope=scope("u"))
        for number in range(start, start + 256):
            request.memories.add(
                memory=memory(f"{number} " + "x" * 8180),
                vector=vector,
                vector_fingerprint=core.embedder.fingerprint,
            )
        await core.ask("Remember", request)
    found = await pages(core, 1000)
    assert len(found) == 2
    assert all(page.ByteSize() <= 3_670_016 for page in found)
    assert sum(len(page.memories) for page in found) == 512


async def test_foreign_tokens(core: Core) -> None:
    """A token of other arguments, of another method, or of nobody is refused."""
    for number in range(4):
        await core.remember("u", memory(f"m{number}", key=f"k{number}"))
    token = (await pages(core, 2))[0].next_page_token
    for user, text in (("v", token), ("u", "x"), ("u", token[:-4]), ("u", "é")):
        request = pb.ListMemoriesRequest(scope=scope(user), page_token=text)
        with pytest.raises(InvalidPageToken):
            await core.ask("ListMemories", request)
    keys = await core.ask("ListKeys", pb.ListKeysRequest(scope=scope("u"), page_size=2))
    request = pb.ListMemoriesRequest(scope=scope("u"), page_token=keys.next_page_token)
    with pytest.raises(InvalidPageToken):
        await core.ask("ListMemories", request)


async def test_get_by_key_prefers_the_own_agent(core: Core) -> None:
    """A key means the own agent's value first, then the user's, never another agent's."""
    await core.remember("u", memory("Leeds", key="city"))
    await core.remember("u", memory("York", key="city"), agent="a")
    for agent, content in (("a", "York"), ("b", "Leeds"), ("", "Leeds")):
        assert (await core.get("u", key="city", agent=agent)).content == content
    await core.remember("u", memory("red", key="colour"), agent="a")
    for agent in ("", "b"):
        with pytest.raises(MemoryNotFound):
            await core.get("u", key="colour", agent=agent)


async def test_get_by_key_of_a_topic(core: Core) -> None:
    """The key of events means the newest of them."""
    for day, content in enumerate(("one", "three", "two")):
        times = NOW_US + (0, 2, 1)[day] * DAY_US
        await core.remember("u", memory(content, key="trip", kind=4, event_time=times))
    assert (await core.get("u", key="trip")).content == "three"


async def test_ended_value_is_not_current(core: Core) -> None:
    """A key has no value after its value has ended."""
    await core.remember("u", memory("Leeds", key="city", expire_time=NOW_US + DAY_US))
    assert (await core.get("u", key="city")).content == "Leeds"
    core.clock.time_us += DAY_US
    with pytest.raises(MemoryNotFound):
        await core.get("u", key="city")
    keys = await core.ask("ListKeys", pb.ListKeysRequest(scope=scope("u")))
    assert list(keys.keys) == []


async def test_visibility(core: Core) -> None:
    """Private memories are their agent's, system ones the administrators', by every read."""
    made = [memory("mine", visibility=PRIVATE, key="k"), memory("ours", visibility=SYSTEM)]
    ids = [item.id for item in (await core.remember("u", *made, agent="a")).results]
    for agent, admin, seen in (
        ("a", True, {"mine", "ours"}),
        ("a", False, {"mine"}),
        ("b", True, {"ours"}),
        ("", False, set()),
    ):
        where = scope("u", agent)
        page = await core.ask("ListMemories", pb.ListMemoriesRequest(scope=where), admin=admin)
        assert {item.content for item in page.memories} == seen
        stream = core.handlers["ExportMemories"](
            pb.ExportMemoriesRequest(scope=where), core.caller(admin=admin)
        )
        assert {item.memory.content async for item in stream} == seen
        for memory_id, content in zip(ids, ("mine", "ours"), strict=True):
            request = pb.GetMemoryRequest(scope=where, id=memory_id)
            if content in seen:
                await core.ask("GetMemory", request, admin=admin)
            else:
                with pytest.raises(MemoryNotFound):
                    await core.ask("GetMemory", request, admin=admin)
        recalled = await core.recall("u", "mine ours", agent=agent, call={"admin": admin})
        assert {hit.memory.content for hit in recalled.hits} == seen


async def test_unknown_user_is_empty(core: Core) -> None:
    """A user of whom nothing is known has empty lists and no memory."""
    await core.remember("u", memory("x"))
    page = await core.ask("ListMemories", pb.ListMemoriesRequest(scope=scope("w")))
    assert (list(page.memories), page.total_size, page.next_page_token) == ([], 0, "")
    assert not (await core.ask("ListKeys", pb.ListKeysRequest(scope=scope("w")))).keys
    stream = core.handlers["ExportMemories"](
        pb.ExportMemoriesRequest(scope=scope("w")), core.caller()
    )
    assert [item async for item in stream] == []
    with pytest.raises(MemoryNotFound):
        await core.get("w", "f" * 32)
    with pytest.raises(MemoryNotFound):
        await core.get("w", key="k")


async def test_keys(core: Core) -> None:
    """Keys come in byte order with how many current memories they have and the newest's kind."""
    for day, (key, kind) in enumerate([("b", 1), ("b", 4), ("a", 2), ("字", 1), ("b", 4)]):
        await core.remember(
            "u", memory(f"m{day}", key=key, kind=kind, event_time=NOW_US + day * DAY_US)
        )
    await core.remember("u", memory("x", key="other"), agent="z")
    request = pb.ListKeysRequest(scope=scope("u", "a"), page_size=2)
    first = await core.ask("ListKeys", request)
    assert [(k.key, k.kind, k.count) for k in first.keys] == [("a", 2, 1), ("b", 4, 3)]
    assert first.keys[1].newest_time.ToMicroseconds() == NOW_US + 4 * DAY_US
    request.page_token = first.next_page_token
    rest = await core.ask("ListKeys", request)
    assert [k.key for k in rest.keys] == ["字"]
    assert not rest.next_page_token
    prefixed = await core.ask("ListKeys", pb.ListKeysRequest(scope=scope("u"), prefix="o"))
    assert [k.key for k in prefixed.keys] == ["other"]


async def test_export(core: Core) -> None:
    """An export gives every memory but forgotten ones in the order of storing, vectors if asked."""
    for day in (2, 1, 3):
        await core.remember("u", memory(f"m{day}", key="k", event_time=NOW_US + day * DAY_US))
    gone = (await core.remember("u", memory("gone"))).results[0].id
    await core.forget("u", gone)
    request = pb.ExportMemoriesRequest(scope=scope("u"), include_vectors=True)
    items = [item async for item in core.handlers["ExportMemories"](request, core.caller())]
    assert [item.memory.content for item in items] == ["m2", "m1", "m3"]
    for item in items:
        vector = np.frombuffer(item.vector.float32_le, "<f4")
        assert vector.shape == (core.embedder.dim,)
        assert float(vector @ vector) == pytest.approx(1, abs=1e-5)
        assert item.vector_fingerprint == core.embedder.fingerprint
    narrowed = pb.ExportMemoriesRequest(
        scope=scope("u"), statuses=[6], filter=must(condition(kind={"values": [1]}))
    )
    items = [item async for item in core.handlers["ExportMemories"](narrowed, core.caller())]
    assert [(item.memory.content, item.vector.WhichOneof("form")) for item in items] == [
        ("gone", None)
    ]


@pytest.mark.parametrize("fields", [{}, {"id": ""}, {"id": " "}, {"key": ""}, {"key": "\x00"}])
async def test_get_needs_a_selector(core: Core, fields: dict[str, str]) -> None:
    """A look-up without an id or a key is refused."""
    with pytest.raises(InvalidRequest):
        await core.ask("GetMemory", pb.GetMemoryRequest(scope=scope("u"), **fields))


async def test_statuses(core: Core) -> None:
    """A list holds the statuses asked for, by default current ones; unknown ones are refused."""
    await core.remember("u", memory("old", key="k"), memory("new", key="k"))
    await core.remember("u", memory("over", expire_time=NOW_US + 1))
    core.clock.time_us += 1
    assert {m.content for m in (await pages(core, 9))[0].memories} == {"new"}
    for status, content in ((2, "old"), (4, "over"), (1, "new")):
        assert [m.content for m in await core.listed("u", status)] == [content]
    with pytest.raises(InvalidRequest, match=r"statuses\[1\]"):
        await pages(core, 9, statuses=[1, 9])
