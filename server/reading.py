"""Reads that need no ranking: GetMemory, ListMemories, ListKeys, ExportMemories."""

from __future__ import annotations

import bisect
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from functools import partial

from google.protobuf.message import Message

from recalld.server import access, codec, filters, paging, times, validate
from recalld.server.call import Call
from recalld.server.errors import InvalidPageToken, InvalidRequest
from recalld.server.limits import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, RESPONSE_BYTES_MAX
from recalld.server.models import STAND_IN
from recalld.server.partition import CURRENT, Partition, Slot
from recalld.server.partitions import Partitions
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Status
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2

EXPORTED = frozenset(Status) - {Status.UNSPECIFIED, Status.FORGOTTEN}


@dataclass(frozen=True)
class Reading:
    """Handlers of the plain reads."""

    partitions: Partitions

    async def get(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        """One memory by id, or the current value of a key.

        The own agent's first, then the user's.
        """
        scope = codec.scope(request.scope, call.tenant)
        which = request.WhichOneof("selector")
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        if which == "id":
            validate.name(request.id, "id", required=True)
            if partition is None:
                raise MemoryNotFound("no such memory of this user")
            record = access.require(partition.get(request.id), scope, call)
        elif which == "key":
            key = validate.key(request.key, "key")
            if not key:
                raise InvalidRequest("key", "must not be empty")
            record = _current_value(partition, scope, key, call)
        else:
            raise InvalidRequest("selector", "is required: id or key")
        sees = access.view_of(scope, call, scope.user_id)
        assert partition is not None
        seen = access.as_seen(record, partition, sees, call.now_us)
        return pb.GetMemoryResponse(memory=codec.memory(seen, call.now_us))

    async def list_page(
        self, request: pb.ListMemoriesRequest, call: Call
    ) -> pb.ListMemoriesResponse:
        """Matching memories, newest event first, paged.

        Each exactly once whatever is written meanwhile.
        """
        scope = codec.scope(request.scope, call.tenant)
        size = validate.page_size(request.page_size, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)
        statuses = _statuses(request.statuses, frozenset(CURRENT))
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        records = await _select(partition, request.filter, statuses, scope, call)
        records.sort(key=_newest_first)
        start, total = 0, len(records)
        if request.page_token:
            position = paging.read_token(request, request.page_token)
            start = bisect.bisect_right(
                [_newest_first(r) for r in records], (position[0], position[1])
            )
            total = position[2]
        response = pb.ListMemoriesResponse(total_size=total)
        taken = _fill(response.memories, records[start : start + size], call)
        if start + taken < len(records):
            last = records[start + taken - 1]
            response.next_page_token = paging.make_token(request, [*_newest_first(last), total])
        return response

    async def keys(self, request: pb.ListKeysRequest, call: Call) -> pb.ListKeysResponse:
        """The keys in use, in byte order."""
        scope = codec.scope(request.scope, call.tenant)
        prefix = validate.key(request.prefix, "prefix")
        size = validate.page_size(request.page_size, PAGE_SIZE_MAX, PAGE_SIZE_MAX)
        after = b""
        if request.page_token:
            position = paging.read_token(request, request.page_token)
            if not isinstance(position[0], str):
                raise InvalidPageToken("page_token", "belongs to another method")
            after = position[0].encode()
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        groups: dict[str, list[MemoryRecord]] = {}
        for record in await _select(partition, types_pb2.Filter(), frozenset(CURRENT), scope, call):
            own = record.scope.agent_id in ("", scope.agent_id) or not scope.agent_id
            if record.key and record.key.startswith(prefix) and own:
                groups.setdefault(record.key, []).append(record)
        names = sorted((name for name in groups if name.encode() > after), key=str.encode)
        response = pb.ListKeysResponse()
        for name in names[:size]:
            newest = max(groups[name], key=lambda r: (r.event_time_us, r.label))
            response.keys.add(
                key=name,
                kind=newest.kind,
                count=len(groups[name]),
                newest_time=times.to_wire(newest.event_time_us),
            )
        if len(names) > size:
            response.next_page_token = paging.make_token(request, [names[size - 1]])
        return response

    async def export(
        self, request: pb.ExportMemoriesRequest, call: Call
    ) -> AsyncIterator[pb.ExportMemoriesResponse]:
        """Every matching memory in the order of storing."""
        scope = codec.scope(request.scope, call.tenant)
        statuses = _statuses(request.statuses, frozenset(EXPORTED))
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        for record in await _select(partition, request.filter, statuses, scope, call, manage=True):
            response = pb.ExportMemoriesResponse(memory=codec.memory(record, call.now_us))
            index = partition.index if partition is not None else None
            if request.include_vectors and index is not None and index.fingerprint != STAND_IN:
                vector = index.vectors_of([record.label])[0, : index.dim]
                response.vector.float32_le = vector.astype("<f4").tobytes()
                response.vector_fingerprint = index.fingerprint
            yield response


async def _select(
    partition: Partition | None,
    filter_message: types_pb2.Filter,
    statuses: frozenset[int],
    scope: Scope,
    call: Call,
    *,
    manage: bool = False,
) -> list[MemoryRecord]:
    """Visible (or manageable) records of some statuses that pass a filter, in label order.

    They are as the asker sees them; expired ones count as EXPIRED.
    """
    label_of = partition.label_of if partition is not None else lambda _: None
    compiled = filters.decode(filter_message, "filter", label_of)
    if partition is None:
        return []
    labels = partition.index.match(filters.view_all(scope, call, manage=manage), compiled)
    may = partial(access.may_manage if manage else access.may_see, scope=scope, call=call)
    selected: list[MemoryRecord] = []
    async for some in call.pieces().slices(labels):
        # A row that is being published is in the index before it has a record.
        found = [partition.records[label] for label in some if label in partition.records]
        seen = [access.as_seen(r, partition, may, call.now_us) for r in found if may(r)]
        selected += [r for r in seen if codec.shown_status(r, call.now_us) in statuses]
    return selected


def _current_value(partition: Partition | None, scope: Scope, key: str, call: Call) -> MemoryRecord:
    """The record that a key stands for now."""
    agents = [scope.agent_id, ""] if scope.agent_id else [""]
    for agent_id in agents if partition is not None else ():
        assert partition is not None
        found = partition.in_slot(Slot(scope.namespace, agent_id, key))
        found += [
            r
            for r in partition.current()
            if r.key == key and r.scope.agent_id == agent_id and r not in found
        ]
        seen = [
            r
            for r in found
            if codec.shown_status(r, call.now_us) in CURRENT
            and r.scope.namespace == scope.namespace
            and access.may_see(r, scope, call)
        ]
        if seen:
            return max(seen, key=lambda r: (r.status == Status.ACTIVE, r.event_time_us, r.label))
    raise MemoryNotFound("no current memory under this key")


def _statuses(given: Iterable[int], default: frozenset[int]) -> frozenset[int]:
    """Statuses of a request, or the default ones."""
    chosen = frozenset(
        validate.enum(s, types_pb2.MemoryStatus, f"statuses[{i}]") for i, s in enumerate(given)
    )
    if Status.UNSPECIFIED in chosen:
        raise InvalidRequest("statuses", "must not hold UNSPECIFIED")
    return chosen or default


def _newest_first(record: MemoryRecord) -> tuple[int, str]:
    """Sort key of lists."""
    return (-record.event_time_us, record.id)


def _fill(target: Message, records: list[MemoryRecord], call: Call) -> int:
    """Add memories to a page until it is full in bytes; returns how many."""
    size = 0
    for count, record in enumerate(records):
        message = codec.memory(record, call.now_us)
        size += message.ByteSize() + 8
        if size > RESPONSE_BYTES_MAX and count:
            return count
        target.append(message)  # type: ignore[attr-defined]
    return len(records)
