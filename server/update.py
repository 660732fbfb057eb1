"""UpdateMemory: the named fields change, and with the text its keyword postings and its vector."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np
from google.protobuf.field_mask_pb2 import FieldMask
from numpy.typing import NDArray

from recalld.server import access, codec, slots, times, validate
from recalld.server.call import Call
from recalld.server.change import Change, ModelChanged
from recalld.server.cue_vectors import embed_cues
from recalld.server.errors import EtagMismatch, InvalidRequest
from recalld.server.indexing import embedded_text
from recalld.server.limits import REQUEST_ID_BYTES_MAX
from recalld.server.models import Models
from recalld.server.partitions import Partitions
from recalld.server.writer import Writer
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope
from recalld.storage.store import StoredRequest
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2

METHOD = "recalld.v1.MemoryService/UpdateMemory"

FIELDS: dict[str, tuple[str, ...]] = {
    "kind": ("kind",),
    "key": ("key", "key_cardinality"),
    "content": ("content", "content_hash", "language"),
    "value": ("value_json",),
    "relevant_when": ("relevant_when",),
    "importance": ("importance",),
    "confidence": ("confidence",),
    "stated_by": ("stated_by",),
    "source": ("source",),
    "visibility": ("visibility",),
    "event_time": ("event_time_us",),
    "valid_from": ("valid_from_us",),
    "valid_to": ("valid_to_us",),
    "expire_time": ("expire_time_us",),
    "language": ("language",),
    "metadata": ("metadata_json",),
}
"""Field of the wire message -> fields of the record that it sets."""


SPAN = frozenset({"event_time", "valid_from", "valid_to"})
"""Fields that have to fit each other."""


def changed_paths(mask: FieldMask, memory: types_pb2.Memory) -> list[str]:
    """The fields to change.

    Raises:
        InvalidRequest: an unknown or output-only field, or none at all.
    """
    paths = list(mask.paths) or [
        field.name for field, _ in memory.ListFields() if field.name in FIELDS
    ]
    for path in paths:
        if path not in FIELDS:
            raise InvalidRequest(
                "update_mask", f"{path!r} cannot be changed; one of {', '.join(FIELDS)} can"
            )
    if not paths:
        raise InvalidRequest("update_mask", "names no field, and memory sets none")
    return paths


def merge(
    record: MemoryRecord, memory: types_pb2.Memory, paths: list[str], call: Call
) -> MemoryRecord:
    """The record with the named fields taken from the message, all of them checked."""
    given = types_pb2.Memory()
    given.CopyFrom(memory)
    if "event_time" in paths and not memory.HasField("event_time"):
        raise InvalidRequest("memory.event_time", "cannot be taken away")
    if "content" not in paths:
        given.content = record.content
    # Times are checked against each other as they will be, and only when one of them changes.
    for path, time_us in (
        ("event_time", record.event_time_us),
        ("valid_from", record.valid_from_us),
        ("valid_to", 0 if SPAN.isdisjoint(paths) else record.valid_to_us),
    ):
        if path not in paths:
            given.ClearField(path)
            if time_us:
                getattr(given, path).CopyFrom(times.to_wire(time_us))
    fresh = codec.record(given, record.scope, call, "memory")
    return replace(
        record, **{name: getattr(fresh, name) for path in paths for name in FIELDS[path]}
    )


@dataclass(frozen=True, slots=True)
class _Embedded:
    """Fresh vectors, of a model: of the text, and of the cues; None: they stay."""

    model: str
    vector: NDArray[np.float32] | None
    cues: NDArray[np.float32] | None


class _TextChanged(Exception):
    """Raised inside this module when a text has to be embedded once more."""


@dataclass(frozen=True)
class UpdateMemory:
    """Handler of UpdateMemory."""

    partitions: Partitions
    writer: Writer
    models: Models

    async def __call__(
        self, request: pb.UpdateMemoryRequest, call: Call
    ) -> pb.UpdateMemoryResponse:
        """Change the named fields of one memory."""
        scope = codec.scope(request.memory.scope, call.tenant, "memory.scope")
        validate.name(request.request_id, "request_id", bytes_max=REQUEST_ID_BYTES_MAX)
        validate.name(request.memory.id, "memory.id", required=True)
        paths = changed_paths(request.update_mask, request.memory)

        async def run(row: StoredRequest | None) -> pb.UpdateMemoryResponse:
            """The work behind the idempotency check."""
            partition = await self.partitions.use(scope.tenant, scope.user_id, call)
            if partition is None:
                raise MemoryNotFound("no such memory of this user")
            while True:
                old = access.require(partition.get(request.memory.id), scope, call)
                merged = merge(old, request.memory, paths, call)
                model = partition.index.fingerprint
                fresh = await self._embed(old, merged, paths, call, model)
                with contextlib.suppress(_TextChanged, ModelChanged):
                    return await self.writer.write(
                        call,
                        partition,
                        lambda change, old=old, fresh=fresh: self._plan(  # type: ignore[misc]
                            change, request, scope, call, paths, old, fresh
                        ),
                        row,
                    )

        return await self.writer.once(call, METHOD, request, pb.UpdateMemoryResponse, run)

    async def _embed(
        self, old: MemoryRecord, new: MemoryRecord, paths: list[str], call: Call, model: str
    ) -> _Embedded:
        """Vectors of what changes, of the partition's model."""
        vector = cues = None
        text = embedded_text(new)
        embedder = self.models.find(model)
        is_changed = text != embedded_text(old)
        if embedder is None:
            stand_in = self.models.stand_in_for([text])[0] if is_changed else None
            return _Embedded(model, stand_in, None)
        if is_changed:
            pending = embedder.submit(
                [text], is_query=False, owner=call.tenant, within_s=call.remaining_s()
            )
            vectors = await call.in_time(pending)
            vector = np.ascontiguousarray(vectors[0])
        if "relevant_when" in paths:
            (cues,) = await embed_cues(embedder, [new.relevant_when], call)
        return _Embedded(model, vector, cues)

    def _plan(
        self,
        change: Change,
        request: pb.UpdateMemoryRequest,
        scope: Scope,
        call: Call,
        paths: list[str],
        seen: MemoryRecord,
        fresh: _Embedded,
    ) -> pb.UpdateMemoryResponse:
        """Plan the change.

        Raises:
            _TextChanged: the record changed since its text was embedded.
            ModelChanged: the partition has vectors of another model by now.
        """
        change.require_model(fresh.model)
        record = access.require(change.partition.get(request.memory.id), scope, call)
        if request.etag and request.etag != codec.etag(record):
            raise EtagMismatch("the memory changed since this etag was read")
        if embedded_text(record) != embedded_text(seen):
            raise _TextChanged
        merged = merge(record, request.memory, paths, call)
        values = {name: getattr(merged, name) for path in paths for name in FIELDS[path]}
        edited = change.edit(record, **values)
        if fresh.vector is not None:
            change.put_vector(record.label, fresh.vector)
        if fresh.cues is not None:
            change.cues[record.label] = fresh.cues
        changed = slots.resettle(change, record, edited)
        sees = access.view_of(scope, call, scope.user_id)
        seen = access.as_seen(changed, change, sees, call.now_us)
        return pb.UpdateMemoryResponse(
            memory=codec.memory(seen, call.now_us), screened=call.screened.told()
        )
