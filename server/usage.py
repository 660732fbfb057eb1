"""ReportUsage: what became of a recall's hits.

Used memories are counted and live anew: their age starts again, which raises a score up to where
it was when they were fresh, never above. Wrong ones lose confidence, down to a floor. It changes
nothing else, and no other call changes any of this.

Invariants: all ids or none; a repeated `request_id` counts once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recalld.server import access, codec, validate
from recalld.server.call import Call
from recalld.server.change import Change
from recalld.server.errors import InvalidRequest
from recalld.server.limits import REQUEST_ID_BYTES_MAX, USAGE_ID_COUNT_MAX
from recalld.server.metrics import Metrics
from recalld.server.partitions import Partitions
from recalld.server.writer import Writer
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import Scope
from recalld.storage.store import StoredRequest
from recalld.v1 import recall_service_pb2 as pb

METHOD = "recalld.v1.RecallService/ReportUsage"
WRONG_FACTOR = 0.5
"""What one report leaves of a confidence: a slip of one caller is not the end of a memory."""
WRONG_FLOOR = 0.1
"""Reports alone never take a confidence below; only the writer says that something is worthless."""


@dataclass(frozen=True)
class ReportUsage:
    """Handler of ReportUsage."""

    partitions: Partitions
    writer: Writer
    metrics: Metrics

    async def __call__(self, request: pb.ReportUsageRequest, call: Call) -> pb.ReportUsageResponse:
        """Count what was used and doubt what was wrong."""
        scope = codec.scope(request.scope, call.tenant)
        _check(request)
        used = tuple(dict.fromkeys(request.used))
        wrong = tuple(dict.fromkeys(request.corrected))

        async def run(row: StoredRequest | None) -> pb.ReportUsageResponse:
            """The work behind the idempotency check."""
            partition = await self.partitions.use(scope.tenant, scope.user_id, call)
            if partition is None and (used or wrong):
                raise MemoryNotFound("no such memory of this user")
            response = pb.ReportUsageResponse()
            if partition is not None:
                response = await self.writer.write(
                    call, partition, lambda change: _plan(change, scope, call, used, wrong), row
                )
            if request.HasField("helpful"):
                self.metrics.reports.labels("yes" if request.helpful else "no").inc()
            return response

        return await self.writer.once(call, METHOD, request, pb.ReportUsageResponse, run)


def _check(request: pb.ReportUsageRequest) -> None:
    """Refuse malformed and contradictory reports before anything is looked up."""
    validate.name(request.request_id, "request_id", bytes_max=REQUEST_ID_BYTES_MAX)
    validate.name(request.recall_id, "recall_id", required=True)
    for field, ids in (("used", request.used), ("corrected", request.corrected)):
        validate.count(ids, field, 0, USAGE_ID_COUNT_MAX)
        for i, memory_id in enumerate(ids):
            validate.name(memory_id, f"{field}[{i}]", required=True)
    both = set(request.used).intersection(request.corrected)
    if both:
        raise InvalidRequest(
            "corrected", f"{min(both)!r} is also in `used`; it is one or the other"
        )
    if not (request.used or request.corrected or request.HasField("helpful")):
        raise InvalidRequest("used", "says nothing: name used or corrected ids, or say `helpful`")


def _plan(
    change: Change, scope: Scope, call: Call, used: Iterable[str], wrong: Iterable[str]
) -> pb.ReportUsageResponse:
    """Plan every change; an id that is not there fails them all."""
    for memory_id in used:
        record = access.require(change.partition.get(memory_id), scope, call)
        change.edit(
            record,
            access_count=record.access_count + 1,
            last_used_time_us=max(record.last_used_time_us, call.now_us),
        )
    for memory_id in wrong:
        record = access.require(change.partition.get(memory_id), scope, call)
        lowered = max(WRONG_FLOOR, record.confidence * WRONG_FACTOR)
        change.edit(record, confidence=min(record.confidence, lowered))
    return pb.ReportUsageResponse()
