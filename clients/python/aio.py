"""The asyncio client of a recalld server: the methods of `Client`, awaited.

Everything that `client.py` says holds here too; only the way a call is run differs. The channel
belongs to the event loop in which the first call is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar, Unpack

import grpc
import grpc.aio
from google.protobuf.message import Message

from recalld.client import errors, health, models, options, traces
from recalld.client.calls import Call
from recalld.client.connection import DEFAULT_TARGET, connection
from recalld.client.export import paging_options
from recalld.client.inputs import NewMemory, Query
from recalld.client.retry import Budget
from recalld.client.snapshots import AsyncSnapshotMethods

ReplyT = TypeVar("ReplyT")


class AsyncClient(AsyncSnapshotMethods):
    """Asyncio client; an async context manager.

    Args:
        target: `host:port`, `unix:/path` or `unix-abstract:name`.
        **connect: Scope, token, TLS and limits, see `ConnectOptions`.

    Raises:
        ValueError: If a token would travel in plaintext to another host.

    Thread safety: none; use it from one event loop.
    """

    def __init__(
        self, target: str = DEFAULT_TARGET, **connect: Unpack[options.ConnectOptions]
    ) -> None:
        """Checks the options; connects at the first call."""
        self._connection = connection(target, connect)
        self._calls = self._connection.calls
        self._metadata = self._connection.call_metadata
        self._opened: grpc.aio.Channel | None = None

    async def __aenter__(self) -> AsyncClient:
        """The client itself."""
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Closes the connection."""
        await self.close()

    async def close(self) -> None:
        """Closes the connection; calls in flight are cancelled."""
        if self._opened is not None:
            await self._opened.close()

    async def ready(self, timeout_s: float = 10.0) -> bool:
        """Waits until the server says it is serving; False when `timeout_s` passed before."""
        check = self._channel().unary_unary(
            health.CHECK_METHOD,
            request_serializer=health.encode_request,
            response_deserializer=health.decode_is_serving,
        )
        budget = Budget(timeout_s)
        while (remaining_s := budget.remaining_s()) > 0.0:
            try:
                if await check(
                    None, timeout=remaining_s, metadata=self._metadata, wait_for_ready=True
                ):
                    return True
            except grpc.RpcError as error:
                typed = errors.from_rpc(error)
                if not isinstance(typed, health.NOT_READY_YET):
                    raise typed from error
            await asyncio.sleep(min(health.POLL_INTERVAL_S, budget.remaining_s()))
        return False

    async def remember(
        self,
        content: str | Sequence[NewMemory],
        **fields: Unpack[options.RememberOptions],
    ) -> models.Remembered:
        """Stores one memory, or up to 256 of one scope; see `Client.remember`."""
        return await self._run(self._calls.remember(content, dict(fields)))

    async def get(
        self, id: str | None = None, key: str | None = None, **call: Unpack[options.CallOptions]
    ) -> models.Memory:
        """One memory by id, or the current value of a key; see `Client.get`."""
        return await self._run(self._calls.get(id, key, dict(call)))

    async def list_page(self, **narrow: Unpack[options.ListOptions]) -> models.Page:
        """One page of memories, newest first; see `Client.list_page`."""
        return await self._run(self._calls.list_page(dict(narrow)))

    async def list(self, **narrow: Unpack[options.ListOptions]) -> AsyncIterator[models.Memory]:
        """All memories, newest first, read page by page; see `Client.list`."""
        while True:
            page = await self.list_page(**narrow)
            for memory in page.memories:
                yield memory
            if not page.next_page_token:
                return
            narrow["page_token"] = page.next_page_token

    async def list_keys(
        self, prefix: str = "", **call: Unpack[options.CallOptions]
    ) -> tuple[models.KeyEntry, ...]:
        """The keys in use, in byte order."""
        found: tuple[models.KeyEntry, ...] = ()
        page_token = ""
        while True:
            entries, page_token = await self._run(
                self._calls.list_keys(prefix, page_token, dict(call))
            )
            found += tuple(entries)
            if not page_token:
                return found

    async def update(self, id: str, **fields: Unpack[options.UpdateOptions]) -> models.Memory:
        """Changes the given fields of one memory; see `Client.update`."""
        return await self._run(self._calls.update(id, dict(fields)))

    async def forget(self, **which: Unpack[options.ForgetOptions]) -> models.Forgotten:
        """Forgets by exactly one selector; see `Client.forget`."""
        return await self._run(self._calls.forget(dict(which)))

    async def resolve(
        self, conflict_group: str, **how: Unpack[options.ResolveOptions]
    ) -> tuple[models.Memory, ...]:
        """Settles a conflict, or takes that back; see `Client.resolve`."""
        return await self._run(self._calls.resolve(conflict_group, dict(how)))

    async def recall(
        self, text: str | None = None, **query: Unpack[options.RecallOptions]
    ) -> models.RecallResult:
        """The memories that matter to a request, or nothing; see `Client.recall`."""
        return await self._run(self._calls.recall(text, dict(query)))

    async def batch_recall(
        self, queries: Sequence[Query | str], **call: Unpack[options.CallOptions]
    ) -> tuple[models.RecallResult, ...]:
        """Up to 32 recalls in one call, answered in their order."""
        return await self._run(self._calls.batch_recall(queries, dict(call)))

    async def build_context(
        self, text: str | None = None, **query: Unpack[options.ContextOptions]
    ) -> models.Context:
        """A prompt-ready context under a hard `token_budget`; see `Client.build_context`."""
        return await self._run(self._calls.build_context(text, dict(query)))

    async def trace(
        self, recall_id: str, memory_id: str | None = None, **call: Unpack[options.CallOptions]
    ) -> traces.Trace:
        """What became of every candidate of a recall, or of one memory; see `Client.trace`."""
        return await self._run(self._calls.trace(recall_id, memory_id, dict(call)))

    async def traces(
        self, page_size: int = 0, **call: Unpack[options.CallOptions]
    ) -> AsyncIterator[traces.Trace]:
        """Kept traces, newest first, without candidates; see `Client.traces`."""
        page_token = ""
        while True:
            found, page_token = await self._run(
                self._calls.traces(page_size, page_token, dict(call))
            )
            for trace in found:
                yield trace
            if not page_token:
                return

    async def report_usage(self, recall_id: str, **usage: Unpack[options.UsageOptions]) -> int:
        """Says which hits were `used`, `helpful` or `corrected`; returns the revision."""
        return await self._run(self._calls.report_usage(recall_id, dict(usage)))

    async def server_info(self, timeout: float | None = None) -> models.ServerInfo:
        """Version, capabilities, limits and embedder of the server."""
        return await self._run(self._calls.server_info(timeout))

    async def stats(self, user_id: str | None = None, timeout: float | None = None) -> models.Stats:
        """Counts and sizes of the tenant, or of one user."""
        return await self._run(self._calls.stats(user_id, timeout))

    async def export(self, **narrow: Unpack[options.ExportOptions]) -> AsyncIterator[models.Memory]:
        """Every memory of the user but forgotten ones; see `Client.export`."""
        call = self._calls.export(dict(narrow))
        stream = self._channel().unary_stream(
            call.method.path,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.method.response_class.FromString,
        )
        reply = stream(call.request, timeout=call.timeout_s, metadata=self._metadata)
        try:
            async for message in reply:
                yield call.decode(message)
            return
        except grpc.RpcError as error:
            typed = errors.from_rpc(error)
            if not isinstance(typed, errors.Unsupported):
                raise typed from error
        finally:
            reply.cancel()
        async for memory in self.list(**paging_options(narrow)):
            yield memory

    async def call(self, method: str, request: Message, timeout: float | None = None) -> Any:
        """Any other unary call of the contract, wire messages in and out; see `Client.call`."""
        return await self._run(self._calls.raw(method, request, timeout))

    def _channel(self) -> grpc.aio.Channel:
        """The channel, made inside the loop that it will belong to."""
        if self._opened is None:
            made = self._connection
            if made.credentials is None:
                self._opened = grpc.aio.insecure_channel(made.target, made.channel_options)
            else:
                self._opened = grpc.aio.secure_channel(
                    made.target, made.credentials, made.channel_options
                )
        return self._opened

    async def _run(self, call: Call[ReplyT]) -> ReplyT:
        send = self._channel().unary_unary(
            call.method.path,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.method.response_class.FromString,
        )
        budget = Budget(call.timeout_s)
        while True:
            try:
                reply = await send(
                    call.request, timeout=budget.remaining_s(), metadata=self._metadata
                )
                return call.decode(reply)
            except grpc.RpcError as error:
                typed = errors.from_rpc(error)
                delay_s = budget.delay_s(typed)
                if delay_s is None:
                    raise typed from error
            await asyncio.sleep(delay_s)
