"""Forget: by id, key, content, filter or the whole user; soft and undoable, or a purge.

A forgotten memory is never recalled; what a purge does is in `purge.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from recalld.server import access, codec, conflicts, doubts, filters, slots, validate
from recalld.server.call import Call
from recalld.server.change import Change
from recalld.server.errors import EtagMismatch, InvalidRequest
from recalld.server.limits import CONTENT_BYTES_MAX, FORGET_ID_COUNT_MAX, REQUEST_ID_BYTES_MAX
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.purge import Purge
from recalld.server.writer import Writer
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Status
from recalld.storage.store import BATCH_ROW_COUNT_MAX, StoredRequest
from recalld.v1 import memory_service_pb2 as pb

METHOD = "recalld.v1.MemoryService/Forget"
UNDO_WINDOW_US = 30 * 86_400 * 1_000_000
PART_ROW_COUNT_MAX = BATCH_ROW_COUNT_MAX // 2
"""Memories changed in one commit: each may change a rival of its slot too."""


@dataclass(frozen=True)
class Forget:
    """Handler of Forget."""

    partitions: Partitions
    writer: Writer
    purge: Purge

    async def __call__(self, request: pb.ForgetRequest, call: Call) -> pb.ForgetResponse:
        """Forget what the selector names, or take that back."""
        scope = codec.scope(request.scope, call.tenant)
        self._check(request)
        is_purge = request.mode == pb.ForgetMode.FORGET_MODE_PURGE
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        if is_purge and request.all:
            # Also of a user who has nothing here: snapshots may still hold something.
            partition = await self.partitions.open(scope.tenant, scope.user_id, call)

        async def run(row: StoredRequest | None) -> pb.ForgetResponse:
            """The work behind the idempotency check."""
            if partition is None or not (len(partition) or (is_purge and request.all)):
                if request.WhichOneof("selector") == "ids":
                    raise MemoryNotFound("no such memory of this user")
                return pb.ForgetResponse()
            if request.dry_run:
                chosen = await self._choose(request, partition, scope, call)
                return pb.ForgetResponse(count=len(chosen), ids=_ids(chosen))
            if is_purge:
                return await self._purge(request, partition, scope, call, row)
            return await self._change(request, partition, scope, call, row)

        response = await self.writer.once(call, METHOD, request, pb.ForgetResponse, run)
        if response.receipt.id:
            # Also of a repeated request: its first answer was kept before the bytes were gone.
            response.receipt.CopyFrom(await self.purge.receipt(call.tenant, response.receipt.id))
        return response

    def _check(self, request: pb.ForgetRequest) -> None:
        """Refuse malformed requests before anything is looked up."""
        validate.name(request.request_id, "request_id", bytes_max=REQUEST_ID_BYTES_MAX)
        validate.enum(request.mode, pb.ForgetMode, "mode")
        which = request.WhichOneof("selector")
        if which is None:
            raise InvalidRequest("selector", "is required: ids, key, filter, content, or all")
        if which == "ids":
            validate.count(request.ids.ids, "ids.ids", 1, FORGET_ID_COUNT_MAX)
        elif which == "key" and not validate.key(request.key, "key"):
            raise InvalidRequest("key", "must not be empty")
        elif which == "filter" and not request.filter.ListFields():
            raise InvalidRequest(
                "filter", "must not be empty; use `all` to forget everything of a user"
            )
        elif which == "all" and not request.all:
            raise InvalidRequest("all", "must be true")
        elif which == "content":
            validate.content(request.content, "content", CONTENT_BYTES_MAX)
        if request.etag and (which != "ids" or len(request.ids.ids) != 1):
            raise InvalidRequest("etag", "needs a single id")

    def _named(
        self, request: pb.ForgetRequest, partition: Partition, scope: Scope, call: Call
    ) -> tuple[Collection[MemoryRecord], Callable[[MemoryRecord], bool]]:
        """Records to look at, and whether the selector means one of them."""
        records, which = partition.records, request.WhichOneof("selector")
        if which == "ids":
            ids = request.ids.ids
            return [access.require(partition.get(one), scope, call) for one in ids], lambda _: True
        if which == "filter":
            compiled = filters.decode(request.filter, "filter", partition.label_of)
            labels = partition.index.match(filters.view_all(scope, call, manage=True), compiled)
            return [records[label] for label in labels if label in records], lambda _: True
        if which == "key":
            slot = validate.key(request.key, "key"), scope.agent_id, scope.namespace
            return list(
                records.values()
            ), lambda r: (r.key, r.scope.agent_id, r.scope.namespace) == slot
        if which == "content":
            # Memories of before the filter hold the text as it was, later ones as it was replaced.
            texts = {request.content, call.screened.selectors.get("content", request.content)}
            digests = {codec.content_hash(text) for text in texts}
            return list(records.values()), lambda r: r.content_hash in digests
        return list(records.values()), lambda _: True

    async def _choose(
        self, request: pb.ForgetRequest, partition: Partition, scope: Scope, call: Call
    ) -> list[MemoryRecord]:
        """Visible records that the selector names and that the mode would change."""
        undo = request.mode == pb.ForgetMode.FORGET_MODE_UNDO
        purge = request.mode == pb.ForgetMode.FORGET_MODE_PURGE
        oldest_us = call.now_us - UNDO_WINDOW_US if undo else 0
        records, is_meant = self._named(request, partition, scope, call)
        if undo and request.WhichOneof("selector") == "ids":
            _require_undoable(records, oldest_us)

        def is_changed(record: MemoryRecord) -> bool:
            """Whether the mode makes a difference."""
            is_forgotten = record.status == Status.FORGOTTEN
            return purge or (is_forgotten == undo and record.forget_time_us >= oldest_us)

        chosen: dict[int, MemoryRecord] = {}
        async for some in call.pieces().slices(records):
            meant = [record for record in some if is_changed(record) and is_meant(record)]
            chosen |= {r.label: r for r in meant if access.may_manage(r, scope, call)}
        return list(chosen.values())

    async def _change(
        self,
        request: pb.ForgetRequest,
        partition: Partition,
        scope: Scope,
        call: Call,
        row: StoredRequest | None,
    ) -> pb.ForgetResponse:
        """Change everything chosen, in as many commits as it takes; the last one keeps the answer.

        A commit takes a bounded number of rows.
        """
        done: list[MemoryRecord] = []
        most = PART_ROW_COUNT_MAX

        async def plan(change: Change) -> pb.ForgetResponse:
            """The next part, answered with all parts so far."""
            done.extend(await self._plan(change, request, scope, call))
            return pb.ForgetResponse(count=len(done), ids=_ids(done))

        while (count := len(await self._choose(request, partition, scope, call))) > most:
            for _ in range((count - 1) // most):
                await self.writer.write(call, partition, plan, None)
        return await self.writer.write(call, partition, plan, row)

    async def _purge(
        self,
        request: pb.ForgetRequest,
        partition: Partition,
        scope: Scope,
        call: Call,
        row: StoredRequest | None,
    ) -> pb.ForgetResponse:
        """Purge everything chosen."""
        count = len(partition)
        chosen = await self._choose(request, partition, scope, call)
        # An agent's credential, or an agent's name, may leave out what is private to others.
        is_whole_user = request.all and len(chosen) == count
        if not chosen and not is_whole_user:
            return pb.ForgetResponse()

        def check(records: Sequence[MemoryRecord]) -> None:
            """Under the lock: the etag is still the present one."""
            _require_etag(request, records)

        return await self.purge.commit(partition, chosen, is_whole_user, check, call, row)

    async def _plan(
        self, change: Change, request: pb.ForgetRequest, scope: Scope, call: Call
    ) -> list[MemoryRecord]:
        """Plan the change of the chosen records, of as many as a commit takes."""
        chosen = await self._choose(request, change.partition, scope, call)
        del chosen[PART_ROW_COUNT_MAX:]
        _require_etag(request, chosen)
        undo = request.mode == pb.ForgetMode.FORGET_MODE_UNDO
        pieces = call.pieces()
        for record in chosen:
            await pieces.pause()
            if undo:
                slots.restore(change, record)
            else:
                change.edit(record, status=Status.FORGOTTEN, forget_time_us=call.now_us)
        for group in sorted({record.conflict_group for record in chosen} - {""}):
            conflicts.close_up(change, group)
        if not undo:
            await doubts.release(change, {record.id for record in chosen}, pieces)
        return chosen


def _require_undoable(records: Iterable[MemoryRecord], oldest_us: int) -> None:
    """Refuse an undo that names what is past it, as for what is not there: none is done.

    Raises:
        MemoryNotFound: one was forgotten before the window.
    """
    for place, record in enumerate(records):
        if record.status == Status.FORGOTTEN and record.forget_time_us < oldest_us:
            raise MemoryNotFound(
                f"ids.ids[{place}] was forgotten more than 30 days ago and cannot be brought back"
            )


def _require_etag(request: pb.ForgetRequest, records: Sequence[MemoryRecord]) -> None:
    """Refuse when the one memory that was named has changed since."""
    if request.etag and any(codec.etag(record) != request.etag for record in records):
        raise EtagMismatch("the memory changed since this etag was read")


def _ids(records: list[MemoryRecord]) -> list[str]:
    """Ids of the first thousand records."""
    return [record.id for record in records[:FORGET_ID_COUNT_MAX]]
