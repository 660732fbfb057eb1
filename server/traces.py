"""The book of traces: which recalls are traced, and what is kept of them.

A trace is made and written behind the answer, one at a time, so it never delays a recall; what a
crash finds unwritten is lost, and nothing else. While a trace is among the recent ones, its
question is kept beside it (vectors, words, filter), so that any memory can be judged by it; the
question is never written.

Invariants: a trace is found only under the tenant and user of its recall; recent, waiting and
stored ones are bounded.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from recalld.index.examine import examine
from recalld.server import logs
from recalld.server.errors import TraceNotFound
from recalld.server.hits import RankedHit
from recalld.server.metrics import Metrics
from recalld.server.sections import TracesSection
from recalld.server.trace_table import pack, unpack
from recalld.server.traced import Trace, Traced
from recalld.storage.errors import StoreBusy, StoreClosed, StoreFailed
from recalld.storage.store import StoredTrace, TraceStore
from recalld.v1 import recall_service_pb2 as pb

MAKING_COUNT_MAX = 64
"""Traces in the making; each holds on to the rows that it was asked of."""
RECENT_COUNT_MAX = 256
"""Traces whose question is kept: some tens of kilobytes each."""
UNWRITTEN_COUNT_MAX = 1_024
"""Traces that wait for the store."""
WRITE_EVERY_S = 1.0
"""Traces are written together: a commit costs the same for many."""

Key = tuple[str, str]


class Traces:
    """Traces of one server."""

    def __init__(
        self,
        store: TraceStore,
        pool: ThreadPoolExecutor,
        settings: TracesSection,
        config_hash: str,
        metrics: Metrics,
        log: Any,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """Start with none in memory.

        Args:
            store: where they are kept.
            pool: threads of native stages; a trace takes one at a time.
            settings: share and count.
            config_hash: names the ranking's configuration.
            metrics: counts kept and lost ones.
            log: of faults.
            draw: numbers in [0, 1) that choose the samples.
        """
        self._store = store
        self._pool = pool
        self._settings = settings
        self._config_hash = config_hash
        self._metrics = metrics
        self._log = log
        self._draw = draw
        self._turn = asyncio.Lock()
        self._making: dict[Key, asyncio.Task[Trace]] = {}
        self._recent: dict[Key, Trace] = {}
        self._unwritten: dict[Key, StoredTrace] = {}
        self._writing: asyncio.Task[None] | None = None

    def wants(self, is_asked: bool) -> bool:
        """Whether a recall is to be traced."""
        share = self._settings.sample_share
        return is_asked or (share > 0 and self._draw() < share)

    def keep(
        self,
        traced: Traced,
        response: pb.RecallResponse,
        returned: Sequence[RankedHit],
        over: Sequence[RankedHit],
    ) -> None:
        """Make a trace behind the answer; says in `degraded` when it cannot.

        Args:
            traced: the recall.
            response: its answer.
            returned: hits in the answer.
            over: hits that did not fit it.
        """
        if len(self._making) >= MAKING_COUNT_MAX:
            self._metrics.traces.labels("lost").inc()
            if traced.is_asked:
                response.degraded.append("trace_not_kept")
            return
        header = traced.header(response, len(returned), self._config_hash)
        key = (traced.scope.tenant, response.recall_id)
        task = asyncio.create_task(self._make(key, traced, header, (returned, over)))
        self._making[key] = task
        task.add_done_callback(partial(self._made, key))

    async def find(self, tenant: str, user_id: str, recall_id: str) -> Trace:
        """The trace of a recall of this user.

        Raises:
            TraceNotFound: there is none; whether somebody else has one is never told.
        """
        key = (tenant, recall_id)
        if (task := self._making.get(key)) is not None:
            await asyncio.shield(task)
        stored = self._unwritten.get(key)
        recent = self._recent.get(key)
        if stored is None:
            stored = await asyncio.to_thread(self._store.find, tenant, recall_id)
        if stored is None or stored.user_id != user_id:
            raise TraceNotFound("no such trace of this user")
        if recent is not None:
            return recent
        header = pb.RecallTrace.FromString(stored.header)
        return Trace(header, await asyncio.to_thread(unpack, stored.candidates))

    async def page(
        self, tenant: str, user_id: str, before: tuple[int, str] | None, count: int
    ) -> list[tuple[int, pb.RecallTrace]]:
        """Times and headers of a user's traces, newest first."""
        # What was answered before this call is in the list.
        if pending := [task for key, task in self._making.items() if key[0] == tenant]:
            await asyncio.wait(pending)
        held = {
            trace.recall_id: trace
            for trace in self._unwritten.values()
            if (trace.tenant, trace.user_id) == (tenant, user_id)
            and (before is None or (trace.create_time_us, trace.recall_id) < before)
        }
        stored = await asyncio.to_thread(self._store.page, tenant, user_id, before, count)
        # One that was written meanwhile is in both.
        held |= {trace.recall_id: trace for trace in stored}
        newest = sorted(held.values(), key=lambda t: (t.create_time_us, t.recall_id), reverse=True)
        return [
            (trace.create_time_us, pb.RecallTrace.FromString(trace.header))
            for trace in newest[:count]
        ]

    async def forget_user(self, tenant: str, user_id: str) -> None:
        """Let go of every trace in memory that may tell of a user; the store sees to its own."""
        if pending := [task for key, task in self._making.items() if key[0] == tenant]:
            await asyncio.wait(pending)
        for key, trace in list(self._recent.items()):
            if key[0] == tenant and user_id in (trace.plans or {}):
                del self._recent[key]
        named = user_id.encode()
        for key, waiting in list(self._unwritten.items()):
            if key[0] == tenant and (waiting.user_id == user_id or named in waiting.header):
                del self._unwritten[key]

    async def write(self) -> None:
        """Write what waits.

        What the store refuses as busy goes on waiting; what it refuses for good is lost.
        """
        waiting = dict(self._unwritten)
        if not waiting:
            return
        outcome = "kept"
        try:
            done = self._store.put(list(waiting.values()), self._settings.kept_max)
            await asyncio.wrap_future(done)
        except StoreBusy:
            return
        except (StoreFailed, StoreClosed) as error:
            self._log.warning("traces lost", count=len(waiting), fault=logs.fault(error))
            outcome = "lost"
        self._metrics.traces.labels(outcome).inc(len(waiting))
        for key in waiting:
            self._unwritten.pop(key, None)

    async def close(self) -> None:
        """Finish what is in the making and write it."""
        await asyncio.gather(*self._making.values(), return_exceptions=True)
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self.write()

    async def _make(
        self,
        key: Key,
        traced: Traced,
        header: pb.RecallTrace,
        hits: tuple[Sequence[RankedHit], Sequence[RankedHit]],
    ) -> Trace:
        """Look at every candidate again, in the rows of the recall, and let the trace wait."""
        loop = asyncio.get_running_loop()
        # One at a time: the other threads of the pool are for recalls.
        async with self._turn:
            examined = [
                await loop.run_in_executor(
                    self._pool, examine, part.partition.index, part.plan, part.reading
                )
                for part in traced.searched
            ]
        trace = Trace(header, traced.table(examined, *hits), traced.plans())
        self._recent[key] = trace
        if len(self._recent) > RECENT_COUNT_MAX:
            del self._recent[next(iter(self._recent))]
        candidates = await loop.run_in_executor(self._pool, pack, trace.table)
        scope = traced.scope
        self._unwritten[key] = StoredTrace(
            *key, scope.user_id, traced.time_us, header.SerializeToString(), candidates
        )
        if len(self._unwritten) > UNWRITTEN_COUNT_MAX:
            del self._unwritten[next(iter(self._unwritten))]
            self._metrics.traces.labels("lost").inc()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_on())
        return trace

    def _made(self, key: Key, task: asyncio.Task[Trace]) -> None:
        """Take a finished trace off the list; a fault is logged, the recall was answered."""
        del self._making[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._metrics.traces.labels("lost").inc()
            self._log.error("trace failed", fault=logs.fault(error))

    async def _write_on(self) -> None:
        """Write every little while as long as something waits."""
        while self._unwritten:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write()
