"""ResolveConflict: one member is right, or all hold; and the way back.

It settles a group whole or not at all. The group's name is the conflict's; members that the caller
may not see count as absent, and a group without visible members as unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from recalld.server import access, codec, conflicts, validate
from recalld.server.call import Call
from recalld.server.change import Change
from recalld.server.errors import EtagMismatch, InvalidRequest
from recalld.server.limits import REQUEST_ID_BYTES_MAX
from recalld.server.partition import CURRENT
from recalld.server.partitions import Partitions
from recalld.server.writer import Writer
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Status
from recalld.storage.store import StoredRequest
from recalld.v1 import memory_service_pb2 as pb

METHOD = "recalld.v1.MemoryService/ResolveConflict"


@dataclass(frozen=True)
class ResolveConflict:
    """Handler of ResolveConflict."""

    partitions: Partitions
    writer: Writer

    async def __call__(
        self, request: pb.ResolveConflictRequest, call: Call
    ) -> pb.ResolveConflictResponse:
        """Settle a conflict, or take its settlement back."""
        scope = codec.scope(request.scope, call.tenant)
        _check(request)

        async def run(row: StoredRequest | None) -> pb.ResolveConflictResponse:
            """The work behind the idempotency check."""
            partition = await self.partitions.use(scope.tenant, scope.user_id, call)
            if partition is None:
                raise MemoryNotFound("no such conflict of this user")
            return await self.writer.write(
                call, partition, lambda change: _plan(change, request, scope, call), row
            )

        return await self.writer.once(call, METHOD, request, pb.ResolveConflictResponse, run)


def _check(request: pb.ResolveConflictRequest) -> None:
    """Refuse malformed requests before anything is looked up."""
    validate.name(request.request_id, "request_id", bytes_max=REQUEST_ID_BYTES_MAX)
    validate.name(request.conflict_group, "conflict_group", required=True)
    which = request.WhichOneof("resolution")
    if which is None:
        raise InvalidRequest("resolution", "is required: winner_id, keep_all or undo")
    if which == "winner_id":
        validate.name(request.winner_id, "winner_id", required=True)
    elif not getattr(request, which):
        raise InvalidRequest(which, "must be true")
    if request.etag and which != "winner_id":
        raise InvalidRequest("etag", "needs a winner_id")


def _plan(
    change: Change, request: pb.ResolveConflictRequest, scope: Scope, call: Call
) -> pb.ResolveConflictResponse:
    """Plan the settlement.

    Raises:
        MemoryNotFound: no such group to settle or to take back, or the winner is not in it.
        EtagMismatch: the winner changed since its etag was read.
    """
    if request.undo:
        settled = _settled(change, request.conflict_group)
        changed = conflicts.reopen(change, _visible(settled, scope, call), request.conflict_group)
        return _answer(change, changed, scope, call)
    members = _visible(conflicts.members_of(change, request.conflict_group), scope, call)
    winner = next((member for member in members if member.id == request.winner_id), None)
    if request.winner_id and winner is None:
        raise MemoryNotFound("no such member of this conflict")
    if winner is not None and request.etag not in ("", codec.etag(winner)):
        raise EtagMismatch("the winner changed since this etag was read")
    changed = conflicts.settle_for(change, members, winner)
    conflicts.close_up(change, request.conflict_group)
    return _answer(change, changed, scope, call)


def _settled(change: Change, group: str) -> list[MemoryRecord]:
    """Members of a settled group that still are as the settlement left them."""
    found = change.matching(lambda record: record.settled_group == group)
    current = {record.id for record in found if record.status in CURRENT}
    return [
        record
        for record in found
        if record.id in current
        or (record.status == Status.SUPERSEDED and record.superseded_by in current)
    ]


def _visible(members: list[MemoryRecord], scope: Scope, call: Call) -> list[MemoryRecord]:
    """The members that the caller may see: two at least, or there is no conflict."""
    seen = [member for member in members if access.may_see(member, scope, call)]
    if len(seen) < 2:
        raise MemoryNotFound("no such conflict of this user")
    return seen


def _answer(
    change: Change, changed: list[MemoryRecord], scope: Scope, call: Call
) -> pb.ResolveConflictResponse:
    """The members after the change."""
    sees = access.view_of(scope, call, scope.user_id)
    seen = [access.as_seen(record, change, sees, call.now_us) for record in changed]
    return pb.ResolveConflictResponse(memories=[codec.memory(one, call.now_us) for one in seen])
