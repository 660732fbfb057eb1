"""Every call of the client as data: method, request, deadline, and how its reply is read.

The sync and the async client differ only in how they run a `Call`. Nothing here opens a
connection.

Invariants: a request with a `request_id` field leaves with one, chosen once per logical call, so
that a repeat of the call is the same write; every call has a finite deadline.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf import message_factory
from google.protobuf.message import Message

from recalld.client import decode, models, requests, sensitive, traces, values
from recalld.client.inputs import NewMemory, Query
from recalld.client.options import Timeouts
from recalld.client.wiretypes import build, listed, shown
from recalld.v1 import admin_service_pb2 as admin_pb2
from recalld.v1 import memory_service_pb2 as memory_pb2
from recalld.v1 import recall_service_pb2 as recall_pb2
from recalld.v1 import session_service_pb2 as session_pb2
from recalld.v1 import types_pb2

ReplyT = TypeVar("ReplyT")

SCOPE_FIELDS = ("user_id", "agent_id", "session_id", "namespace")


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC of the contract."""

    path: str
    response_class: type[Message]
    is_write: bool
    is_streaming: bool


def _methods() -> dict[str, Method]:
    """All RPCs by `Service/Method`, read from the contract itself."""
    found = {}
    for module in (memory_pb2, recall_pb2, session_pb2, admin_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            for rpc in service.methods:
                found[f"{service.name}/{rpc.name}"] = Method(
                    path=f"/{service.full_name}/{rpc.name}",
                    response_class=message_factory.GetMessageClass(rpc.output_type),
                    is_write="request_id" in rpc.input_type.fields_by_name,
                    is_streaming=rpc.client_streaming or rpc.server_streaming,
                )
    return found


METHODS: Mapping[str, Method] = _methods()


@dataclass(frozen=True, slots=True)
class Call(Generic[ReplyT]):
    """One logical call."""

    method: Method
    request: Message
    timeout_s: float
    decode: Callable[[Any], ReplyT]


@dataclass(frozen=True, slots=True)
class CallFactory:
    """Makes calls with the client's scope and deadlines; per-call options win over both."""

    scope: Mapping[str, str]
    timeouts: Timeouts

    def raw(self, name: str, request: Message, timeout: float | None) -> Call[Any]:
        """Any unary RPC, as `Service/Method`, with a wire request and a wire reply.

        Raises:
            ValueError: If there is no such unary RPC.
        """
        method = METHODS.get(name)
        if method is None or method.is_streaming:
            raise ValueError(f"call: {name!r} is no unary call of recalld.v1")
        copy = type(request)()
        copy.CopyFrom(request)
        return self._call(name, copy, {"timeout": timeout}, lambda reply: reply)

    def remember(
        self, content: str | Sequence[NewMemory], options: dict[str, Any]
    ) -> Call[models.Remembered]:
        """Remember."""
        scope = self._scope(options)
        call = _take(options, "timeout", "request_id")
        if isinstance(content, str):
            memories: Sequence[NewMemory] = [NewMemory(content=content, **options)]
        elif options:
            raise TypeError(f"remember: {sorted(options)[0]} belongs into each NewMemory")
        elif isinstance(content, bytes) or not isinstance(content, Iterable):
            raise TypeError(f"content: {shown(content)} is neither text nor a list of NewMemory")
        else:
            memories = content
        request = requests.remember(scope, memories)
        return self._call("MemoryService/Remember", request, call, decode.remembered)

    def get(self, id: str | None, key: str | None, options: dict[str, Any]) -> Call[models.Memory]:
        """GetMemory."""
        request = requests.get(self._scope(options), id, key)
        return self._call("MemoryService/GetMemory", request, options, decode.memory_of)

    def list_page(self, options: dict[str, Any]) -> Call[models.Page]:
        """ListMemories."""
        scope, call = self._scope(options), _take(options, "timeout")
        request = requests.list_memories(scope, **options)
        return self._call("MemoryService/ListMemories", request, call, decode.page)

    def list_keys(
        self, prefix: str, page_token: str, options: dict[str, Any]
    ) -> Call[tuple[Sequence[models.KeyEntry], str]]:
        """ListKeys; the reply is entries and the next page token."""
        request = build(
            memory_pb2.ListKeysRequest,
            scope=self._scope(options),
            prefix=prefix,
            page_token=page_token,
        )
        return self._call(
            "MemoryService/ListKeys",
            request,
            options,
            lambda reply: (
                [decode.key_entry(entry) for entry in reply.keys],
                reply.next_page_token,
            ),
        )

    def update(self, id: str, options: dict[str, Any]) -> Call[models.Memory]:
        """UpdateMemory."""
        scope, call = self._scope(options), _take(options, "timeout", "request_id")
        etag = options.pop("etag", "")
        request = requests.update(scope, id, options, etag)
        return self._call("MemoryService/UpdateMemory", request, call, decode.memory_of)

    def forget(self, options: dict[str, Any]) -> Call[models.Forgotten]:
        """Forget; a purge rewrites files, so it gets the deadline of admin calls."""
        scope, call = self._scope(options), _take(options, "timeout", "request_id")
        request = requests.forget(scope, **options)
        if request.mode == values.encode(values.ForgetMode, "purge", "mode"):
            call.setdefault("timeout", self.timeouts.admin_s)
        return self._call("MemoryService/Forget", request, call, decode.forgotten)

    def resolve(
        self, conflict_group: str, options: dict[str, Any]
    ) -> Call[tuple[models.Memory, ...]]:
        """ResolveConflict."""
        scope, call = self._scope(options), _take(options, "timeout", "request_id")
        request = requests.resolve(scope, conflict_group, **options)
        return self._call("MemoryService/ResolveConflict", request, call, decode.resolved)

    def export(self, options: dict[str, Any]) -> Call[models.Memory]:
        """ExportMemories; `decode` reads one message of the stream."""
        scope, call = self._scope(options), _take(options, "timeout")
        listed = requests.list_memories(scope, **options)
        request = memory_pb2.ExportMemoriesRequest(
            scope=scope,
            filter=listed.filter if listed.HasField("filter") else None,
            statuses=listed.statuses,
        )
        call.setdefault("timeout", self.timeouts.admin_s)
        return self._call("MemoryService/ExportMemories", request, call, decode.memory_of)

    def recall(self, text: str | None, options: dict[str, Any]) -> Call[models.RecallResult]:
        """Recall."""
        scope, call = self._scope(options), _take(options, "timeout")
        request = requests.recall(scope, Query(text=text, **options))
        return self._call("RecallService/Recall", request, call, decode.recall)

    def batch_recall(
        self, queries: Sequence[Query | str], options: dict[str, Any]
    ) -> Call[tuple[models.RecallResult, ...]]:
        """BatchRecall."""
        scope = self._scope(options)
        asked = [
            Query(text=query) if isinstance(query, str) else query
            for query in listed("queries", queries)
        ]
        strange = [query for query in asked if not isinstance(query, Query)]
        if strange:
            raise TypeError(f"queries: {shown(strange[0])} is neither text nor a Query")
        request = recall_pb2.BatchRecallRequest(
            requests=[requests.recall(scope, query) for query in asked]
        )
        return self._call("RecallService/BatchRecall", request, options, decode.batch_recall)

    def build_context(self, text: str | None, options: dict[str, Any]) -> Call[models.Context]:
        """BuildContext."""
        scope, call = self._scope(options), _take(options, "timeout")
        assembly = _take(options, "token_budget", "tokenizer", "format", "language")
        query = Query(text=text, **options)
        request = requests.build_context(scope, query, **assembly)
        return self._call("RecallService/BuildContext", request, call, decode.context)

    def trace(
        self, recall_id: str, memory_id: str | None, options: dict[str, Any]
    ) -> Call[traces.Trace]:
        """GetRecallTrace."""
        request = build(
            recall_pb2.GetRecallTraceRequest,
            scope=self._scope(options),
            recall_id=recall_id,
            memory_id=memory_id,
        )
        return self._call("RecallService/GetRecallTrace", request, options, traces.trace_of)

    def traces(
        self, page_size: int, page_token: str, options: dict[str, Any]
    ) -> Call[tuple[Sequence[traces.Trace], str]]:
        """ListRecallTraces; the reply is traces and the next page token."""
        request = build(
            recall_pb2.ListRecallTracesRequest,
            scope=self._scope(options),
            page_size=page_size,
            page_token=page_token,
        )
        return self._call("RecallService/ListRecallTraces", request, options, traces.traces_page)

    def report_usage(self, recall_id: str, options: dict[str, Any]) -> Call[int]:
        """ReportUsage; the reply is the revision of the write."""
        scope, call = self._scope(options), _take(options, "timeout", "request_id")
        options.update({n: listed(n, options[n]) for n in ("used", "corrected") if n in options})
        request = build(recall_pb2.ReportUsageRequest, scope=scope, recall_id=recall_id, **options)
        return self._call("RecallService/ReportUsage", request, call, decode.revision)

    def server_info(self, timeout: float | None) -> Call[models.ServerInfo]:
        """GetServerInfo."""
        request = admin_pb2.GetServerInfoRequest()
        call = {"timeout": timeout}
        return self._call("AdminService/GetServerInfo", request, call, decode.server_info)

    def stats(self, user_id: str | None, timeout: float | None) -> Call[models.Stats]:
        """GetStats, of one user or of the whole tenant."""
        scope = None if user_id is None else build(types_pb2.Scope, user_id=user_id)
        request = admin_pb2.GetStatsRequest(scope=scope)
        return self._call("AdminService/GetStats", request, {"timeout": timeout}, decode.stats)

    def open_sealed(
        self, id: str, options: dict[str, Any]
    ) -> Call[tuple[sensitive.SealedValue, ...]]:
        """OpenSealed."""
        request = build(admin_pb2.OpenSealedRequest, scope=self._scope(options), id=id)
        return self._call("AdminService/OpenSealed", request, options, sensitive.opened)

    def _scope(self, options: dict[str, Any]) -> types_pb2.Scope:
        """The scope of a call, taken out of its options."""
        return build(types_pb2.Scope, **{**self.scope, **_take(options, *SCOPE_FIELDS)})

    def _call(
        self,
        name: str,
        request: Any,
        options: Mapping[str, Any],
        decode_reply: Callable[[Any], ReplyT],
    ) -> Call[ReplyT]:
        method = METHODS[name]
        unknown = sorted(set(options) - {"timeout", "request_id"})
        if unknown:
            raise TypeError(f"{name}: unexpected keyword argument {unknown[0]!r}")
        if method.is_write:
            given = build(type(request), request_id=options.get("request_id"))
            request.request_id = given.request_id or request.request_id or uuid.uuid4().hex
        timeout_s = options.get("timeout")
        if timeout_s is None:
            timeout_s = self._timeout_s(name, method)
        if not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < math.inf:
            raise ValueError(f"timeout: {shown(timeout_s)} is no positive number of seconds")
        return Call(method, request, timeout_s, decode_reply)

    def _timeout_s(self, name: str, method: Method) -> float:
        if name.startswith("AdminService/"):
            return self.timeouts.admin_s
        return self.timeouts.write_s if method.is_write else self.timeouts.recall_s


def _take(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Moves the named entries out of `options`."""
    return {name: options.pop(name) for name in names if name in options}
