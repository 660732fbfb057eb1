"""Between wire messages and plain types.

Everything that comes in is checked here; nothing here decides.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.struct_pb2 import Struct
from numpy.typing import NDArray

from recalld.server import limits, times, validate
from recalld.server.call import Call
from recalld.server.catalogue import is_set_key
from recalld.server.errors import InvalidRequest
from recalld.server.language import detect_language
from recalld.storage.record import (
    Importance,
    KeyCardinality,
    Kind,
    MemoryRecord,
    Scope,
    Source,
    StatedBy,
    Status,
    Visibility,
)
from recalld.v1 import memory_service_pb2, types_pb2

NO_SOURCE = Source()
SCOPE_COUNT_MAX = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A checked memory that has no id yet, its vector where there is one, and those of its cues."""

    record: MemoryRecord
    vector: NDArray[np.float32] | None
    cues: NDArray[np.float32] | None = None


def scope(message: types_pb2.Scope, tenant: str, field: str = "scope") -> Scope:
    """The scope of a request."""
    return _scope(
        tenant, message.user_id, message.agent_id, message.session_id, message.namespace, field
    )


@lru_cache(SCOPE_COUNT_MAX)
def _scope(
    tenant: str, user_id: str, agent_id: str, session_id: str, namespace: str, field: str
) -> Scope:
    """A checked scope; callers ask in the same ones again and again."""
    return Scope(
        tenant=tenant,
        user_id=validate.name(user_id, f"{field}.user_id", required=True),
        agent_id=validate.name(agent_id, f"{field}.agent_id"),
        session_id=validate.name(session_id, f"{field}.session_id"),
        namespace=validate.name(namespace, f"{field}.namespace"),
    )


def struct_json(message: Struct, field: str) -> str:
    """A Struct as compact JSON text; "" when it is empty."""
    if not message.fields:
        return ""
    text = json.dumps(
        validate.plain(message, field), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    size = len(text.encode())
    if size > limits.STRUCT_BYTES_MAX:
        raise InvalidRequest(
            field, f"has {size} bytes as JSON; the limit is {limits.STRUCT_BYTES_MAX}"
        )
    return text


def source(message: types_pb2.Source, field: str) -> Source:
    """Where a memory was said."""
    return Source(
        session_id=validate.name(message.session_id, f"{field}.session_id"),
        turn=validate.whole(message.turn, f"{field}.turn", 0, 2**31 - 1),
        message_id=validate.name(message.message_id, f"{field}.message_id"),
        uri=validate.name(message.uri, f"{field}.uri", bytes_max=limits.URI_BYTES_MAX),
    )


def cues(values: Any, field: str) -> tuple[str, ...]:
    """The writer's cues."""
    validate.count(values, field, 0, limits.CUE_COUNT_MAX)
    return tuple(
        validate.content(value, f"{field}[{i}]", limits.NAME_BYTES_MAX)
        for i, value in enumerate(values)
    )


def content_hash(content: str) -> bytes:
    """16 bytes over the folded text: NFKC, case and white space do not count."""
    folded = " ".join(unicodedata.normalize("NFKC", content).casefold().split())
    return hashlib.blake2b(folded.encode(), digest_size=16).digest()


def draft(
    message: memory_service_pb2.MemoryInput,
    where: Scope,
    call: Call,
    field: str,
    dim: int,
    fingerprint: str,
) -> Draft:
    """One memory to store.

    Raises:
        InvalidRequest: some field is malformed or over its limit.
    """
    checked = record(message.memory, where, call, f"{field}.memory")
    return Draft(checked, _given_vector(message, field, dim, fingerprint))


def record(memory: types_pb2.Memory, where: Scope, call: Call, at: str) -> MemoryRecord:
    """The record of a memory that stands at the path `at`; label and id come when it is stored.

    Raises:
        InvalidRequest: some field is malformed or over its limit.
    """
    kind = validate.enum(memory.kind, types_pb2.MemoryKind, f"{at}.kind") or Kind.FACT
    key = validate.key(memory.key, f"{at}.key")
    text = validate.content(memory.content, f"{at}.content", limits.CONTENT_BYTES_MAX)
    cardinality = validate.enum(
        memory.key_cardinality, types_pb2.KeyCardinality, f"{at}.key_cardinality"
    )
    event_us = _time(memory, "event_time", at) or call.now_us
    valid_from_us, valid_to_us = _time(memory, "valid_from", at), _time(memory, "valid_to", at)
    if valid_to_us and valid_to_us <= (valid_from_us or event_us):
        raise InvalidRequest(f"{at}.valid_to", "must be after valid_from (or event_time)")
    return MemoryRecord(
        label=0,
        id="",
        scope=where,
        kind=kind,
        content=text,
        key=key,
        key_cardinality=cardinality
        or (KeyCardinality.MANY if is_set_key(key) else KeyCardinality.ONE),
        value_json=struct_json(memory.value, f"{at}.value"),
        metadata_json=struct_json(memory.metadata, f"{at}.metadata"),
        relevant_when=cues(memory.relevant_when, f"{at}.relevant_when"),
        importance=validate.enum(memory.importance, types_pb2.Importance, f"{at}.importance")
        or Importance.MEDIUM,
        confidence=validate.fraction(memory.confidence, f"{at}.confidence")
        if memory.HasField("confidence")
        else 1.0,
        stated_by=validate.enum(memory.stated_by, types_pb2.StatedBy, f"{at}.stated_by")
        or StatedBy.USER,
        source=source(memory.source, f"{at}.source"),
        visibility=_visibility(memory, where, f"{at}.visibility"),
        language=validate.language(memory.language, f"{at}.language") or detect_language(text),
        event_time_us=event_us,
        valid_from_us=valid_from_us,
        valid_to_us=valid_to_us,
        create_time_us=call.now_us,
        update_time_us=call.now_us,
        expire_time_us=_time(memory, "expire_time", at),
        content_hash=content_hash(text),
    )


def _visibility(memory: types_pb2.Memory, where: Scope, field: str) -> int:
    """Who may read it; private to nobody would be stored and never recalled."""
    visibility = validate.enum(memory.visibility, types_pb2.Visibility, field)
    if visibility == Visibility.PRIVATE and not where.agent_id:
        raise InvalidRequest(field, "PRIVATE needs an agent_id in the scope")
    return visibility or Visibility.SHARED


def _given_vector(
    message: memory_service_pb2.MemoryInput, field: str, dim: int, fingerprint: str
) -> NDArray[np.float32] | None:
    """The caller's vector, if it comes from this server's model."""
    if not message.HasField("vector"):
        return None
    if message.vector_fingerprint != fingerprint:
        raise InvalidRequest(
            f"{field}.vector_fingerprint",
            f"must be this server's embedder fingerprint, {fingerprint}",
        )
    return validate.vector(message.vector, f"{field}.vector", dim)


def _time(memory: types_pb2.Memory, name: str, field: str) -> int:
    """A time of a memory; 0 when it is not set."""
    return times.from_wire(getattr(memory, name), f"{field}.{name}") if memory.HasField(name) else 0


def etag(record: MemoryRecord) -> str:
    """Opaque version of a record: changes with every write of it."""
    return f'"{record.label:x}-{record.revision:x}"'


def end_us(record: MemoryRecord) -> int:
    """End of a record's truth: its writer's word, or where its successor starts; 0 = open."""
    if record.status != Status.SUPERSEDED:
        return record.valid_to_us
    return min(record.valid_to_us or record.superseded_from_us, record.superseded_from_us)


def shown_status(record: MemoryRecord, now_us: int) -> int:
    """Status as it goes out.

    Current ones past their expire_time or valid_to are EXPIRED, without any write.
    """
    is_over = 0 != record.expire_time_us <= now_us or 0 != record.valid_to_us <= now_us
    if is_over and record.status in (Status.ACTIVE, Status.CONFLICTED):
        return Status.EXPIRED
    return record.status


def memory(record: MemoryRecord, now_us: int) -> types_pb2.Memory:
    """A record as it goes out."""
    status = shown_status(record, now_us)
    where, said = record.scope, record.source
    message = types_pb2.Memory(
        id=record.id,
        scope=types_pb2.Scope(
            user_id=where.user_id,
            agent_id=where.agent_id,
            session_id=where.session_id,
            namespace=where.namespace,
        ),
        kind=record.kind,
        key=record.key,
        content=record.content,
        relevant_when=record.relevant_when,
        importance=record.importance,
        confidence=record.confidence,
        stated_by=record.stated_by,
        visibility=record.visibility,
        status=status,
        superseded_by=record.superseded_by,
        conflict_group=record.conflict_group,
        access_count=record.access_count,
        language=record.language,
        key_cardinality=record.key_cardinality if record.key else 0,
        etag=etag(record),
        revision=record.revision,
    )
    for name, time_us in (
        ("event_time", record.event_time_us),
        ("valid_from", record.valid_from_us),
        ("valid_to", end_us(record)),
        ("create_time", record.create_time_us),
        ("update_time", record.update_time_us),
        ("confirm_time", record.confirm_time_us),
        ("expire_time", record.expire_time_us),
        ("last_used_time", record.last_used_time_us),
    ):
        if time_us:
            times.set_wire(getattr(message, name), time_us)
    if said != NO_SOURCE:
        message.source.session_id = said.session_id
        message.source.turn = said.turn
        message.source.message_id = said.message_id
        message.source.uri = said.uri
    if record.value_json:
        message.value.update(json.loads(record.value_json))
    if record.metadata_json:
        message.metadata.update(json.loads(record.metadata_json))
    return message
