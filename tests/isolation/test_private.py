"""What one agent keeps PRIVATE, asked for by another agent and by nobody: every call, for real."""

from __future__ import annotations

from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.message import Message

from recalld.server.permissions import Role
from recalld.v1 import admin_service_pb2 as admin_pb
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.isolation.door import Door
from tests.server.core import condition, memory, must, scope, timestamp
from tests.server.stubs import taken_apart

SECRET = "zebra password of the vault"
PRIVATE, ACTIVE = types_pb2.VISIBILITY_PRIVATE, types_pb2.MEMORY_STATUS_ACTIVE


class Kept(NamedTuple):
    """What agent a keeps to itself, and a recall of its own that found it."""

    id: str
    recall_id: str


@pytest.fixture(scope="module")
def kept(door: Door) -> Kept:
    """Agent a's PRIVATE memory beside one that all share."""
    secret = memory(SECRET, key="vault", visibility=PRIVATE, relevant_when=["opening the vault"])
    [made] = door.remember("u", "a", secret)
    door.remember("u", "a", memory("the vault is in Leeds"))
    found = door.recall("u", "a", text=SECRET, explain=True)
    assert made.id in {hit.memory.id for hit in found.hits}
    return Kept(made.id, found.recall_id)


def recall_of(agent: str, **fields: Any) -> recall_pb.RecallRequest:
    """A recall by agent."""
    return recall_pb.RecallRequest(scope=scope("u", agent), k=50, min_score=0, **fields)


def reads(door: Door, kept: Kept, agent: str) -> dict[str, tuple[Any, Message]]:
    """Every way of reading, by name."""
    where, by_key = scope("u", agent), must(condition(key={"values": ["vault"]}))
    all_statuses = list(range(1, 7))
    other = recall_pb.RecallRequest(scope=scope("v", agent), text=SECRET, shared_user_ids=["u"])
    requests: dict[str, tuple[Any, Message]] = {
        "get by key": (door.stubs.memory.GetMemory, pb.GetMemoryRequest(scope=where, key="vault")),
        "list": (
            door.stubs.memory.ListMemories,
            pb.ListMemoriesRequest(scope=where, statuses=all_statuses),
        ),
        "list by id": (
            door.stubs.memory.ListMemories,
            pb.ListMemoriesRequest(
                scope=where, filter=must(condition(id={"values": [kept.id, "f" * 32]}))
            ),
        ),
        "keys": (door.stubs.memory.ListKeys, pb.ListKeysRequest(scope=where)),
        "export": (
            door.stubs.memory.ExportMemories,
            pb.ExportMemoriesRequest(scope=where, statuses=all_statuses, include_vectors=True),
        ),
        "recall": (door.stubs.recall.Recall, recall_of(agent, text="vault", explain=True)),
        "recall by key": (door.stubs.recall.Recall, recall_of(agent, filter=by_key)),
        "recall of the past": (
            door.stubs.recall.Recall,
            recall_of(agent, text="vault", include_superseded=True, known_at=timestamp(1 << 51)),
        ),
        "recall of shared users": (door.stubs.recall.Recall, other),
        "batch": (
            door.stubs.recall.BatchRecall,
            recall_pb.BatchRecallRequest(requests=[recall_of(agent, text="vault")]),
        ),
        "context": (
            door.stubs.recall.BuildContext,
            recall_pb.BuildContextRequest(recall=recall_of(agent, text="vault"), token_budget=900),
        ),
        "trace": (
            door.stubs.recall.GetRecallTrace,
            recall_pb.GetRecallTraceRequest(scope=where, recall_id=kept.recall_id),
        ),
        "traces": (
            door.stubs.recall.ListRecallTraces,
            recall_pb.ListRecallTracesRequest(scope=where),
        ),
    }
    return requests


def named(door: Door, kept: Kept, agent: str) -> dict[str, tuple[Any, Message]]:
    """Every call that names the memory by its id."""
    where = scope("u", agent)
    forget = {"scope": where, "ids": {"ids": [kept.id]}}
    changed = types_pb2.Memory(id=kept.id, scope=where, content="x")
    report = {"scope": where, "recall_id": kept.recall_id}
    trace = recall_pb.GetRecallTraceRequest(
        scope=where, recall_id=kept.recall_id, memory_id=kept.id
    )
    stubs = door.stubs
    return {
        "get": (stubs.memory.GetMemory, pb.GetMemoryRequest(scope=where, id=kept.id)),
        "update": (stubs.memory.UpdateMemory, pb.UpdateMemoryRequest(memory=changed)),
        "used": (
            stubs.recall.ReportUsage,
            recall_pb.ReportUsageRequest(used=[kept.id], **report),  # type: ignore[arg-type]
        ),
        "wrong": (
            stubs.recall.ReportUsage,
            recall_pb.ReportUsageRequest(corrected=[kept.id], **report),  # type: ignore[arg-type]
        ),
        "trace of it": (stubs.recall.GetRecallTrace, trace),
        "recall by it": (stubs.recall.Recall, recall_of(agent, memory_id=kept.id)),
        **{
            f"forget {mode}": (stubs.memory.Forget, pb.ForgetRequest(mode=mode, **forget))  # type: ignore[arg-type]
            for mode in pb.ForgetMode.values()
        },
    }


@pytest.mark.parametrize("role", [Role.READER, Role.WRITER])
@pytest.mark.parametrize("agent", ["b", ""])
def test_no_read_shows_it(door: Door, kept: Kept, agent: str, role: Role) -> None:
    """No answer to another agent, or to a caller who names none, holds its id, key or text."""
    for name, (method, request) in reads(door, kept, agent).items():
        try:
            told = str(door.call(method, request, role))
        except grpc.RpcError as error:
            told = str(taken_apart(error))
            assert "MEMORY_NOT_FOUND" in told, name
        for word in (kept.id, "zebra", 'key: "vault"'):
            assert word not in told, name


@pytest.mark.parametrize("agent", ["b", ""])
def test_its_id_is_unknown(door: Door, kept: Kept, agent: str) -> None:
    """Whoever names it without being its agent is told what is told of ids that do not exist, and
    nothing happens to it."""
    unknown = kept._replace(id="e" * 32)
    before = door.get("u", "a", kept.id)
    asked, made_up = named(door, kept, agent), named(door, unknown, agent)
    for name, (method, request) in asked.items():
        told = []
        for one in (request, made_up[name][1]):
            with pytest.raises(grpc.RpcError) as caught:
                door.call(method, one)
            told.append(taken_apart(caught.value))
        assert told[0] == told[1], name
    assert door.get("u", "a", kept.id) == before


@pytest.mark.parametrize("agent", ["b", ""])
def test_no_selector_reaches_it(door: Door, kept: Kept, agent: str) -> None:
    """Key, content, filter and `all` leave it alone, also where they purge."""
    which: list[dict[str, Any]] = [
        {"key": "vault"},
        {"content": SECRET},
        {"filter": must(condition(key={"values": ["vault"]}))},
        {"filter": must(condition(id={"values": [kept.id]}))},
    ]
    for one in which:
        for mode in (pb.FORGET_MODE_SOFT, pb.FORGET_MODE_PURGE):
            request = pb.ForgetRequest(scope=scope("u", agent), mode=mode, **one)
            answer = door.call(door.stubs.memory.Forget, request)
            assert (answer.count, list(answer.ids)) == (0, [])
    assert door.get("u", "a", kept.id).status == ACTIVE


def test_an_admin_backs_up_the_user(door: Door, kept: Kept) -> None:
    """An admin who names no agent exports and counts all of a user; a recall, list or get by the
    same caller is still by nobody, and an admin who names agent b is agent b."""
    nobody, agent_b = reads(door, kept, ""), reads(door, kept, "b")
    assert "zebra" in str(door.call(*nobody["export"], Role.ADMIN))
    assert "zebra" not in str(door.call(*agent_b["export"], Role.ADMIN))
    for name in ("list", "recall", "context", "keys"):
        assert kept.id not in str(door.call(*nobody[name], Role.ADMIN))
    stats = admin_pb.GetStatsRequest(scope=scope("u"))
    assert door.call(door.stubs.admin.GetStats, stats, Role.ADMIN).memory_count == 2
    with pytest.raises(grpc.RpcError):
        door.call(door.stubs.admin.GetStats, stats, Role.WRITER)
