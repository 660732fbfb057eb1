"""The server's handlers over an in-memory store: everything but the wire and the disk.

Tests drive it through the same handlers, with the same messages, as a real server does.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from typing import Any
from unittest.mock import Mock

import structlog
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from recalld.index.batching import BatchingEmbedder
from recalld.index.hash_embedder import HashEmbedder
from recalld.server import metrics, reload, services
from recalld.server.call import Call
from recalld.server.config import Config
from recalld.server.graphs import Graphs
from recalld.server.loading import Loading
from recalld.server.models import open_models
from recalld.server.partitions import Partitions
from recalld.server.reembedding import Reembedding, Seam
from recalld.server.roles import Roles
from recalld.server.screening import make_screen
from recalld.server.sealing import Sealer
from recalld.server.sections import (
    EmbedderSection,
    RankingSection,
    SensitiveSection,
    TracesSection,
)
from recalld.server.snapshots import Snapshots
from recalld.server.traces import Traces
from recalld.server.writer import Writer
from recalld.storage.memory_store import MemoryStore
from recalld.storage.store import Store
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.erasing import MemoryEraser

TENANT = "default"
HOUR_US = 3_600_000_000
SEAL_KEY = bytes(range(32))
DAY_US = 24 * HOUR_US
NOW_US = 1_796_083_200_000_000
"""2026-12-01T00:00:00Z."""
TIME_FIELDS = ("event_time", "valid_from", "valid_to", "expire_time")


class FixedClock:
    """Wall time that only the test moves; durations are real."""

    def __init__(self, now_us: int = NOW_US) -> None:
        self.time_us = now_us

    def now_us(self) -> int:
        return self.time_us

    def monotonic_s(self) -> float:
        return time.perf_counter()


class Recorder:
    """Takes the place of the dispatcher: keeps the handlers by method name."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.responses: dict[str, type[Message]] = {}

    def service(self, descriptor: ServiceDescriptor, handlers: dict[str, Any]) -> None:
        self.handlers.update(handlers)
        for method in descriptor.methods:
            self.responses[method.name] = GetMessageClass(method.output_type)


class Core:
    """Handlers over one store; open it with `opened`."""

    def __init__(
        self,
        store: Store,
        pool: ThreadPoolExecutor,
        dim: int,
        exact_max: int,
        traces: TracesSection | None = None,
        roles: Roles | None = None,
        sensitive: SensitiveSection | None = None,
    ) -> None:
        self.clock = FixedClock()
        self.store = store
        self.embedder = BatchingEmbedder(HashEmbedder(dim), requests_per_run_max=1)
        self.log = structlog.wrap_logger(structlog.ReturnLogger())
        ranking = RankingSection(exact_rows_max=exact_max)
        section = EmbedderSection(reembed_share=1.0)
        self.models = open_models(self.embedder, section, ranking, store, self.log, is_shared=False)
        self.metrics = metrics.create()
        self.reembedding = Reembedding(store, self.models, section, pool, self.metrics, self.log)
        stored = reload.reload(store, self.models).partitions
        self.graphs = Graphs(self.log, 2)
        loading = Loading(
            store, self.models, self.reembedding, UTC, self.clock, self.metrics, self.log
        )
        shown = self.metrics.partitions
        self.partitions = Partitions(stored, loading, self.graphs, shown, 1 << 30)
        sealer = Sealer(SEAL_KEY)
        self.writer = Writer(store, pool, self.partitions, self.metrics, UTC, sealer)
        config = Config() if traces is None else Config(traces=traces)
        self.traces = Traces(store.traces, pool, config.traces, "hash", self.metrics, self.log)
        self.eraser = MemoryEraser(store, self.clock)
        self.table = services.Table()
        self.table.fill(
            services.Parts(
                config=config,
                partitions=self.partitions,
                writer=self.writer,
                roles=roles,
                store=store,
                models=self.models,
                reembedding=self.reembedding,
                embedder_name="hash",
                metrics=self.metrics,
                traces=self.traces,
                screen=make_screen(sensitive or config.sensitive, sealer),
                eraser=self.eraser,
                # Snapshots are of files: tests of theirs run a real server.
                snapshots=Mock(spec=Snapshots),
                pool=pool,
                start_time_us=NOW_US,
                started_s=0.0,
            )
        )
        recorder = Recorder()
        list(self.table.handlers(recorder))  # type: ignore[arg-type]
        self.handlers = recorder.handlers
        self.responses = recorder.responses

    def embed_anew(self) -> None:
        """Begins to embed anew, as a server does when it is ready."""
        self.reembedding.start(Seam(self.partitions.loaded, self.partitions.settle))

    def caller(self, *, now_us: int = 0, deadline_s: float = math.inf, admin: bool = True) -> Call:
        return Call(TENANT, admin, "r", now_us or self.clock.now_us(), deadline_s, self.clock)

    async def ask(self, method: str, request: Any, **call: Any) -> Any:
        """Answers one request; keywords go to `caller`."""
        answer = await self.handlers[method](request, self.caller(**call))
        return self.responses[method].FromString(answer) if isinstance(answer, bytes) else answer

    async def remember(self, user: str, *memories: types_pb2.Memory, **more: Any) -> Any:
        """Remembers memories; `agent`, `namespace`, `request_id`, and what `caller` takes."""
        request = remember_request(user, *memories, **_taken(more, "agent", "namespace", "id"))
        return await self.ask("Remember", request, **more)

    async def recall(self, user: str, text: str = "", *, agent: str = "", **fields: Any) -> Any:
        """Recalls; fields are those of RecallRequest, `call` those of `caller`."""
        call = fields.pop("call", {})
        request = recall_service_pb2.RecallRequest(scope=scope(user, agent), **fields)
        if text:
            request.text = text
        return await self.ask("Recall", request, **call)

    async def get(self, user: str, memory_id: str = "", *, key: str = "", **where: str) -> Any:
        """One memory by id or by key."""
        request = pb.GetMemoryRequest(scope=scope(user, **where))
        if memory_id:
            request.id = memory_id
        else:
            request.key = key
        return (await self.ask("GetMemory", request)).memory

    async def listed(self, user: str, *statuses: int, agent: str = "") -> list[Any]:
        """Every visible memory of some statuses; none given: of any."""
        request = pb.ListMemoriesRequest(
            scope=scope(user, agent), statuses=statuses or range(1, 7), page_size=1000
        )
        return list((await self.ask("ListMemories", request)).memories)

    async def forget(self, user: str, *ids: str, **fields: Any) -> Any:
        """Forgets by id, or by another selector among `fields`."""
        call = fields.pop("call", {})
        where = scope(user, **_taken(fields, "agent", "namespace"))
        request = pb.ForgetRequest(scope=where, **fields)
        if ids:
            request.ids.ids.extend(ids)
        return await self.ask("Forget", request, **call)

    async def update(self, user: str, memory_id: str, *paths: str, **fields: Any) -> Any:
        """Updates fields of one memory, under a mask when paths are given."""
        call = fields.pop("call", {})
        about = _taken(fields, "etag", "request_id")
        made = memory(fields.pop("content", ""), **fields)
        made.id = memory_id
        made.scope.CopyFrom(scope(user))
        request = pb.UpdateMemoryRequest(memory=made, **about)
        request.update_mask.paths.extend(paths)
        return await self.ask("UpdateMemory", request, **call)


def _taken(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """Takes some keywords out of others."""
    return {name: fields.pop(name) for name in names if name in fields}


@contextlib.asynccontextmanager
async def opened(
    store: Store | None = None,
    *,
    dim: int = 64,
    exact_max: int = 50_000,
    traces: TracesSection | None = None,
    roles: Roles | None = None,
    sensitive: SensitiveSection | None = None,
    memory_max_bytes: int = 1 << 30,
) -> AsyncIterator[Core]:
    """A core over a store, an empty one by default; the store stays open."""
    with ThreadPoolExecutor(2) as pool:
        used = store if store is not None else MemoryStore()
        core = Core(used, pool, dim, exact_max, traces, roles, sensitive)
        core.partitions.bytes_max = memory_max_bytes
        try:
            yield core
        finally:
            await core.reembedding.close()
            await core.traces.close()
            await core.writer.drain()
            await core.partitions.close()
            await core.graphs.close()
            core.models.close()
            core.embedder.close()


def scope(user: str, agent: str = "", namespace: str = "") -> types_pb2.Scope:
    """A scope."""
    return types_pb2.Scope(user_id=user, agent_id=agent, namespace=namespace)


def timestamp(time_us: int) -> Timestamp:
    """A time on the wire."""
    return Timestamp(seconds=time_us // 1_000_000, nanos=time_us % 1_000_000 * 1000)


def memory(content: str, **fields: Any) -> types_pb2.Memory:
    """A memory; times are given in microseconds, `value` and `metadata` as dictionaries."""
    times = {name: timestamp(fields.pop(name)) for name in TIME_FIELDS if name in fields}
    objects = _taken(fields, "value", "metadata")
    made = types_pb2.Memory(content=content, **times, **fields)
    for name, value in objects.items():
        getattr(made, name).update(value)
    return made


def remember_request(
    user: str,
    *memories: types_pb2.Memory,
    agent: str = "",
    namespace: str = "",
    id: str = "",
) -> pb.RememberRequest:
    """A Remember request."""
    return pb.RememberRequest(
        scope=scope(user, agent, namespace),
        memories=[pb.MemoryInput(memory=item) for item in memories],
        request_id=id,
    )


def condition(**test: Any) -> types_pb2.Condition:
    """One condition of a filter."""
    return types_pb2.Condition(**test)


def must(*conditions: types_pb2.Condition) -> types_pb2.Filter:
    """A filter whose conditions must all hold."""
    return types_pb2.Filter(must=conditions)


def texts(hits: Iterable[Any]) -> list[str]:
    """Contents of hits, in order."""
    return [hit.memory.content for hit in hits]
