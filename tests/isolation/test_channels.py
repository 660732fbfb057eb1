"""Each channel and each filter alone: what would match best is another's, and stays away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from recalld.server.permissions import Role
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.isolation.world import OWNERS, Owner, World, mark, world
from tests.server.core import DAY_US, NOW_US, must, timestamp

REMEMBER, LIST, EXPORT, FORGET = (
    f"/recalld.v1.MemoryService/{name}"
    for name in ("Remember", "ListMemories", "ExportMemories", "Forget")
)
RECALL, CONTEXT = (f"/recalld.v1.RecallService/{name}" for name in ("Recall", "BuildContext"))
ASKING = OWNERS[0]
OTHERS = {"another tenant's user of the same name": OWNERS[3], "another user": OWNERS[1]}
SECRET = "the safe opens with order E-1042 yesterday at the lighthouse"
WORDLESS = "waters the plants"
CHANNELS = [value.name for value in recall_pb.Channel.DESCRIPTOR.values if value.number]


def secret_of(owner: Owner) -> types_pb2.Memory:
    """A memory that answers every question below, of every channel and filter."""
    made = types_pb2.Memory(
        content=f"{SECRET} {mark(owner)}",
        key="safe.code",
        kind=types_pb2.MEMORY_KIND_DECISION,
        importance=types_pb2.IMPORTANCE_PINNED,
        stated_by=types_pb2.STATED_BY_TOOL,
        event_time=timestamp(NOW_US - DAY_US),
        language="en",
        relevant_when=["opening the safe"],
    )
    made.source.session_id, made.source.turn = "s9", 3
    made.source.uri = "https://example.org/secret"
    made.metadata.update({"ticket": "T-77", "level": 5})
    return made


CONDITIONS: dict[str, dict[str, Any]] = {
    "kind": {"kind": {"values": [types_pb2.MEMORY_KIND_DECISION]}},
    "key": {"key": {"values": ["safe.code"]}},
    "key_prefix": {"key_prefix": "safe"},
    "namespace_prefix": {"namespace_prefix": "project/secret"},
    "agent_id": {"agent_id": {"values": ["planner"]}},
    "session_id": {"session_id": {"values": ["s9"]}},
    "source_session_id": {"source_session_id": {"values": ["s9"]}},
    "source_uri": {"source_uri": {"values": ["https://example.org/secret"]}},
    "stated_by": {"stated_by": {"values": [types_pb2.STATED_BY_TOOL]}},
    "importance": {"importance": {"values": [types_pb2.IMPORTANCE_PINNED]}},
    "metadata": {"metadata": {"path": "ticket", "exists": True}},
    "event_time": {"event_time": {"from": timestamp(NOW_US - 2 * DAY_US)}},
    "create_time": {"create_time": {"from": timestamp(NOW_US - DAY_US)}},
    "update_time": {"update_time": {"from": timestamp(NOW_US - DAY_US)}},
    "id": {"id": {"values": ["PLACE OF THE ID"]}},
    "language": {"language": {"values": ["en"]}},
    "min_confidence": {"min_confidence": 0.5},
}


@pytest.fixture(params=OTHERS, ids=["tenant", "user"])
def other(request: pytest.FixtureRequest) -> Owner:
    """Whose memories must not come."""
    return OTHERS[request.param]


@pytest.fixture
async def inside(tmp_path: Path, other: Owner) -> AsyncIterator[World]:
    """A world in which somebody has the secret, and the one who asks has something else."""
    async with world(tmp_path) as made:
        await remember(made, other, secret_of(other), namespace="project/secret", agent="planner")
        await remember(made, ASKING, types_pb2.Memory(content=f"{WORDLESS} {mark(ASKING)}"))
        yield made


async def remember(
    made: World, owner: Owner, memory: types_pb2.Memory, namespace: str = "", agent: str = ""
) -> None:
    """Stores a memory of somebody."""
    where = types_pb2.Scope(user_id=owner[1], agent_id=agent, session_id="s9", namespace=namespace)
    request = pb.RememberRequest(scope=where, memories=[pb.MemoryInput(memory=memory)])
    answers = await made.call(owner, Role.WRITER, REMEMBER, request)
    assert answers is not None
    [result] = pb.RememberResponse.FromString(answers[0]).results
    made.own(owner, result.id)
    made.ids[owner].append(result.id)


async def contents(made: World, owner: Owner, request: recall_pb.RecallRequest) -> list[str]:
    """What a recall brings back; the world looks for anything foreign in it."""
    request.scope.user_id = owner[1]
    request.k, request.min_score, request.explain = 200, 0.0, True
    answers = await made.call(owner, Role.ADMIN, RECALL, request)
    assert answers is not None
    response = recall_pb.RecallResponse.FromString(answers[0])
    made.recalls[owner].append(response.recall_id)
    return [hit.memory.content for hit in response.hits]


@pytest.mark.parametrize("name", CHANNELS)
async def test_channels(inside: World, other: Owner, name: str) -> None:
    """Alone, each channel that this server has finds its owner's secret and nobody else's."""
    channel = recall_pb.Channel.Value(name)
    request = recall_pb.RecallRequest(
        text="safe.code: what opens order E-1042, yesterday at the lighthouse?", channels=[channel]
    )
    request.scope.user_id = other[1]
    if await inside.call(other, Role.ADMIN, RECALL, request) is None:
        pytest.skip("this server does not serve the channel")
    request.context.add(role="user", text=SECRET)
    assert not any(SECRET in text for text in await contents(inside, ASKING, request))
    assert any(SECRET in text for text in await contents(inside, other, request))


async def test_vectors(inside: World, other: Owner) -> None:
    """The very vector of the secret brings back the asker's own memories and no others."""
    [vector] = inside.core.embedder.embed([f"{SECRET} {mark(other)}"], is_query=False)
    values = vector[: inside.core.embedder.dim].astype("<f4").tobytes()
    request = recall_pb.RecallRequest(vector=types_pb2.Vector(float32_le=values))
    assert await contents(inside, ASKING, request) == [f"{WORDLESS} {mark(ASKING)}"]


@pytest.mark.parametrize("name", CONDITIONS)
async def test_filters(inside: World, other: Owner, name: str) -> None:
    """A filter that only the secret passes finds it for its owner and nothing for anybody else, in
    recalls, lists and exports, and forgets nothing of others."""
    test = dict(CONDITIONS[name])
    if name == "id":
        test["id"] = {"values": inside.ids[other]}
    narrow = must(types_pb2.Condition(**test))
    request = recall_pb.RecallRequest(filter=narrow)
    for owner, is_there in ((other, True), (ASKING, False)):
        found = await contents(inside, owner, request)
        assert any(SECRET in text for text in found) is is_there
        where = types_pb2.Scope(user_id=owner[1])
        for path, body in (
            (LIST, pb.ListMemoriesRequest(scope=where, filter=narrow)),
            (EXPORT, pb.ExportMemoriesRequest(scope=where, filter=narrow)),
        ):
            answers = await inside.call(owner, Role.ADMIN, path, body)
            assert answers is not None
            assert any(SECRET.encode() in answer for answer in answers) is is_there
    forget = pb.ForgetRequest(scope=types_pb2.Scope(user_id=ASKING[1]), filter=narrow)
    await inside.call(ASKING, Role.ADMIN, FORGET, forget)
    assert any(SECRET in text for text in await contents(inside, other, request))


async def test_filters_are_all_tried() -> None:
    """Every test that a condition can make has its case above."""
    assert CONDITIONS.keys() == {f.name for f in types_pb2.Condition.DESCRIPTOR.fields}


async def test_shared_users_are_of_the_own_tenant(inside: World, other: Owner) -> None:
    """A recall that names another user as shared sees those of its own tenant only."""
    request = recall_pb.RecallRequest(text=SECRET, shared_user_ids=[OWNERS[4][1], OWNERS[5][1]])
    secret = secret_of(OWNERS[4])
    await remember(inside, OWNERS[4], secret)
    assert not any(mark(OWNERS[4]) in text for text in await contents_shared(inside, request))
    request = recall_pb.BuildContextRequest(recall=request)
    answers = await inside.call(ASKING, Role.ADMIN, CONTEXT, request, [u for _, u in OWNERS[1:3]])
    assert answers is not None and mark(OWNERS[4]).encode() not in answers[0]


async def contents_shared(made: World, request: recall_pb.RecallRequest) -> list[str]:
    """What a recall with shared users brings back."""
    request.scope.user_id = ASKING[1]
    answers = await made.call(ASKING, Role.ADMIN, RECALL, request, [u for _, u in OWNERS[1:3]])
    assert answers is not None
    return [hit.memory.content for hit in recall_pb.RecallResponse.FromString(answers[0]).hits]


FOREIGN_CALLS = {
    "GetMemory": lambda i: ("Memory", pb.GetMemoryRequest(id=i)),
    "UpdateMemory": lambda i: ("Memory", pb.UpdateMemoryRequest(memory={"id": i, "content": "x"})),
    "Forget": lambda i: ("Memory", pb.ForgetRequest(ids={"ids": [i]})),
    "ResolveConflict": lambda i: (
        "Memory",
        pb.ResolveConflictRequest(conflict_group=i, keep_all=True),
    ),
    "Recall": lambda i: ("Recall", recall_pb.RecallRequest(memory_id=i)),
    "ReportUsage": lambda i: ("Recall", recall_pb.ReportUsageRequest(recall_id="r", used=[i])),
    "GetRecallTrace": lambda i: ("Recall", recall_pb.GetRecallTraceRequest(recall_id=i)),
}


@pytest.mark.parametrize("name", FOREIGN_CALLS)
async def test_foreign_ids_are_unknown_ids(
    inside: World, other: Owner, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id of another's memory or recall is NOT_FOUND, in every byte as one that never was."""
    monkeypatch.setattr("recalld.server.dispatch.new_name", lambda: f"{7:032x}")
    await contents(inside, other, recall_pb.RecallRequest(text=SECRET))
    foreign = inside.recalls if name == "GetRecallTrace" else inside.ids
    said = []
    for some_id in (foreign[other][0], "f" * 32):
        service, request = FOREIGN_CALLS[name](some_id)
        where = request.memory.scope if name == "UpdateMemory" else request.scope
        where.user_id = ASKING[1]
        said.append(await inside.refusal(ASKING, f"/recalld.v1.{service}Service/{name}", request))
    assert said[0] == said[1]
    assert said[0][0] == "NOT_FOUND"
