"""What a conflict is to somebody who may not see its other side: a real server."""

from __future__ import annotations

import grpc
import pytest

from recalld.server.permissions import Role
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.isolation.door import Door
from tests.server.core import DAY_US, memory, scope
from tests.server.stubs import taken_apart

PRIVATE, SYSTEM = types_pb2.VISIBILITY_PRIVATE, types_pb2.VISIBILITY_SYSTEM
ACTIVE, SUPERSEDED = types_pb2.MEMORY_STATUS_ACTIVE, types_pb2.MEMORY_STATUS_SUPERSEDED
CONFLICTED = types_pb2.MEMORY_STATUS_CONFLICTED
SAID_US = 1_750_000_000_000_000


def is_plain(found: types_pb2.Memory) -> bool:
    """Whether a memory bears no mark."""
    return (found.status, found.conflict_group, found.superseded_by) == (ACTIVE, "", "")


def tie(door: Door, user: str) -> tuple[str, str, str]:
    """Two equal values of agent a; the second is made PRIVATE. Ids and the group."""
    said = [memory(text, key="city", event_time=SAID_US) for text in ("in Leeds", "in York")]
    leeds, york = (made.id for made in door.remember(user, "a", *said))
    assert door.get(user, "b", leeds).status == CONFLICTED
    door.update(user, "a", york, visibility=PRIVATE)
    return leeds, york, door.get(user, "a", leeds).conflict_group


@pytest.mark.parametrize("agent", ["b", ""])
def test_a_conflict_with_something_private(door: Door, agent: str) -> None:
    """For its agent it is a conflict, for all others there is none and no other side: not in get,
    list, export, recall, of shared users, context, or when it is to be settled."""
    user = f"tie-{agent}"
    leeds, york, group = tie(door, user)
    assert group
    own = door.recall(user, "a")
    assert {hit.memory.status for hit in own.hits} == {CONFLICTED}
    assert sorted(own.conflicts[0].memory_ids) == sorted([leeds, york])
    assert is_plain(door.get(user, agent, leeds))
    where = scope(user, agent)
    listed = pb.ListMemoriesRequest(scope=where, statuses=[CONFLICTED])
    assert not door.call(door.stubs.memory.ListMemories, listed).memories
    listed.statuses[:] = [ACTIVE]
    [found] = door.call(door.stubs.memory.ListMemories, listed).memories
    assert is_plain(found)
    [exported] = door.call(
        door.stubs.memory.ExportMemories, pb.ExportMemoriesRequest(scope=where), Role.READER
    )
    assert is_plain(exported.memory)
    for answer in (
        door.recall(user, agent),
        door.recall("v", agent, text="Leeds", shared_user_ids=[user]),
    ):
        [hit] = [hit for hit in answer.hits if hit.memory.id == leeds]
        assert (is_plain(hit.memory), list(answer.conflicts)) == (True, [])
        assert york not in str(answer)
    request = recall_pb.BuildContextRequest(
        recall=recall_pb.RecallRequest(scope=where, text="Leeds")
    )
    context = door.call(door.stubs.recall.BuildContext, request)
    assert [item.memory_id for item in context.items] == [leeds]
    assert context.items[0].section != recall_pb.CONTEXT_SECTION_CONFLICTS
    for how in ({"keep_all": True}, {"winner_id": leeds}, {"undo": True}):
        settle = pb.ResolveConflictRequest(scope=where, conflict_group=group, **how)
        with pytest.raises(grpc.RpcError) as caught:
            door.call(door.stubs.memory.ResolveConflict, settle)
        assert taken_apart(caught.value).reason == "MEMORY_NOT_FOUND"
    assert door.get(user, "a", leeds).conflict_group == group
    assert door.update(user, agent, leeds, confidence=0.9).conflict_group == ""


def test_a_guess_against_a_private_word(door: Door) -> None:
    """A guess that the user's private word contradicts bears no mark and no reason for others."""
    said = {"key": "city", "stated_by": types_pb2.STATED_BY_USER}
    [word] = door.remember("guess", "a", memory("in York", visibility=PRIVATE, **said))
    [guess] = door.remember("guess", "a", memory("in Hull", key="city", stated_by=2))
    assert door.get("guess", "a", guess.id).superseded_by == word.id
    [hit] = door.recall("guess", "b").hits
    assert (is_plain(hit.memory), list(hit.reasons)) == (
        True,
        ["matches the filter"],
    )
    reasons = {r for h in door.recall("guess", "a").hits for r in h.reasons}
    assert "contradicted by a stronger speaker" in reasons


def test_both_views_in_turn(door: Door) -> None:
    """What one asker got is never what the next one gets, whoever of the two asked first."""
    leeds, york, _ = tie(door, "turns")
    for agent in ("b", "a", "b", "a", "a", "b"):
        seen = {hit.memory.id: hit.memory for hit in door.recall("turns", agent).hits}
        assert is_plain(seen[leeds]) == (agent == "b")
        assert (york in seen) == (agent == "a")


def test_history_of_something_private(door: Door) -> None:
    """What a private value replaced is history for others, which names nothing."""
    old = memory("in Leeds", key="city", event_time=SAID_US)
    new = memory("in York", key="city", event_time=SAID_US + DAY_US, visibility=PRIVATE)
    [first] = door.remember("past", "a", old)
    [second] = door.remember("past", "a", new)
    assert list(second.superseded_ids) == [first.id]
    assert door.get("past", "a", first.id).superseded_by == second.id
    seen = door.get("past", "b", first.id)
    assert (seen.status, seen.superseded_by) == (SUPERSEDED, "")


def test_a_slot_that_an_admin_holds(door: Door) -> None:
    """A writer whose value meets one of the visibility SYSTEM is told of its own value alone."""
    said = {"key": "city", "event_time": SAID_US}
    request = pb.RememberRequest(scope=scope("system"))
    request.memories.add(memory=memory("in York", visibility=SYSTEM, **said))
    [hidden] = door.call(door.stubs.memory.Remember, request, Role.ADMIN).results
    [made] = door.remember("system", "", memory("in Leeds", **said))
    assert made.outcome == pb.REMEMBER_OUTCOME_CREATED
    assert hidden.id not in str(made)
    assert is_plain(door.get("system", "", made.id))


def test_settling_what_one_sees(door: Door) -> None:
    """Who settles a group of which one member is hidden leaves that one without a conflict, too."""
    said = [
        memory(f"in {city}", key="city", event_time=SAID_US) for city in ("Leeds", "York", "Hull")
    ]
    leeds, york, hull = (made.id for made in door.remember("three", "a", *said))
    door.update("three", "a", hull, visibility=PRIVATE)
    group = door.get("three", "b", leeds).conflict_group
    assert group == door.get("three", "b", york).conflict_group != ""
    settle = pb.ResolveConflictRequest(
        scope=scope("three", "b"), conflict_group=group, winner_id=leeds
    )
    answer = door.call(door.stubs.memory.ResolveConflict, settle)
    assert [one.id for one in answer.memories] == [leeds, york]
    assert is_plain(door.get("three", "a", hull))
