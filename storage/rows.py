"""Between a stored memory and its flat row, in the order of schema.sql; see `details.py` for one.

Knows names, SQL types and the order of columns, and no database library. Vectors are
little-endian float32, cues a JSON array of texts ("" = none).

Invariants: `memories_of` undoes `row_of` for every field; both walk `COLUMNS` in order.
"""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.storage import details
from recalld.storage.record import MemoryRecord, Scope, Source
from recalld.storage.store import StoredMemory, StoredRequest

COLUMNS: tuple[tuple[str, str], ...] = (
    ("label", "BIGINT"),
    ("id", "VARCHAR"),
    ("tenant", "VARCHAR"),
    ("user_id", "VARCHAR"),
    ("agent_id", "VARCHAR"),
    ("session_id", "VARCHAR"),
    ("namespace", "VARCHAR"),
    ("kind", "UTINYINT"),
    ("content", "VARCHAR"),
    ("key", "VARCHAR"),
    ("value_json", "VARCHAR"),
    ("metadata_json", "VARCHAR"),
    ("relevant_when_json", "VARCHAR"),
    ("confidence", "DOUBLE"),
    ("language", "VARCHAR"),
    ("create_time_us", "BIGINT"),
    ("update_time_us", "BIGINT"),
    ("status", "UTINYINT"),
    ("superseded_by", "VARCHAR"),
    ("content_hash", "BLOB"),
    ("revision", "BIGINT"),
    ("embedding", "BLOB"),
    ("fingerprint", "VARCHAR"),
    ("cue_embedding", "BLOB"),
    ("details", "BLOB"),
)
REQUEST_COLUMNS: tuple[tuple[str, str], ...] = (
    ("tenant", "VARCHAR"),
    ("request_id", "VARCHAR"),
    ("method", "VARCHAR"),
    ("body_hash", "BLOB"),
    ("response", "BLOB"),
    ("create_time_us", "BIGINT"),
)
SEALED_COLUMNS: tuple[tuple[str, str], ...] = (
    ("label", "BIGINT"),
    ("placeholder", "VARCHAR"),
    ("data", "BLOB"),
)
TENANT_COLUMNS: tuple[tuple[str, str], ...] = (("tenant", "VARCHAR"), ("revision", "BIGINT"))

_SCOPE = ("tenant", "user_id", "agent_id", "session_id", "namespace")
_SOURCE = ("source.session_id", "source.turn", "source.message_id", "source.uri")
_NO_SOURCE = Source()
_VECTOR_TYPE = np.dtype("<f4")

_SHARED = tuple(
    name
    for name in (*(name for name, _ in COLUMNS), *details.FIELDS)
    if name.endswith("_us")
    or name in ("key", "language", "conflict_group", "settled_group", "revision", *_SOURCE)
)

# A frozen record's own initialiser takes half of the time of a load: field by field is faster.
_PUT = {
    field.name: vars(MemoryRecord)[field.name].__set__ for field in dataclasses.fields(MemoryRecord)
}


def row_of(memory: StoredMemory) -> tuple[object, ...]:
    """Flattens a memory into the values of `COLUMNS`."""
    record = memory.record
    scope = record.scope
    return (
        record.label,
        record.id,
        scope.tenant,
        scope.user_id,
        scope.agent_id,
        scope.session_id,
        scope.namespace,
        int(record.kind),
        record.content,
        record.key,
        record.value_json,
        record.metadata_json,
        json.dumps(record.relevant_when, ensure_ascii=False) if record.relevant_when else "",
        record.confidence,
        record.language,
        record.create_time_us,
        record.update_time_us,
        int(record.status),
        record.superseded_by,
        record.content_hash,
        record.revision,
        _blob(memory.vector),
        memory.fingerprint,
        _blob(memory.cues),
        details.packed(record),
    )


def request_row_of(request: StoredRequest) -> tuple[object, ...]:
    """Flattens a request into the values of `REQUEST_COLUMNS`."""
    return tuple(getattr(request, name) for name, _ in REQUEST_COLUMNS)


def memories_of(columns: Mapping[str, Sequence[Any]]) -> list[StoredMemory]:
    """Builds memories from equally long columns, by the names of `COLUMNS`.

    Whole columns go through `map`: a Python-level loop over fields would double the time. Equal
    texts and times of a field or of several become one object.

    Args:
        columns: lists of Python values; `embedding` holds None or bytes-like of 4 * dim bytes,
            `cue_embedding` None or as many bytes per cue.

    Raises:
        ValueError: a vector's bytes, a row's cues, their vectors or its details are malformed.
    """
    columns = {**columns, **details.columns_of(columns["label"], columns["details"])}
    # Most rows have a time more than once, and a language, key or session with others.
    known: dict[Any, Any] = {}
    shared = {
        name: list(map(known.setdefault, columns[name], columns[name]))
        for name in _SHARED
        if any(columns[name])  # Zeros and empty texts are one object anyway.
    }
    # Apart, since 1.0 is equal to 1.
    given: dict[float, float] = {}
    shared["confidence"] = list(map(given.setdefault, *2 * (columns["confidence"],)))
    columns = {**columns, **shared}
    made_of = {
        "scope": _scopes(columns),
        "relevant_when": map(_cues, columns["relevant_when_json"]),
        "source": map(_source, *(columns[name] for name in _SOURCE)),
        "content_hash": map(bytes, columns["content_hash"]),
    }
    made = list(map(object.__new__, repeat(MemoryRecord, len(columns["label"]))))
    for name, put in _PUT.items():
        deque(map(put, made, made_of.get(name) or columns[name]), maxlen=0)
    vectors = map(_vector, columns["embedding"])
    cues = map(_cue_vectors, columns["cue_embedding"], made)
    return list(map(StoredMemory, made, vectors, columns["fingerprint"], cues))


def names(columns: Sequence[tuple[str, str]]) -> str:
    """Returns the column names for a select or insert list."""
    return ", ".join(name for name, _ in columns)


def _scopes(columns: Mapping[str, Sequence[Any]]) -> Iterator[Scope]:
    # Rows share few scopes: one object for each distinct one saves time and memory.
    seen: dict[tuple[str, ...], Scope] = {}
    for parts in zip(*(columns[name] for name in _SCOPE), strict=True):
        scope = seen.get(parts)
        if scope is None:
            scope = seen[parts] = Scope(*parts)
        yield scope


def _source(session_id: str, turn: int, message_id: str, uri: str) -> Source:
    if not (session_id or turn or message_id or uri):
        return _NO_SOURCE
    return Source(session_id, turn, message_id, uri)


def _cues(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


def _vector(blob: bytes | bytearray | None) -> NDArray[np.float32] | None:
    # Of bytes, not bytearray: the array is then read-only and owns nothing but this row.
    return None if blob is None else np.frombuffer(bytes(blob), _VECTOR_TYPE)


def _cue_vectors(
    blob: bytes | bytearray | None, record: MemoryRecord
) -> NDArray[np.float32] | None:
    if blob is None:
        return None
    if not record.relevant_when:
        raise ValueError(f"row {record.label} has vectors of cues, and no cues")
    return np.frombuffer(bytes(blob), _VECTOR_TYPE).reshape(len(record.relevant_when), -1)


def _blob(vectors: NDArray[np.float32] | None) -> bytes | None:
    return None if vectors is None else vectors.astype(_VECTOR_TYPE, copy=False).tobytes()
