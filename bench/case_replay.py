"""Replays the steps and queries of one reported case on a real server.

A case is a user name space of its own; one that restarts, restores or changes the embedder gets a
server of its own. All steps are made at the same `now`, as the cases define it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from recalld.bench.case_expect import Result, Seen, Situation, failures
from recalld.bench.case_host import Host, Unsupported
from recalld.bench.case_wire import (
    expected_on_wire,
    filter_of,
    memories_of,
    recall_of,
    scope_of,
    seen_of,
    text_of,
)
from recalld.bench.target import CALL_TIMEOUT_S, clock
from recalld.client.testing import ServerFailed
from recalld.v1.admin_service_pb2 import (
    CreateSnapshotRequest,
    GetServerInfoRequest,
    RestoreSnapshotRequest,
)
from recalld.v1.memory_service_pb2 import (
    ForgetRequest,
    GetMemoryRequest,
    IdSet,
    ListMemoriesRequest,
    MemoryInput,
    RememberRequest,
    UpdateMemoryRequest,
)
from recalld.v1.recall_service_pb2 import BuildContextRequest
from recalld.v1.types_pb2 import Memory

NOW = datetime(2026, 6, 17, 12, tzinfo=UTC)  # a Wednesday noon; any fixed time serves
PARALLEL_MAX = 32
BATCH_MAX = 256  # memories in one call
OWN_SERVER_OPS = frozenset({"restart", "snapshot", "restore", "switch_embedder"})


class Replay:
    """One case in progress: who stands behind the labels, and the calls of each operation."""

    def __init__(self, host: Host, prefix: str):
        """Nothing is called yet."""
        self._host = host
        self._prefix = prefix
        self._labels: dict[str, set[str]] = defaultdict(set)  # memory id -> labels
        self._ids: dict[str, str] = {}  # label -> memory id
        self._users: dict[str, Mapping[str, Any]] = {}  # label -> the step that stored it
        self._steps: dict[str, Callable[[Mapping[str, Any]], Result]] = {
            "remember": self._remember,
            "remember_many": self._remember_many,
            "update": self._update,
            "forget": self._forget,
            "recall": self._recall,
            "assemble": self._assemble,
            "get": self._get,
            "list": self._list,
            "parallel": self._parallel,
            "restart": self._restart,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "switch_embedder": self._switch_embedder,
        }

    def do(self, step: Mapping[str, Any]) -> Result:
        """Runs one operation, `times` times; a failed call is a result, not an exception.

        Raises:
            Unsupported: it has no counterpart.
        """
        if step["op"] not in self._steps:
            raise Unsupported(f"operation {step['op']!r}")
        times = 1 if step["op"] == "parallel" else step.get("times", 1)
        result = Result()
        for _ in range(times):
            try:
                result = self._steps[step["op"]](step)
            except grpc.RpcError as error:
                if not isinstance(error, grpc.Call):
                    raise
                return Result(error=error.code().name, detail=error.details() or "")
        return result

    def look_up(self, label: str) -> Seen | None:
        """The memory of a label, whatever its status; None: there is none any more."""
        if label not in self._ids:
            return None
        scope = scope_of(self._users[label], self._prefix)
        request = GetMemoryRequest(scope=scope, id=self._ids[label])
        try:
            response = self._host.target.memory.GetMemory(request, **_call())
        except grpc.RpcError:
            return None
        return self._seen(response.memory)

    def _seen(self, memory: Memory, score: float = 0.0) -> Seen:
        return seen_of(memory, self._labels[memory.id], NOW, score)

    def _write(self, step: Mapping[str, Any], numbered: Sequence[tuple[str, Memory]]) -> Result:
        request = RememberRequest(
            scope=scope_of(step, self._prefix),
            memories=[MemoryInput(memory=memory) for _, memory in numbered],
            request_id=uuid4().hex,
        )
        response = self._host.target.memory.Remember(request, **_call())
        for (label, _), result in zip(numbered, response.results, strict=True):
            if label and result.id:
                self._labels[result.id].add(label)
                self._ids[label] = result.id
                self._users[label] = step
        return Result()

    def _remember(self, step: Mapping[str, Any]) -> Result:
        memories = memories_of(step, text_of(step["text"]), step.get("t", 0), NOW)
        return self._write(step, [(step.get("as", ""), m) for m in memories])

    def _remember_many(self, step: Mapping[str, Any]) -> Result:
        numbered = []
        for i in range(1, step["count"] + 1):
            text = text_of(step["text"]).replace("{i}", str(i))
            t = step.get("t", 0) + (i - 1) * step.get("t_step", 0)
            numbered += [(f"{step['as']}{i}", m) for m in memories_of(step, text, t, NOW)]
        for start in range(0, len(numbered), BATCH_MAX):
            self._write(step, numbered[start : start + BATCH_MAX])
        return Result()

    def _update(self, step: Mapping[str, Any]) -> Result:
        label = step["ref"]
        scope = scope_of(self._users[label], self._prefix)
        memory = Memory(scope=scope, id=self._ids[label], content=text_of(step["text"]))
        mask = FieldMask(paths=["content"])
        self._host.target.memory.UpdateMemory(
            UpdateMemoryRequest(memory=memory, update_mask=mask), **_call()
        )
        return Result()

    def _forget(self, step: Mapping[str, Any]) -> Result:
        request = ForgetRequest(
            scope=scope_of(self._users.get(step.get("ref", ""), step), self._prefix)
        )
        if "ref" in step:
            request.ids.CopyFrom(IdSet(ids=[self._ids[step["ref"]]]))
        elif "key" in step:
            request.key = step["key"]
        else:
            request.content = text_of(step["text"])
        self._host.target.memory.Forget(request, **_call())
        return Result()

    def _recall(self, step: Mapping[str, Any]) -> Result:
        request = recall_of(step, self._prefix, NOW, self._dimension())
        response = self._host.target.recall.Recall(request, **_call())
        seen = [self._seen(hit.memory, hit.score) for hit in response.hits]
        return Result(memories=seen, abstained=response.abstained)

    def _dimension(self) -> int:
        info = self._host.target.admin.GetServerInfo(GetServerInfoRequest(), **_call())
        return info.embedder.dimension

    def _assemble(self, step: Mapping[str, Any]) -> Result:
        request = BuildContextRequest(
            recall=recall_of(step, self._prefix, NOW, 0), token_budget=step["token_budget"]
        )
        response = self._host.target.recall.BuildContext(request, **_call())
        return Result(text=response.text, token_count=response.token_count)

    def _get(self, step: Mapping[str, Any]) -> Result:
        request = GetMemoryRequest(scope=scope_of(step, self._prefix), key=step["key"])
        response = self._host.target.memory.GetMemory(request, **_call())
        return Result(memories=[self._seen(response.memory)])

    def _list(self, step: Mapping[str, Any]) -> Result:
        request = ListMemoriesRequest(
            scope=scope_of(step, self._prefix),
            filter=filter_of(step.get("filters", {}), NOW),
            page_size=step.get("page_size", 0),
        )
        memories: list[Seen] = []
        pages: list[list[str]] = []
        while True:
            response = self._host.target.memory.ListMemories(request, **_call())
            memories += [self._seen(m) for m in response.memories]
            pages.append([m.id for m in response.memories])
            request.page_token = response.next_page_token
            if not request.page_token or not step.get("follow_pages"):
                return Result(memories=memories, pages=pages)

    def _parallel(self, step: Mapping[str, Any]) -> Result:
        copies = [s for s in step["steps"] for _ in range(step.get("times", 1))]
        with ThreadPoolExecutor(min(PARALLEL_MAX, len(copies))) as pool:
            results = list(pool.map(self.do, copies))
        return next((r for r in results if r.error), Result())

    def _restart(self, step: Mapping[str, Any]) -> Result:
        self._host.restart()
        return Result()

    def _switch_embedder(self, step: Mapping[str, Any]) -> Result:
        self._host.switch_embedder(step.get("dim", "different"))
        return Result()

    def _snapshot(self, step: Mapping[str, Any]) -> Result:
        request = CreateSnapshotRequest(name=step["name"])
        self._host.target.admin.CreateSnapshot(request, **_call())
        return Result()

    def _restore(self, step: Mapping[str, Any]) -> Result:
        request = RestoreSnapshotRequest(name=step["name"])
        self._host.target.admin.RestoreSnapshot(request, **_call())
        return Result()


def _call() -> dict[str, Any]:
    return {"metadata": clock(NOW), "timeout": CALL_TIMEOUT_S}


def needs_own_server(case: Mapping[str, Any]) -> bool:
    """Whether a step of the case stops or replaces the whole server."""
    return any(step["op"] in OWN_SERVER_OPS for step in case["setup"])


def judge(case: Mapping[str, Any], host: Host, prefix: str) -> tuple[list[str], list[str]]:
    """Replays a case.

    Returns:
        Why it fails (empty: it passes), and the softer goals that do not hold.
    """
    replay = Replay(host, prefix)
    should: list[str] = []
    wrong: list[str] = []
    try:
        for number, step in enumerate(case["setup"]):
            result = replay.do(step)
            if result.error:
                return [f"setup {number} {step['op']}: {result.error}: {result.detail}"], []
        results: list[Result] = []
        for i, (query, expect) in enumerate(_pairs(case)):
            result = replay.do(query)
            softer: list[str] = []
            situation = Situation(result, results, replay.look_up, softer)
            wrong += [f"query {i}: {w}" for w in failures(expected_on_wire(expect), situation)]
            should += [f"query {i}: {w}" for w in softer]
            results.append(result)
    except (Unsupported, ServerFailed) as error:
        return [*wrong, str(error)], should
    return wrong, should


def _pairs(case: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    queries, expects = case["query"], case["expect"]
    if isinstance(queries, Mapping):
        queries, expects = [queries], [expects]
    yield from zip(queries, expects, strict=True)
