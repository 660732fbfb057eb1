"""GetRecallTrace and ListRecallTraces: what became of every candidate, and "why not this one?".

Traces hold ids and numbers of the time of the recall. Before anything goes out, each memory is
looked up as it is now: one that is erased or hidden from the asker is not told of, of a forgotten
one only the id is.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from recalld.index.examine import Judged, judge
from recalld.scoring.masks import Excluded
from recalld.server import access, codec, paging, times, validate
from recalld.server.call import Call
from recalld.server.errors import TraceNotFound
from recalld.server.hits import DROP_REASONS
from recalld.server.limits import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.trace_table import LAYOUT, fill, wire_candidate
from recalld.server.traced import Drop, Trace, score_reason
from recalld.server.traces import Traces
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Status
from recalld.v1 import recall_service_pb2 as pb


@dataclass(frozen=True)
class Explaining:
    """Handlers of the two calls."""

    partitions: Partitions
    traces: Traces
    pool: ThreadPoolExecutor

    async def get(self, request: pb.GetRecallTraceRequest, call: Call) -> pb.GetRecallTraceResponse:
        """One trace, with all candidates that were kept or with the one that is asked about."""
        scope = codec.scope(request.scope, call.tenant)
        recall_id = validate.name(request.recall_id, "recall_id", required=True)
        memory_id = validate.name(request.memory_id, "memory_id")
        trace = await self.traces.find(scope.tenant, scope.user_id, recall_id)
        call.check_deadline()
        response = pb.GetRecallTraceResponse(trace=trace.header)
        if memory_id:
            response.trace.candidates.append(await self._one(trace, memory_id, scope, call))
            return response
        users = (scope.user_id, *trace.header.shared_user_ids)
        for row in trace.table:
            found = await self._look(users[row["user"]], row["id"].decode("ascii"), scope, call)
            if found is not None:
                response.trace.candidates.append(_shown(found[1], wire_candidate(row)))
        return response

    async def list_page(
        self, request: pb.ListRecallTracesRequest, call: Call
    ) -> pb.ListRecallTracesResponse:
        """Headers of the user's traces, newest first."""
        scope = codec.scope(request.scope, call.tenant)
        size = validate.page_size(request.page_size, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)
        before = None
        if request.page_token:
            time_us, recall_id = paging.read_token(request, request.page_token)
            before = (int(time_us), str(recall_id))
        found = await self.traces.page(scope.tenant, scope.user_id, before, size + 1)
        response = pb.ListRecallTracesResponse(traces=[header for _, header in found[:size]])
        if len(found) > size:
            time_us, header = found[size - 1]
            response.next_page_token = paging.make_token(request, [time_us, header.recall_id])
        return response

    async def _look(
        self, user_id: str, memory_id: str, scope: Scope, call: Call
    ) -> tuple[Partition, MemoryRecord] | None:
        """A memory as it is now, where the asker may see it."""
        partition = await self.partitions.use(scope.tenant, user_id, call)
        label = None if partition is None else partition.label_of(memory_id)
        if partition is None or label is None:
            return None
        record = partition.records[label]
        sees = access.view_of(scope, call, user_id)
        return (partition, record) if sees(record) else None

    async def _one(
        self, trace: Trace, memory_id: str, scope: Scope, call: Call
    ) -> pb.TraceCandidate:
        """What became of one memory.

        Raises:
            MemoryNotFound: the asker may not see it, or there is none.
            TraceNotFound: it was not kept, and the question is not known any more.
        """
        users = (scope.user_id, *trace.header.shared_user_ids)
        looked = [await self._look(user, memory_id, scope, call) for user in users]
        found = next(filter(None, looked), None)
        if found is None:
            raise MemoryNotFound("no such memory of this user")
        partition, record = found
        kept = np.flatnonzero(trace.table["id"] == memory_id.encode())
        if len(kept):
            return _shown(record, wire_candidate(trace.table[kept[0]]))
        candidate = pb.TraceCandidate(memory_id=memory_id, recomputed=True)
        candidate.changed_since = record.revision > trace.header.revision
        plan = (trace.plans or {}).get(partition.user_id)
        if record.create_time_us > times.from_wire(trace.header.time, "time"):
            candidate.drop_reason = Drop.DROP_REASON_NOT_YET_KNOWN
        elif plan is None and record.status != Status.FORGOTTEN:
            raise TraceNotFound(
                "this memory is not among the candidates that were kept, and the question itself "
                "is held for recent recalls of the running server only; recall again with explain"
            )
        elif plan is not None and record.status != Status.FORGOTTEN:
            loop = asyncio.get_running_loop()
            judged = await loop.run_in_executor(
                self.pool, judge, partition.index, plan, record.label
            )
            _tell(candidate, judged, trace)
        return _shown(record, candidate)


def _tell(candidate: pb.TraceCandidate, judged: Judged, trace: Trace) -> None:
    """Write what the question makes of a memory now."""
    alone = trace.plans is not None and len(trace.plans) == 1
    table = np.zeros(1, dtype=LAYOUT)
    table["id"] = candidate.memory_id.encode("ascii")
    if judged.ranking is not None and len(judged.ranking):
        fill(table, [0], judged.ranking, [judged.place])
        # Ranks of several partitions are one order, which is not known any more.
        table["rank"] = judged.rank if alone else 0
    candidate.MergeFrom(wire_candidate(table[0]))
    if judged.reason == Excluded.NAMED:
        candidate.drop_reason = Drop.DROP_REASON_IS_QUERY
    elif judged.reason == Excluded.REMOVED:
        candidate.drop_reason = Drop.DROP_REASON_FORGOTTEN
    elif judged.reason != Excluded.NO:
        candidate.drop_reason = DROP_REASONS[judged.reason]
    elif judged.ranking is None:
        candidate.drop_reason = Drop.DROP_REASON_OVER_K
    else:
        k, cut = trace.header.k, trace.header.min_score
        candidate.drop_reason = score_reason(candidate.score, judged.rank, k, cut)
        if not (candidate.drop_reason or candidate.changed_since):
            # It was not among the best then; others have gone since.
            candidate.drop_reason = Drop.DROP_REASON_OVER_K


def _shown(record: MemoryRecord, candidate: pb.TraceCandidate) -> pb.TraceCandidate:
    """A candidate; of a memory that is forgotten by now only the id."""
    if record.status != Status.FORGOTTEN:
        return candidate
    return pb.TraceCandidate(
        memory_id=record.id,
        drop_reason=Drop.DROP_REASON_FORGOTTEN,
        recomputed=candidate.recomputed,
        changed_since=candidate.changed_since,
    )
