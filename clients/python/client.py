"""The blocking client of a recalld server.

It opens its connection at the first call, survives restarts of the server, sets a deadline on
every call, and raises the exceptions of `recalld.client.errors`. It never caches answers and
never starts a server (see testing.py for that).

Retries are safe: every write carries a `request_id`, a fresh UUID per logical call unless the
caller gives one, and the server answers a repeated id with its first answer for 24 hours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, Unpack

import grpc
from google.protobuf.message import Message

from recalld.client import errors, health, models, options, traces
from recalld.client.calls import Call
from recalld.client.connection import DEFAULT_TARGET, connection
from recalld.client.export import paging_options
from recalld.client.inputs import NewMemory, Query
from recalld.client.retry import Budget
from recalld.client.snapshots import SnapshotMethods

ReplyT = TypeVar("ReplyT")


class Client(SnapshotMethods):
    """Blocking client; a context manager.

    Args:
        target: `host:port`, `unix:/path` or `unix-abstract:name`.
        **connect: Scope, token, TLS and limits, see `ConnectOptions`.

    Raises:
        ValueError: If a token would travel in plaintext to another host.

    Thread safety: one client may be shared by any number of threads.
    """

    def __init__(
        self, target: str = DEFAULT_TARGET, **connect: Unpack[options.ConnectOptions]
    ) -> None:
        """Checks the options; connects at the first call."""
        opened = connection(target, connect)
        self._calls = opened.calls
        self._metadata = opened.call_metadata
        if opened.credentials is None:
            self._channel = grpc.insecure_channel(target, options=opened.channel_options)
        else:
            self._channel = grpc.secure_channel(
                target, opened.credentials, options=opened.channel_options
            )

    def __enter__(self) -> Client:
        """The client itself."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Closes the connection."""
        self.close()

    def close(self) -> None:
        """Closes the connection; calls in flight are cancelled."""
        self._channel.close()

    def ready(self, timeout_s: float = 10.0) -> bool:
        """Waits until the server says it is serving; False when `timeout_s` passed before."""
        check = self._channel.unary_unary(
            health.CHECK_METHOD,
            request_serializer=health.encode_request,
            response_deserializer=health.decode_is_serving,
        )
        budget = Budget(timeout_s)
        while (remaining_s := budget.remaining_s()) > 0.0:
            try:
                if check(None, timeout=remaining_s, metadata=self._metadata, wait_for_ready=True):
                    return True
            except grpc.RpcError as error:
                typed = errors.from_rpc(error)
                if not isinstance(typed, health.NOT_READY_YET):
                    raise typed from error
            time.sleep(min(health.POLL_INTERVAL_S, budget.remaining_s()))
        return False

    def remember(
        self,
        content: str | Sequence[NewMemory],
        **fields: Unpack[options.RememberOptions],
    ) -> models.Remembered:
        """Stores one memory, or up to 256 of one scope, all or nothing.

        An answer means that the memories are durable and that the next recall sees them.

        Args:
            content: The text of one memory, or a list of `NewMemory`.
            **fields: Fields of the one memory, scope, `request_id`, `timeout`.
        """
        return self._run(self._calls.remember(content, dict(fields)))

    def get(
        self, id: str | None = None, key: str | None = None, **call: Unpack[options.CallOptions]
    ) -> models.Memory:
        """One memory by id (any status), or the current value of a key.

        Raises:
            MemoryNotFound: If there is none.
        """
        return self._run(self._calls.get(id, key, dict(call)))

    def list_page(self, **narrow: Unpack[options.ListOptions]) -> models.Page:
        """One page of memories, newest first; `page_token` comes from the page before."""
        return self._run(self._calls.list_page(dict(narrow)))

    def list(self, **narrow: Unpack[options.ListOptions]) -> Iterator[models.Memory]:
        """All memories, newest first, read page by page; the deadline holds for each page."""
        while True:
            page = self.list_page(**narrow)
            yield from page.memories
            if not page.next_page_token:
                return
            narrow["page_token"] = page.next_page_token

    def list_keys(
        self, prefix: str = "", **call: Unpack[options.CallOptions]
    ) -> tuple[models.KeyEntry, ...]:
        """The keys in use, in byte order."""
        found: tuple[models.KeyEntry, ...] = ()
        page_token = ""
        while True:
            entries, page_token = self._run(self._calls.list_keys(prefix, page_token, dict(call)))
            found += tuple(entries)
            if not page_token:
                return found

    def update(self, id: str, **fields: Unpack[options.UpdateOptions]) -> models.Memory:
        """Changes the given fields of one memory and returns it; None clears a field.

        Raises:
            EtagMismatch: If `etag` is given and is not the current one.
            MemoryNotFound: If there is no such memory.
        """
        return self._run(self._calls.update(id, dict(fields)))

    def forget(self, **which: Unpack[options.ForgetOptions]) -> models.Forgotten:
        """Forgets by exactly one of `ids`, `key`, `filter`, `content`, `all_memories`.

        Args:
            **which: The selector; `mode` "soft" (default, can be undone for 30 days), "undo" or
                "purge" (nothing of it stays, and it cannot be undone; allow a minute);
                `dry_run` to count only; `etag` with a single id.
        """
        return self._run(self._calls.forget(dict(which)))

    def resolve(
        self, conflict_group: str, **how: Unpack[options.ResolveOptions]
    ) -> tuple[models.Memory, ...]:
        """Settles a conflict by exactly one of `winner_id`, `keep_all`, `undo`.

        Args:
            conflict_group: `conflict_group` of a memory or of `RecallResult.conflicts`.
            **how: `winner_id`: that one is right, the others are superseded; `keep_all`: all hold;
                `undo` takes the last settlement of the group back; `etag` of the winner.

        Returns:
            The members of the group after the change.

        Raises:
            MemoryNotFound: If there is no such conflict, or the winner is not in it.
        """
        return self._run(self._calls.resolve(conflict_group, dict(how)))

    def recall(
        self, text: str | None = None, **query: Unpack[options.RecallOptions]
    ) -> models.RecallResult:
        """The memories that matter to a request, best first, or an honest nothing.

        Args:
            text: The request as the user put it; or give `vector`, `memory_id`, or only a
                `filter`, which lists matches newest first.
            **query: The rest of the recall, see `Query`.
        """
        return self._run(self._calls.recall(text, dict(query)))

    def batch_recall(
        self, queries: Sequence[Query | str], **call: Unpack[options.CallOptions]
    ) -> tuple[models.RecallResult, ...]:
        """Up to 32 recalls in one call, answered in their order."""
        return self._run(self._calls.batch_recall(queries, dict(call)))

    def build_context(
        self, text: str | None = None, **query: Unpack[options.ContextOptions]
    ) -> models.Context:
        """A prompt-ready context under a hard `token_budget` (64 to 32768, default 600).

        Everything current goes in when it fits, else the best (of at most `k`, when it is given).
        `format` is markdown, xml or json; `tokenizer` is conservative (the default) or embedder.
        """
        return self._run(self._calls.build_context(text, dict(query)))

    def trace(
        self, recall_id: str, memory_id: str | None = None, **call: Unpack[options.CallOptions]
    ) -> traces.Trace:
        """What became of every candidate of a recall made with `explain`.

        Args:
            recall_id: The recall.
            memory_id: Ask of this memory alone, recalled or not: "why not this one?".
            **call: Scope and `timeout`.

        Raises:
            TraceNotFound: If the recall has no kept trace, or it cannot tell of this memory.
            MemoryNotFound: If there is no such memory.
        """
        return self._run(self._calls.trace(recall_id, memory_id, dict(call)))

    def traces(
        self, page_size: int = 0, **call: Unpack[options.CallOptions]
    ) -> Iterator[traces.Trace]:
        """Kept traces, newest first, without candidates, read page by page (0: of 100)."""
        page_token = ""
        while True:
            found, page_token = self._run(self._calls.traces(page_size, page_token, dict(call)))
            yield from found
            if not page_token:
                return

    def report_usage(self, recall_id: str, **usage: Unpack[options.UsageOptions]) -> int:
        """Says which hits were `used`, `helpful` or `corrected`; returns the revision."""
        return self._run(self._calls.report_usage(recall_id, dict(usage)))

    def server_info(self, timeout: float | None = None) -> models.ServerInfo:
        """Version, capabilities, limits and embedder of the server."""
        return self._run(self._calls.server_info(timeout))

    def stats(self, user_id: str | None = None, timeout: float | None = None) -> models.Stats:
        """Counts and sizes of the tenant, or of one user."""
        return self._run(self._calls.stats(user_id, timeout))

    def export(self, **narrow: Unpack[options.ExportOptions]) -> Iterator[models.Memory]:
        """Every memory of the user but forgotten ones, as a stream, oldest first.

        Without an `agent_id` those that agents keep private are among them (as admin); with one
        only that agent's private ones.
        A server that does not offer the stream is read page by page, newest first.
        """
        call = self._calls.export(dict(narrow))
        stream = self._channel.unary_stream(
            call.method.path,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.method.response_class.FromString,
        )
        reply = stream(call.request, timeout=call.timeout_s, metadata=self._metadata)
        try:
            for message in reply:
                yield call.decode(message)
        except grpc.RpcError as error:
            typed = errors.from_rpc(error)
            if not isinstance(typed, errors.Unsupported):
                raise typed from error
            yield from self.list(**paging_options(narrow))
        finally:
            reply.cancel()

    def call(self, method: str, request: Message, timeout: float | None = None) -> Any:
        """Any other unary call of the contract, such as `SessionService/AppendTurns`.

        Takes and returns messages of `recalld.v1`, with the deadline, retries, token and errors
        of this client; a missing `request_id` is filled in, the scope is the caller's to set.
        """
        return self._run(self._calls.raw(method, request, timeout))

    def _run(self, call: Call[ReplyT]) -> ReplyT:
        send = self._channel.unary_unary(
            call.method.path,
            request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.method.response_class.FromString,
        )
        budget = Budget(call.timeout_s)
        while True:
            try:
                reply = send(call.request, timeout=budget.remaining_s(), metadata=self._metadata)
                return call.decode(reply)
            except grpc.RpcError as error:
                typed = errors.from_rpc(error)
                delay_s = budget.delay_s(typed)
                if delay_s is None:
                    raise typed from error
            time.sleep(delay_s)
