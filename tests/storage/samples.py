"""Rows and requests for the tests of the stores, and forms of them that compare by value."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st

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
from recalld.storage.store import Store, StoredMemory, StoredRequest


def memory(label: int, revision: int, **fields: object) -> StoredMemory:
    """A valid row; `tenant`, `user_id`, `vector`, `cues`, any field of the record can be given."""
    scope = Scope(str(fields.pop("tenant", "acme")), str(fields.pop("user_id", "ann")))
    vector = fields.pop("vector", np.full(4, label, np.float32))
    cues = fields.pop("cues", None)
    values: dict[str, object] = {
        "label": label,
        "id": f"{label:032x}",
        "scope": scope,
        "kind": Kind.FACT,
        "content": f"memory {label}",
        "event_time_us": 1_700_000_000_000_000,
        "revision": revision,
    }
    record = MemoryRecord(**(values | fields))  # type: ignore[arg-type]
    fingerprint = "" if vector is None else "model-1"
    return StoredMemory(record, vector, fingerprint, cues)  # type: ignore[arg-type]


def request(request_id: str, **fields: object) -> StoredRequest:
    """A valid request of tenant acme."""
    made = StoredRequest("acme", request_id, "/recalld.v1.X/Y", b"hash", b"answer", 1_000)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def plain(stored: StoredMemory) -> tuple[MemoryRecord, bytes | None, str, object]:
    """A form of a row that compares by value."""
    vector = None if stored.vector is None else stored.vector.tobytes()
    cues = None if stored.cues is None else (stored.cues.shape, stored.cues.tobytes())
    return stored.record, vector, stored.fingerprint, cues


def state(store: Store) -> tuple[object, ...]:
    """All that a store can be asked, in a form that compares by value."""
    found = store.partitions()
    rows = [[plain(m) for m in store.load_partition(p.tenant, p.user_id)] for p in found]
    known = [[plain(m) for m in store.load_partition(p.tenant, p.user_id, p.labels)] for p in found]
    assert known == rows
    partitions = [(p.tenant, p.user_id, p.labels.tolist(), p.change_time_us) for p in found]
    return [plain(m) for m in store.load()], partitions, rows, store.revisions()


_TEXT = st.text(max_size=20)
_TIME = st.integers(-(2**62), 2**62)
_VECTOR = st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8
).map(lambda values: np.array(values, np.float32))


@st.composite
def any_memory(draw: st.DrawFn, label: int, revision: int, tenant: str) -> StoredMemory:
    """A row with every field drawn from its whole range."""
    user_id = draw(st.sampled_from(["ann", "bob", "用户😀"]))
    record = MemoryRecord(
        label=label,
        id=f"{label:032x}",
        scope=Scope(tenant, user_id, draw(_TEXT), draw(_TEXT), draw(_TEXT)),
        kind=draw(st.sampled_from(Kind)),
        content=draw(_TEXT),
        key=draw(_TEXT),
        key_cardinality=draw(st.sampled_from(KeyCardinality)),
        value_json=draw(_TEXT),
        metadata_json=draw(_TEXT),
        relevant_when=tuple(draw(st.lists(_TEXT, max_size=8))),
        importance=draw(st.sampled_from(Importance)),
        confidence=draw(st.floats(0, 1)),
        stated_by=draw(st.sampled_from(StatedBy)),
        source=Source(draw(_TEXT), draw(st.integers(0, 2**31)), draw(_TEXT), draw(_TEXT)),
        visibility=draw(st.sampled_from(Visibility)),
        language=draw(_TEXT),
        event_time_us=draw(_TIME.filter(bool)),
        valid_from_us=draw(_TIME),
        valid_to_us=draw(_TIME),
        create_time_us=draw(_TIME),
        update_time_us=draw(_TIME),
        confirm_time_us=draw(_TIME),
        expire_time_us=draw(_TIME),
        forget_time_us=draw(_TIME),
        last_used_time_us=draw(_TIME),
        access_count=draw(st.integers(0, 2**40)),
        status=draw(st.sampled_from(Status)),
        superseded_by=draw(_TEXT),
        conflict_group=draw(_TEXT),
        settled_group=draw(_TEXT),
        superseded_from_us=draw(_TIME),
        superseded_time_us=draw(_TIME),
        content_hash=draw(st.sampled_from([b"", bytes(range(16)), b"\xff" * 16])),
        revision=revision,
    )
    vector = draw(st.none() | _VECTOR)
    if vector is None:
        return StoredMemory(record, None, "")
    count = len(record.relevant_when)
    cues = np.full((count, vector.size), draw(st.floats(-1, 1, width=32)), np.float32)
    is_embedded = count > 0 and draw(st.booleans())
    # One width per model, as the embedder guarantees.
    return StoredMemory(record, vector, f"model-{vector.size}", cues if is_embedded else None)
