"""The one way in which anything is written.

Plan -> commit -> publish -> answer, idempotent by request id.

Checking and storing are one step: planning and committing happen under the partition's lock. An
answer is given only when the rows are durable and the next recall sees them. A caller that goes
away does not stop a write half-way.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import tzinfo
from typing import Any, TypeVar

from google.protobuf.message import Message

from recalld.server.call import Call
from recalld.server.change import Change
from recalld.server.cue_vectors import kept_cues
from recalld.server.errors import RequestIdReused
from recalld.server.metrics import Metrics
from recalld.server.models import STAND_IN
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.publishing import Publisher
from recalld.server.quotas import MemoryQuota
from recalld.server.sealed import sealed_values
from recalld.server.sealing import Sealer
from recalld.storage.store import Store, StoredMemory, StoredRequest, WriteBatch

R = TypeVar("R", bound=Message)


class Writer:
    """Runs planned writes against the store and the partitions.

    Attributes:
        quota: of memories; None = there is none.
        waiting_row_count: memories whose commit is not known yet.
    """

    quota: MemoryQuota | None = None
    waiting_row_count = 0

    def __init__(
        self,
        store: Store,
        pool: ThreadPoolExecutor,
        partitions: Partitions,
        metrics: Metrics,
        zone: tzinfo,
        sealer: Sealer | None = None,
    ) -> None:
        """Take over the store's revisions.

        Args:
            store: the durable truth.
            pool: threads on which the index is changed.
            partitions: told of every one that changed.
            metrics: where commit times go.
            zone: in which the days of a memory's words begin.
            sealer: encrypts what is sealed; None: nothing is.
        """
        self._store = store
        self._publisher = Publisher(pool, partitions, metrics, zone)
        self._metrics = metrics
        self._sealer = sealer
        self._revisions = store.revisions()
        self._published = dict(self._revisions)
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._orders: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def revision(self, tenant: str) -> int:
        """Newest revision handed out to a tenant."""
        return self._revisions.get(tenant, 0)

    def published(self, tenant: str) -> int:
        """Newest revision whose rows every recall here sees."""
        return self._published.get(tenant, 0)

    async def once(
        self,
        call: Call,
        method: str,
        request: Message,
        response_class: type[R],
        run: Callable[[StoredRequest | None], Awaitable[R]],
    ) -> R:
        """Answer a request, or give again the answer it had under the same request id.

        What is being written is written to its end even when the caller is cancelled; what
        was not begun is not begun any more.

        Args:
            call: the call.
            method: full method name.
            request: message with a `request_id` field.
            response_class: class of the answer.
            run: does the work; gets the request row to commit along (None without an id).

        Raises:
            RequestIdReused: the id came before with another body or method.
        """
        request_id: str = request.request_id  # type: ignore[attr-defined]
        if not request_id:
            return await self._to_its_end(object(), run(None), call)
        key = (call.tenant, request_id)
        while key in self._tasks:
            await asyncio.wait([self._tasks[key]])
        body_hash = hashlib.blake2b(
            request.SerializeToString(deterministic=True), digest_size=16
        ).digest()
        known = self._store.find_request(call.tenant, request_id)
        if known is not None:
            if known.body_hash != body_hash or known.method != method:
                raise RequestIdReused(
                    f"request_id {request_id!r} was used before for another request"
                )
            return response_class.FromString(known.response)
        row = StoredRequest(call.tenant, request_id, method, body_hash, b"", call.clock.now_us())
        return await self._to_its_end(key, run(row), call)

    async def drain(self) -> None:
        """Wait for the writes whose callers have gone away."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _to_its_end(self, key: Hashable, work: Awaitable[R], call: Call) -> R:
        """Await work that goes on when the caller is cancelled; it is known by `key` meanwhile.

        It learns that the caller is gone, and may stop before it writes.
        """

        def settle(done: asyncio.Task[R]) -> None:
            """Its error is looked at, whoever still waits for it."""
            del self._tasks[key]
            if not done.cancelled():
                done.exception()

        task = self._tasks[key] = asyncio.create_task(_awaited(work))
        task.add_done_callback(settle)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            call.gone.set()
            raise

    async def write(
        self,
        call: Call,
        partition: Partition,
        plan: Callable[[Change], R | Awaitable[R]],
        row: StoredRequest | None,
    ) -> R:
        """Plan under the partition's lock, commit, publish; only inside `once`.

        A long plan is awaited, and pauses so that recalls need not wait for it.

        Returns the plan's response with its revision, 0 when nothing was written.

        Raises:
            QuotaExceeded: the tenant would hold too many memories; nothing was written.
            DeadlinePassed: nobody waited for it any more; nothing was written.
        """
        async with partition.lock, contextlib.AsyncExitStack() as held:
            # The last moment: what is committed has to be published, whoever waits.
            call.check_deadline()
            pieces = call.pieces()
            committed = None  # Revisions are handed out and submitted in one order.
            async with self._orders[call.tenant]:
                revision = self.revision(call.tenant) + 1
                change = Change(partition, revision, self._next_label, call.now_us)
                planned = plan(change)
                response = await planned if isinstance(planned, Awaitable) else planned
                if self.quota is not None:
                    held.enter_context(self.quota.room_for(change))
                is_changed = bool(change.rows or change.order)
                revision -= not is_changed
                response.revision = revision if is_changed else 0  # type: ignore[attr-defined]
                if is_changed or row is not None:
                    started_s = call.clock.monotonic_s()
                    committed = self._submit(call, change, revision, response, row)
            rows = await self._publisher.rows_of(change, pieces)  # While the disk is at work.
            if committed is not None:
                await self._durable(committed, len(change.rows))
                self._metrics.stage.labels("commit").observe(call.clock.monotonic_s() - started_s)
            if change.order is not None:
                await self._publisher.withdraw(partition, change.order, pieces)
            if is_changed:
                await self._publisher.publish(partition, change, rows)
                self._published[call.tenant] = max(revision, self.published(call.tenant))
            return response

    def _next_label(self) -> int:
        """One fresh label."""
        return self._store.allocate_labels(1)[0]

    def _submit(
        self,
        call: Call,
        change: Change,
        revision: int,
        response: Message,
        row: StoredRequest | None,
    ) -> Future[None]:
        """Hand the rows, and the answer under its request id, to the store."""
        request = None
        if row is not None:
            request = StoredRequest(
                row.tenant,
                row.request_id,
                row.method,
                row.body_hash,
                response.SerializeToString(),
                row.create_time_us,
            )
        old = [label for label in change.rows if label not in change.vectors]
        vectors = dict(zip(old, change.partition.index.vectors_of(old), strict=True)) if old else {}
        vectors.update(change.vectors)
        fingerprint = change.partition.index.fingerprint
        memories = tuple(
            StoredMemory(record, vectors[label], fingerprint, kept_cues(change, record))
            if fingerprint != STAND_IN
            else StoredMemory(record, None, "")
            for label, record in change.rows.items()
        )
        sealed = tuple(sealed_values(change.rows.values(), call.screened.originals, self._sealer))
        future = self._store.submit(
            WriteBatch(call.tenant, revision, memories, request, change.order, sealed)
        )
        self._revisions[call.tenant] = revision
        return future

    async def _durable(self, committed: Future[None], row_count: int) -> None:
        self.waiting_row_count += row_count
        try:
            await asyncio.wrap_future(committed)
        finally:
            self.waiting_row_count -= row_count


async def _awaited(work: Awaitable[R]) -> R:
    """A coroutine around any awaitable, which a task needs."""
    return await work
