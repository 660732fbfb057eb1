"""The books of a partition."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc
import uuid
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.analyzer import Analyzer
from recalld.index.partition import PartitionIndex
from recalld.scoring.params import RankParams
from recalld.server.indexing import index_row
from recalld.server.partition import CURRENT, Partition, Slot, identity_of, slot_of
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import Kind, MemoryRecord, Scope, Status

KEYS = ("", "city", "food")
AGENTS = ("", "a")
SCOPE = Scope("t", "u")
CONTENTS = (b"x" * 16, b"y" * 16)


def record(
    label: int, key: str, agent: str, content: bytes, status: int, kind: int
) -> MemoryRecord:
    """A record of few values, so that slots and identities meet."""
    return MemoryRecord(
        label=label,
        id=f"{label:032x}",
        scope=Scope("t", "u", agent),
        kind=kind,
        content="text",
        key=key,
        content_hash=content,
        status=status,
        event_time_us=1,
    )


RECORDS = st.builds(
    record,
    st.integers(1, 6),
    st.sampled_from(KEYS),
    st.sampled_from(AGENTS),
    st.sampled_from(CONTENTS),
    st.sampled_from([Status.ACTIVE, Status.CONFLICTED, Status.SUPERSEDED, Status.FORGOTTEN]),
    st.sampled_from([Kind.FACT, Kind.EVENT]),
)


def empty() -> Partition:
    """A partition with nothing in it."""
    return Partition("t", "u", PartitionIndex(4, RankParams(mean=0.0, spread=0.1)))


@given(st.lists(RECORDS, max_size=30))
def test_books_equal_a_recomputation(changes: list[MemoryRecord]) -> None:
    """After any run of changes, slots and identities are what the records alone say."""
    partition = empty()
    for change in changes:
        partition.put([change])
    latest = {change.label: change for change in changes}
    current = [r for r in latest.values() if r.status in CURRENT]
    assert sorted(r.label for r in partition.current()) == sorted(r.label for r in current)
    assert len(partition) == len(latest)
    for key in KEYS[1:]:
        for agent in AGENTS:
            slot = Slot("", agent, key)
            expected = {r.label for r in current if slot_of(r) == slot}
            found = partition.in_slot(slot)
            assert {r.label for r in found} == expected
            assert len(found) == len(expected)
            assert all(r is latest[r.label] for r in found)
            past = [r.label for r in partition.past_of(slot)]
            superseded = [r for r in latest.values() if r.status == Status.SUPERSEDED]
            assert sorted(past) == sorted(r.label for r in superseded if slot_of(r) == slot)
    for change in changes:
        same = partition.same_as(change)
        twins = {r.label for r in current if identity_of(r) == identity_of(change)}
        assert {r.label for r in same} == twins
        assert len(same) == len(twins)
    for r in latest.values():
        assert partition.get(r.id) is r
        assert partition.label_of(r.id) == r.label


def test_unknown_id() -> None:
    """An id that is not here is MemoryNotFound, and has no label."""
    partition = empty()
    assert partition.label_of("f" * 32) is None
    with pytest.raises(MemoryNotFound):
        partition.get("f" * 32)


@pytest.mark.parametrize("kind", [Kind.EVENT, Kind.DOCUMENT])
def test_topics_have_no_slot(kind: Kind) -> None:
    """Events and documents compete for nothing, and the same words at another time are another."""
    first = record(1, "city", "", CONTENTS[0], Status.ACTIVE, kind)
    assert slot_of(first) is None
    later = dataclasses.replace(first, event_time_us=2)
    assert identity_of(first) != identity_of(later)
    assert identity_of(first) == identity_of(dataclasses.replace(first, label=9, confidence=0.5))


def test_no_key_no_slot() -> None:
    """A fact without a key competes for nothing."""
    assert slot_of(record(1, "", "", CONTENTS[0], Status.ACTIVE, Kind.FACT)) is None


def test_the_estimate_of_bytes_is_honest() -> None:
    """What a partition says that it takes is within a fifth of what Python and numpy allocate."""
    vocabulary = [f"word{n % 40}x{n}" for n in range(400)]
    analyzer, params = Analyzer(), RankParams(mean=0.0, spread=0.1)

    def made() -> Partition:
        """A partition of ordinary memories, none of whose objects others have."""
        partition = Partition("t", "u", PartitionIndex(64, params, analyzer))
        rows = [
            MemoryRecord(
                label=10_000 + label,
                id=uuid.UUID(int=label).hex,
                scope=SCOPE,
                kind=Kind.FACT,
                content=" ".join(vocabulary[label * k % 400] for k in range(1, 15)),
                content_hash=label.to_bytes(16, "big"),
                event_time_us=10**15 + label,
                create_time_us=10**15 + label,
            )
            for label in range(1, 501)
        ]
        partition.put(rows)
        vectors = np.eye(500, 64, dtype=np.float32) + np.float32(0.1)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        partition.index.add([index_row(row, UTC) for row in rows], vectors)
        return partition

    made()
    gc.collect()
    tracemalloc.start()
    partition = made()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert abs(partition.size_bytes - taken) < taken / 5
    partition.drop(list(partition.records.values()))
    partition.index.remove([10_000 + label for label in range(1, 501)])
    assert partition.size_bytes < taken / 100
