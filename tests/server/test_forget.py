"""Forget: what each selector takes, and how it comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from recalld.server.errors import EtagMismatch, InvalidRequest
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import (
    DAY_US,
    NOW_US,
    Core,
    condition,
    memory,
    must,
    remember_request,
    scope,
)
from tests.server.stubs import Stubs, refusal_of

Status = types_pb2.MemoryStatus
Mode = pb.ForgetMode
UNDO = Mode.FORGET_MODE_UNDO


async def fill(core: Core) -> dict[str, str]:
    """Some memories of user u; their ids by content."""
    fact, event = 1, 4
    made = [
        memory("Leeds", key="city", event_time=NOW_US - 2 * DAY_US),
        memory("York", key="city", event_time=NOW_US - DAY_US),
        memory("met Ann", kind=event, key="city"),
        memory("tea", kind=fact, metadata={"hot": True}),
    ]
    results = list((await core.remember("u", *made)).results)
    more = [memory("Hull", key="city")]
    results += (await core.remember("u", *more, agent="a")).results
    results += (await core.remember("u", *[memory("Ripon", key="city")], namespace="n")).results
    names = ["Leeds", "York", "met Ann", "tea", "Hull", "Ripon"]
    return {name: result.id for name, result in zip(names, results, strict=True)}


SELECTORS: list[tuple[dict[str, Any], set[str]]] = [
    ({"key": "city"}, {"Leeds", "York", "met Ann"}),
    ({"key": "city", "agent": "a"}, {"Hull"}),
    ({"key": "city", "namespace": "n"}, {"Ripon"}),
    ({"content": "  TEA "}, {"tea"}),
    ({"filter": must(condition(kind={"values": [4]}))}, {"met Ann"}),
    ({"filter": must(condition(metadata={"path": "hot", "exists": True}))}, {"tea"}),
    ({"all": True}, {"Leeds", "York", "met Ann", "tea", "Hull", "Ripon"}),
    ({"key": "unknown"}, set()),
    ({"content": "unknown"}, set()),
]


@pytest.mark.parametrize(("fields", "names"), SELECTORS)
async def test_each_selector(core: Core, fields: dict[str, Any], names: set[str]) -> None:
    """A selector forgets exactly what it names; a dry run tells the same and changes nothing."""
    ids = await fill(core)
    before, revision = await core.listed("u"), core.writer.published("default")
    dry = await core.forget("u", dry_run=True, **fields)
    assert {*dry.ids} == {ids[name] for name in names}
    assert (dry.count, dry.revision) == (len(names), 0)
    assert await core.listed("u") == before
    done = await core.forget("u", **fields)
    assert {*done.ids} == {*dry.ids}
    assert (done.count, done.revision) == (len(names), revision + 1 if names else 0)
    gone = {item.id for item in await core.listed("u", Status.MEMORY_STATUS_FORGOTTEN)}
    assert gone == {*done.ids}


async def test_by_id(core: Core) -> None:
    """By id exactly those are forgotten, each once, and again is nothing."""
    ids = await fill(core)
    answer = await core.forget("u", ids["tea"], ids["tea"], ids["York"])
    assert answer.count == 2
    assert (await core.forget("u", ids["tea"])).count == 0


async def test_forgotten_is_never_recalled(core: Core) -> None:
    """No recall, list or key finds a forgotten memory, only its id and its status do."""
    ids = await fill(core)
    await core.forget("u", ids["tea"])
    for fields in ({}, {"include_superseded": True}, {"min_score": 0.0, "k": 200}):
        assert ids["tea"] not in {
            h.memory.id for h in (await core.recall("u", "tea", **fields)).hits
        }
    past = await core.recall("u", "tea", as_of=memory("", event_time=NOW_US - 1).event_time)
    assert ids["tea"] not in {hit.memory.id for hit in past.hits}
    assert ids["tea"] not in {item.id for item in await core.listed("u", 1, 2, 3, 4, 5)}
    assert (await core.get("u", ids["tea"])).status == Status.MEMORY_STATUS_FORGOTTEN


async def test_unknown_id_forgets_nothing(core: Core) -> None:
    """One unknown id among known ones, or another user's, fails the whole call."""
    ids = await fill(core)
    other = (await core.remember("v", memory("x"))).results[0].id
    for bad in ("f" * 32, other, ""):
        with pytest.raises(MemoryNotFound):
            await core.forget("u", ids["tea"], bad)
    with pytest.raises(MemoryNotFound):
        await core.forget("nobody", ids["tea"])
    assert await core.listed("u", Status.MEMORY_STATUS_FORGOTTEN) == []


async def test_unknown_user_has_nothing_to_forget(core: Core) -> None:
    """For a user of whom nothing is known, every other selector forgets nothing."""
    for fields in ({"all": True}, {"key": "k"}, {"content": "c"}):
        assert (await core.forget("nobody", **fields)).count == 0


async def test_undo(core: Core) -> None:
    """Undo brings back what was forgotten, as it was, and only that."""
    ids = await fill(core)
    before = {item.id: item.status for item in await core.listed("u")}
    await core.forget("u", all=True)
    answer = await core.forget("u", mode=UNDO, all=True)
    assert answer.count == len(ids)
    assert {item.id: item.status for item in await core.listed("u")} == before
    assert (await core.forget("u", mode=UNDO, all=True)).count == 0


async def test_undo_of_a_taken_slot(core: Core) -> None:
    """A value whose slot was taken since comes back as history of the present one."""
    ids = await fill(core)
    await core.forget("u", ids["York"])
    new = (await core.remember("u", memory("Selby", key="city"))).results[0]
    await core.forget("u", ids["York"], mode=UNDO)
    back = await core.get("u", ids["York"])
    assert (back.status, back.superseded_by) == (Status.MEMORY_STATUS_SUPERSEDED, new.id)
    assert (await core.get("u", key="city")).content == "Selby"


async def test_undo_of_a_word_against_a_guess(core: Core) -> None:
    """A forgotten word of the user comes back as current, though an agent guessed meanwhile."""
    word = (await core.remember("u", memory("Leeds", key="city"))).results[0]
    await core.forget("u", word.id)
    guess = memory("York", key="city", stated_by=types_pb2.StatedBy.STATED_BY_AGENT)
    await core.remember("u", guess)
    await core.forget("u", word.id, mode=UNDO)
    assert (await core.get("u", word.id)).status == Status.MEMORY_STATUS_ACTIVE


async def test_undo_keeps_archived_ones_archived(core: Core) -> None:
    """A member that a full set had archived comes back as archived."""
    for number in range(11):
        await core.remember("u", memory(f"h{number}", key="hobby", event_time=NOW_US + number))
    [archived] = await core.listed("u", Status.MEMORY_STATUS_ARCHIVED)
    await core.forget("u", archived.id)
    await core.forget("u", archived.id, mode=UNDO)
    assert len(await core.listed("u", Status.MEMORY_STATUS_ACTIVE)) == 10


async def test_undo_has_a_window(core: Core) -> None:
    """Undo works for thirty days and no longer: then an id is as unknown, and none of those named
    beside it comes back; other selectors pass it over."""
    ids = await fill(core)
    await core.forget("u", ids["tea"], ids["York"])
    core.clock.time_us += 30 * DAY_US
    await core.forget("u", ids["met Ann"])
    assert (await core.forget("u", ids["tea"], mode=UNDO)).count == 1
    core.clock.time_us += 1
    for dry_run in (True, False):
        with pytest.raises(MemoryNotFound, match=r"ids\.ids\[1\] .* 30 days"):
            await core.forget("u", ids["met Ann"], ids["York"], mode=UNDO, dry_run=dry_run)
    assert (await core.get("u", ids["met Ann"])).status == Status.MEMORY_STATUS_FORGOTTEN
    assert (await core.forget("u", all=True, mode=UNDO)).ids == [ids["met Ann"]]


def test_what_is_past_undo_is_not_found(stubs: Stubs, user: str) -> None:
    """A real server says NOT_FOUND, names the id's place and does not change the memory."""
    made = stubs.memory.Remember(remember_request(user, memory("tea"), memory("jam"))).results
    request = pb.ForgetRequest(scope=scope(user), ids={"ids": [one.id for one in made]})
    stubs.memory.Forget(request)
    request.mode = UNDO
    late = datetime.now(UTC) + timedelta(days=30, minutes=1)
    metadata = (("recalld-now", late.isoformat()),)
    refusal = refusal_of(stubs.memory.Forget, request, metadata=metadata)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND")
    assert "ids.ids[0]" in refusal.message
    assert stubs.memory.Forget(request).count == 2


async def test_etag(core: Core) -> None:
    """With an etag that is not current nothing is forgotten."""
    ids = await fill(core)
    etag = (await core.get("u", ids["tea"])).etag
    with pytest.raises(EtagMismatch):
        await core.forget("u", ids["tea"], etag="old")
    assert (await core.forget("u", ids["tea"], etag=etag)).count == 1


async def test_many_rows_at_once(core: Core) -> None:
    """A user with more memories than one commit takes can be forgotten whole, and come back."""
    for start in range(0, 4608, 256):
        batch = [memory(f"note {start + n}") for n in range(256)]
        await core.remember("u", *batch)
    answer = await core.forget("u", all=True, request_id="r")
    assert (answer.count, len(answer.ids)) == (4608, 1000)
    assert (await core.recall("u", "note")).abstained
    assert (await core.forget("u", all=True, request_id="r")) == answer
    assert (await core.forget("u", all=True, mode=UNDO)).count == 4608


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "selector"),
        ({"ids": pb.IdSet()}, "ids.ids"),
        ({"ids": pb.IdSet(ids=["a"] * 1001)}, "ids.ids"),
        ({"key": ""}, "key"),
        ({"filter": types_pb2.Filter()}, "filter"),
        ({"filter": must(types_pb2.Condition())}, "filter.must[0]"),
        ({"all": False}, "all"),
        ({"content": " "}, "content"),
        ({"all": True, "mode": 7}, "mode"),
        ({"all": True, "etag": "e"}, "etag"),
        ({"all": True, "request_id": "r" * 129}, "request_id"),
    ],
)
async def test_refusals(core: Core, fields: dict[str, Any], named: str) -> None:
    """A selector that is missing, empty or over its limit is refused by name."""
    await fill(core)
    with pytest.raises(InvalidRequest) as caught:
        await core.forget("u", **fields)
    assert caught.value.field == named
    assert await core.listed("u", Status.MEMORY_STATUS_FORGOTTEN) == []


async def test_a_whole_user_includes_what_agents_keep_to_themselves(core: Core) -> None:
    """Named without an agent, exporting and erasing a user reach private memories of agents."""
    diary = memory("a diary", visibility=types_pb2.Visibility.VISIBILITY_PRIVATE)
    await core.remember("u", diary, agent="a1")
    await core.remember("u", memory("shared"))
    request = pb.ExportMemoriesRequest(scope=scope("u"))
    stream = core.handlers["ExportMemories"](request, core.caller())
    assert [item.memory.content async for item in stream] == ["a diary", "shared"]
    assert (await core.forget("u", all=True)).count == 2
    assert not (await core.recall("u", "diary", agent="a1")).hits
