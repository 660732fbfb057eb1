"""Settling a conflict, and taking that back."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.server.errors import EtagMismatch, InvalidRequest, RequestIdReused
from recalld.storage.errors import MemoryNotFound
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, memory, opened, scope

ACTIVE = types_pb2.MEMORY_STATUS_ACTIVE
SUPERSEDED = types_pb2.MEMORY_STATUS_SUPERSEDED
CONFLICTED = types_pb2.MEMORY_STATUS_CONFLICTED
AGENT = types_pb2.STATED_BY_AGENT


async def tie(core: Core) -> tuple[str, list[str]]:
    """Two values of one slot said for the same time; their group and ids."""
    said = NOW_US - DAY_US
    ids = []
    for city in ("Leeds", "York"):
        answer = await core.remember("u", memory(city, key="city", event_time=said))
        ids.append(answer.results[0].id)
    return (await core.get("u", ids[0])).conflict_group, ids


async def resolve(core: Core, group: str, user: str = "u", **how: Any) -> Any:
    """Settles a group of a user."""
    request = pb.ResolveConflictRequest(scope=scope(user), conflict_group=group, **how)
    return await core.ask("ResolveConflict", request)


async def states(core: Core, ids: list[str]) -> list[tuple[int, str]]:
    """Status and group of memories."""
    found = [await core.get("u", memory_id) for memory_id in ids]
    return [(item.status, item.conflict_group) for item in found]


async def test_equal_values_are_both_conflicted(core: Core) -> None:
    """Two values of one speaker for one time have no winner: both are marked, in one group."""
    group, ids = await tie(core)
    assert group
    assert await states(core, ids) == [(CONFLICTED, group)] * 2


async def test_winner_supersedes_the_others(core: Core) -> None:
    """The winner is current without a mark; the other is its history."""
    group, ids = await tie(core)
    answer = await resolve(core, group, winner_id=ids[1])
    assert [item.id for item in answer.memories] == ids
    assert await states(core, ids) == [(SUPERSEDED, ""), (ACTIVE, "")]
    assert (await core.get("u", ids[0])).superseded_by == ids[1]
    assert (await core.get("u", key="city")).content == "York"
    assert answer.revision == core.writer.published("default") == 3


async def test_keep_all_takes_the_mark_off(core: Core) -> None:
    """All members hold, unmarked."""
    group, ids = await tie(core)
    await resolve(core, group, keep_all=True)
    assert await states(core, ids) == [(ACTIVE, "")] * 2


@pytest.mark.parametrize("how", ["winner_id", "keep_all"])
async def test_undo_gives_what_was_before(core: Core, how: str) -> None:
    """Undo brings the conflict back as it was, under its name, whichever way it was settled."""
    group, ids = await tie(core)
    await resolve(core, group, **{how: ids[0] if how == "winner_id" else True})
    await resolve(core, group, undo=True)
    assert await states(core, ids) == [(CONFLICTED, group)] * 2
    again = [await core.get("u", memory_id) for memory_id in ids]
    assert [(item.superseded_by, item.HasField("valid_to")) for item in again] == [("", False)] * 2
    with pytest.raises(MemoryNotFound):
        await resolve(core, group, undo=True)


async def test_a_contested_guess_may_win_and_come_back(core: Core) -> None:
    """The caller may say that the guess was right; undo makes it a contested guess again."""
    word = (await core.remember("u", memory("Leeds", key="city"))).results[0].id
    later = memory("York", key="city", stated_by=AGENT, event_time=NOW_US + 1)
    guess = (await core.remember("u", later)).results[0].id
    group = (await core.get("u", guess)).conflict_group
    await resolve(core, group, winner_id=guess)
    assert (await core.get("u", key="city")).content == "York"
    await resolve(core, group, undo=True)
    assert await states(core, [word, guess]) == [(ACTIVE, group), (CONFLICTED, group)]
    assert (await core.get("u", guess)).superseded_by == word


async def test_a_repeat_gets_the_first_answer(core: Core) -> None:
    """The same request id settles once; with another body it is refused."""
    group, ids = await tie(core)
    first = await resolve(core, group, winner_id=ids[1], request_id="r")
    assert await resolve(core, group, winner_id=ids[1], request_id="r") == first
    with pytest.raises(RequestIdReused):
        await resolve(core, group, winner_id=ids[0], request_id="r")


async def test_a_stale_etag_changes_nothing(core: Core) -> None:
    """With an etag of the winner that is not current the conflict stays open."""
    group, ids = await tie(core)
    etag = (await core.get("u", ids[1])).etag
    await core.update("u", ids[1], "importance", importance=3)
    with pytest.raises(EtagMismatch):
        await resolve(core, group, winner_id=ids[1], etag=etag)
    assert await states(core, ids) == [(CONFLICTED, group)] * 2


async def test_what_is_not_the_callers_is_not_found(core: Core) -> None:
    """Another user's group, a foreign winner, an open undo and a settled group are NOT_FOUND."""
    group, ids = await tie(core)
    other = (await core.remember("v", memory("Hull"))).results[0].id
    for user, how in (
        ("v", {"keep_all": True}),
        ("nobody", {"keep_all": True}),
        ("u", {"winner_id": other}),
        ("u", {"undo": True}),
    ):
        with pytest.raises(MemoryNotFound):
            await resolve(core, group, user, **how)
    await resolve(core, group, winner_id=ids[0])
    with pytest.raises(MemoryNotFound):
        await resolve(core, group, keep_all=True)


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({}, "resolution"),
        ({"winner_id": " "}, "winner_id"),
        ({"keep_all": False}, "keep_all"),
        ({"undo": True, "etag": "x"}, "etag"),
    ],
)
async def test_malformed_requests_name_the_field(
    core: Core, how: dict[str, Any], field: str
) -> None:
    """A missing way, a blank winner, false flags and an etag without a winner are refused."""
    with pytest.raises(InvalidRequest, match=field):
        await resolve(core, "g", **how)


async def test_a_restart_keeps_every_state() -> None:
    """Conflicts, settlements and doubts are the same after a restart, and undo still works."""
    image = MemoryImage()
    async with opened(MemoryStore(image)) as core:
        group, ids = await tie(core)
        await resolve(core, group, winner_id=ids[0])
        before = await core.listed("u")
    async with opened(MemoryStore(image)) as core:
        assert await core.listed("u") == before
        await resolve(core, group, undo=True)
        assert await states(core, ids) == [(CONFLICTED, group)] * 2
