"""Which handler answers which method.

Handlers are looked up when a call comes in: the port is bound before they exist.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from recalld.server.batch_recall import BatchRecall
from recalld.server.call import Call
from recalld.server.config import Config
from recalld.server.context import BuildContext
from recalld.server.dispatch import Dispatcher
from recalld.server.explaining import Explaining
from recalld.server.facts import Facts
from recalld.server.forget import Forget
from recalld.server.keeping import Eraser
from recalld.server.metrics import Metrics
from recalld.server.models import Models
from recalld.server.partitions import Partitions
from recalld.server.purge import Purge
from recalld.server.reading import Reading
from recalld.server.recall import Recall
from recalld.server.reembedding import Reembedding
from recalld.server.remember import Remember
from recalld.server.resolve import ResolveConflict
from recalld.server.roles import Roles
from recalld.server.screened_places import is_screened
from recalld.server.screening import Screen, screened_call
from recalld.server.sealed import OpenSealed
from recalld.server.snapshots import Snapshots
from recalld.server.traces import Traces
from recalld.server.update import UpdateMemory
from recalld.server.usage import ReportUsage
from recalld.server.writer import Writer
from recalld.storage.store import Store
from recalld.v1 import (
    admin_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)

SERVICES: tuple[tuple[ServiceDescriptor, tuple[str, ...]], ...] = (
    (
        memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
        (
            "Remember",
            "GetMemory",
            "ListMemories",
            "ListKeys",
            "UpdateMemory",
            "Forget",
            "ResolveConflict",
            "ExportMemories",
        ),
    ),
    (
        recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"],
        (
            "Recall",
            "BatchRecall",
            "BuildContext",
            "GetRecallTrace",
            "ListRecallTraces",
            "ReportUsage",
        ),
    ),
    (session_service_pb2.DESCRIPTOR.services_by_name["SessionService"], ()),
    (
        admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
        (
            "GetServerInfo",
            "GetStats",
            "CreateSnapshot",
            "ListSnapshots",
            "VerifySnapshot",
            "RestoreSnapshot",
            "DeleteSnapshot",
            "OpenSealed",
        ),
    ),
)
"""Every service of the contract, and the methods of it that work.

The others answer UNIMPLEMENTED.
"""

SERVICE_NAMES = tuple(descriptor.full_name for descriptor, _ in SERVICES)
CAPABILITIES = tuple(
    f"{descriptor.name}/{name}" for descriptor, names in SERVICES for name in names
)

WRITES = frozenset(
    {
        "MemoryService/Remember",
        "MemoryService/UpdateMemory",
        "MemoryService/Forget",
        "MemoryService/ResolveConflict",
        "RecallService/ReportUsage",
        "AdminService/CreateSnapshot",
        "AdminService/RestoreSnapshot",
        "AdminService/DeleteSnapshot",
    }
)
"""Those of them that a read-only server refuses."""


def capabilities_of(store: Store) -> tuple[str, ...]:
    """Methods that work on a store, in the order of the contract."""
    refused = WRITES if store.read_only_reason else frozenset()
    return tuple(name for name in CAPABILITIES if name not in refused)


@dataclass(frozen=True)
class Parts:
    """What handlers are made of."""

    config: Config
    partitions: Partitions
    writer: Writer
    store: Store
    models: Models
    reembedding: Reembedding
    embedder_name: str
    roles: Roles | None
    metrics: Metrics
    traces: Traces
    screen: Screen
    eraser: Eraser
    snapshots: Snapshots
    pool: ThreadPoolExecutor
    start_time_us: int
    started_s: float


def make_recall(parts: Parts) -> Recall:
    """The handler of Recall, on which others build."""
    return Recall(
        partitions=parts.partitions,
        writer=parts.writer,
        models=parts.models,
        metrics=parts.metrics,
        pool=parts.pool,
        ranking=parts.config.ranking,
        roles=parts.roles,
        traces=parts.traces,
    )


class Table:
    """Handlers by method name; empty until everything is loaded."""

    def __init__(self) -> None:
        """Start empty: the gate keeps calls out meanwhile."""
        self._handlers: dict[str, Any] = {}
        self._screened: Callable[[Message, Call], Awaitable[Call]]

    def fill(self, parts: Parts) -> None:
        """Make every handler."""
        self._screened = partial(screened_call, parts.screen, parts.pool)
        recall = make_recall(parts)
        explaining = Explaining(parts.partitions, parts.traces, parts.pool)
        reading = Reading(parts.partitions)
        facts = Facts(
            partitions=parts.partitions,
            writer=parts.writer,
            store=parts.store,
            embedder=parts.models.current,
            progress=parts.reembedding.progress,
            embedder_name=parts.embedder_name,
            capabilities=capabilities_of(parts.store),
            test_clock=parts.config.server.test_clock,
            start_time_us=parts.start_time_us,
            started_s=parts.started_s,
        )
        purge = Purge(
            parts.store, parts.writer, parts.models, parts.traces, recall.encoded, parts.eraser
        )
        self._handlers.update(
            {
                "Remember": Remember(
                    parts.partitions,
                    parts.writer,
                    parts.models,
                    parts.metrics,
                    parts.store.purges.tombstones,
                    parts.roles,
                ),
                "GetMemory": reading.get,
                "ListMemories": reading.list_page,
                "ListKeys": reading.keys,
                "UpdateMemory": UpdateMemory(parts.partitions, parts.writer, parts.models),
                "Forget": Forget(parts.partitions, parts.writer, purge),
                "ResolveConflict": ResolveConflict(parts.partitions, parts.writer),
                "ExportMemories": reading.export,
                "Recall": recall,
                "BatchRecall": BatchRecall(recall),
                "BuildContext": BuildContext(recall, parts.models.count_tokens),
                "GetRecallTrace": explaining.get,
                "ListRecallTraces": explaining.list_page,
                "ReportUsage": ReportUsage(parts.partitions, parts.writer, parts.metrics),
                "GetServerInfo": facts.info,
                "GetStats": facts.stats,
                "CreateSnapshot": parts.snapshots.create,
                "ListSnapshots": parts.snapshots.list_all,
                "VerifySnapshot": parts.snapshots.verify,
                "RestoreSnapshot": parts.snapshots.restore,
                "DeleteSnapshot": parts.snapshots.delete,
                "OpenSealed": OpenSealed(parts.partitions, parts.store, parts.screen.sealer),
            }
        )

    def handlers(self, dispatcher: Dispatcher) -> Iterator[grpc.GenericRpcHandler]:
        """GRPC handlers of every service of the contract."""
        for descriptor, names in SERVICES:
            streams = {method.name for method in descriptor.methods if method.server_streaming}
            late = {
                name: self._late_stream(name) if name in streams else self._late(name)
                for name in names
            }
            yield dispatcher.service(descriptor, late)

    def _late(self, name: str) -> Any:
        """A unary handler that is looked up at the call."""

        async def answer(request: Any, call: Call) -> Message:
            if is_screened(request):
                call = await self._screened(request, call)
            response: Message = await self._handlers[name](request, call)
            return response

        return answer

    def _late_stream(self, name: str) -> Any:
        """A streaming handler that is looked up at the call."""

        def answer(request: Any, call: Call) -> AsyncIterator[Message]:
            stream: AsyncIterator[Message] = self._handlers[name](request, call)
            return stream

        return answer
