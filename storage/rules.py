"""What must hold for every row, checked before it is written and again by `Store.check`.

Pure functions over plain types; knows no database. They do not bound the sizes of texts: those
are limits of the server's edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter

import numpy as np

from recalld.storage import details
from recalld.storage.errors import Corrupt, InvalidBatch
from recalld.storage.record import (
    Importance,
    KeyCardinality,
    Kind,
    StatedBy,
    Status,
    Visibility,
)
from recalld.storage.store import BATCH_ROW_COUNT_MAX, StoredMemory, StoredRequest, WriteBatch

ID_LENGTH = 32
ID_DIGITS = "0123456789abcdef"
CONTENT_HASH_BYTES = 16
INT64_MAX = 2**63 - 1
EXAMPLE_COUNT_MAX = 5

_integers = attrgetter("revision", "create_time_us", "update_time_us", *details.INTEGERS)

_ENUMS = (
    ("kind", len(Kind)),
    ("key_cardinality", len(KeyCardinality)),
    ("importance", len(Importance)),
    ("stated_by", len(StatedBy)),
    ("visibility", len(Visibility)),
    ("status", len(Status)),
)


def require_valid(batch: WriteBatch) -> None:
    """Refuses a batch that could fail inside a shared transaction or break an invariant.

    Raises:
        InvalidBatch: names the label and the rule, never the text.
    """
    if not batch.tenant or not 0 < batch.revision <= INT64_MAX:
        raise InvalidBatch(f"batch needs a tenant and a revision > 0, got {batch.revision}")
    if len(batch.memories) > BATCH_ROW_COUNT_MAX:
        raise InvalidBatch(f"{len(batch.memories)} rows, limit {BATCH_ROW_COUNT_MAX}")
    for memory in batch.memories:
        record = memory.record
        for rule in row_violations(memory):
            raise InvalidBatch(f"label {record.label}: {rule}")
        if record.scope.tenant != batch.tenant or record.revision != batch.revision:
            raise InvalidBatch(f"label {record.label}: tenant or revision is not its batch's")
    labels = {memory.record.label for memory in batch.memories}
    for value in batch.sealed:
        if value.label not in labels or not value.placeholder or not value.data:
            raise InvalidBatch(f"label {value.label}: a sealed value without its row or its data")
    if batch.purge is not None:
        for rule in purge_violations(batch):
            raise InvalidBatch(f"purge: {rule}")
    if batch.request is not None:
        for rule in request_violations(batch.request):
            raise InvalidBatch(f"request: {rule}")
        if batch.request.tenant != batch.tenant:
            raise InvalidBatch("request: tenant is not its batch's")


def purge_violations(batch: WriteBatch) -> Iterator[str]:
    """Yields every rule that the purge of a batch breaks."""
    order = batch.purge
    assert order is not None
    if len(order.id) != ID_LENGTH or order.id.strip(ID_DIGITS):
        yield "id is not 32 lower-case hex digits"
    if not 0 < order.time_us <= INT64_MAX:
        yield "time_us is not above 0"
    owner = (batch.tenant, order.user_id)
    if any((r.scope.tenant, r.scope.user_id) != owner for r in order.records):
        yield "a record is not of the tenant and user"
    labels = {record.label for record in order.records}
    if len(labels) != len(order.records):
        yield "a label is named twice"
    if any(memory.record.label in labels for memory in batch.memories):
        yield "a record is also written"


def row_violations(memory: StoredMemory) -> Iterator[str]:
    """Yields every rule that one row breaks."""
    record = memory.record
    if not 0 < record.label <= INT64_MAX:
        yield "label is not in 1..2^63-1"
    if len(record.id) != ID_LENGTH or record.id.strip(ID_DIGITS):
        yield "id is not 32 lower-case hex digits"
    if not record.scope.tenant or not record.scope.user_id:
        yield "tenant or user_id is empty"
    for name, limit in _ENUMS:
        if not 0 <= getattr(record, name) < limit:
            yield f"{name} is not a number of its enum"
    if not 0.0 <= record.confidence <= 1.0:
        yield "confidence is not in [0, 1]"
    if len(record.content_hash) not in (0, CONTENT_HASH_BYTES):
        yield "content_hash is not 16 bytes"
    if record.revision <= 0:
        yield "revision is not above 0"
    if record.event_time_us == 0:
        yield "event_time_us is not set"
    if not all(-INT64_MAX <= number <= INT64_MAX for number in _integers(record)):
        yield "a number is outside 64 bits"
    if not _is_utf8(memory):
        yield "a text is not valid Unicode"
    yield from _vector_violations(memory)
    yield from _cue_violations(memory)


def request_violations(request: StoredRequest) -> Iterator[str]:
    """Yields every rule that one remembered request breaks."""
    if not request.tenant or not request.request_id:
        yield "tenant or request_id is empty"
    if not -INT64_MAX <= request.create_time_us <= INT64_MAX:
        yield "create_time_us is outside 64 bits"
    if not _encodes(request.tenant, request.request_id, request.method):
        yield "a text is not valid Unicode"


def store_violations(
    memories: Iterable[StoredMemory],
    requests: Iterable[StoredRequest],
    revisions: Callable[[], Mapping[str, int]],
) -> list[str]:
    """Returns one line per rule broken anywhere: the rule, how often, and the first labels.

    Args:
        memories: all there are, read now.
        requests: all there are, read before.
        revisions: of all tenants, which are never less than those of their rows.

    Complexity: one pass; memory for one id per row.
    """
    found: defaultdict[str, list[object]] = defaultdict(list)
    ids: set[str] = set()
    dims: dict[str, int] = {}
    try:
        for memory in memories:
            record = memory.record
            for rule in row_violations(memory):
                found[rule].append(record.label)
            if record.id in ids:
                found["id is used twice"].append(record.label)
            ids.add(record.id)
            if memory.vector is not None and memory.vector.size != dims.setdefault(
                memory.fingerprint, memory.vector.size
            ):
                found["vector width differs within its model"].append(record.label)
    except Corrupt as error:  # What was found before the unreadable block still counts.
        found[str(error)].append("the rest was not read")
    known = revisions()
    for request in requests:
        for rule in request_violations(request):
            found[f"request: {rule}"].append(request.request_id)
        if request.tenant not in known:
            found["request: tenant has no revision"].append(request.request_id)
    return [_line(rule, rows) for rule, rows in found.items()]


def _line(rule: str, rows: list[object]) -> str:
    examples = ", ".join(str(row) for row in rows[:EXAMPLE_COUNT_MAX])
    return f"{rule}: {len(rows)} ({examples}{', ...' if len(rows) > EXAMPLE_COUNT_MAX else ''})"


def _is_utf8(memory: StoredMemory) -> bool:
    record, scope, source = memory.record, memory.record.scope, memory.record.source
    return _encodes(
        memory.fingerprint,
        scope.tenant,
        scope.user_id,
        scope.agent_id,
        scope.session_id,
        scope.namespace,
        source.session_id,
        source.message_id,
        source.uri,
        record.content,
        record.key,
        record.value_json,
        record.metadata_json,
        record.language,
        record.superseded_by,
        record.conflict_group,
        record.settled_group,
        *record.relevant_when,
    )


def _encodes(*texts: str) -> bool:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _vector_violations(memory: StoredMemory) -> Iterator[str]:
    vector = memory.vector
    if (vector is None) != (not memory.fingerprint):
        yield "vector and fingerprint do not come together"
    if vector is None:
        return
    if vector.dtype != np.float32 or vector.ndim != 1 or vector.size == 0:
        yield "vector is not float32[dim]"
    elif not np.isfinite(vector).all():
        yield "vector is not finite"


def _cue_violations(memory: StoredMemory) -> Iterator[str]:
    cues = memory.cues
    if cues is None:
        return
    if memory.vector is None:
        yield "vectors of cues stand without a vector"
    is_whole = cues.dtype == np.float32 and cues.ndim == 2 and cues.size > 0
    if not is_whole or len(cues) != len(memory.record.relevant_when):
        yield "vectors of cues are not float32[cues, dim]"
    elif not np.isfinite(cues).all():
        yield "vectors of cues are not finite"
