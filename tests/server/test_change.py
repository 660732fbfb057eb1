"""A write being planned: seen by itself, by nobody else."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import UTC

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.partition import PartitionIndex
from recalld.scoring.params import RankParams
from recalld.server.change import Change
from recalld.server.indexing import index_row
from recalld.server.partition import Partition, Slot
from recalld.server.pieces import Pieces
from recalld.storage.record import MemoryRecord, Scope, Status
from tests.server.core import NOW_US, FixedClock

VECTOR = np.ones(4, np.float32) / 2
SLOT = Slot("", "", "city")


def draft(content: bytes) -> MemoryRecord:
    """A value of the slot, not stored yet."""
    return MemoryRecord(
        0, "", Scope("t", "u"), 1, "x", key="city", content_hash=content, event_time_us=1
    )


def planned(partition: Partition) -> Change:
    """A change of revision 5."""
    return Change(partition, 5, itertools.count(10).__next__, NOW_US)


def empty() -> Partition:
    """A partition with nothing in it."""
    return Partition("t", "u", PartitionIndex(4, RankParams(mean=0.0, spread=0.1)))


def test_new_rows_get_their_names() -> None:
    """A planned row has a label, an id and the revision, and only the change sees it."""
    partition = empty()
    change = planned(partition)
    first, second = change.add(draft(b"a" * 16), VECTOR), change.add(draft(b"b" * 16), VECTOR)
    assert (first.label, second.label, first.revision) == (10, 11, 5)
    assert len({first.id, second.id}) == 2
    assert change.in_slot(SLOT) == [first, second]
    assert change.same_as(draft(b"a" * 16)) == first
    assert partition.in_slot(SLOT) == []
    assert len(partition) == 0


def test_edits_are_seen_in_place_of_what_is_stored() -> None:
    """What the change has edited is seen in its new state; the stored row is as it was."""
    partition = empty()
    stored = dataclasses.replace(draft(b"a" * 16), label=1, id="a" * 32, revision=1)
    partition.put([stored])
    change = planned(partition)
    assert change.in_slot(SLOT) == [stored]
    edited = change.edit(stored, status=Status.SUPERSEDED)
    assert (edited.revision, edited.update_time_us) == (5, NOW_US)
    assert change.in_slot(SLOT) == []
    assert change.past_of(SLOT) == [edited]
    assert change.same_as(stored) is None
    assert partition.in_slot(SLOT) == [stored]
    again = change.edit(stored, importance=4)
    assert (again.status, again.importance) == (Status.SUPERSEDED, 4)
    assert [*change.rows] == [1]
    assert change.vectors == {}


def test_vectors_of_planned_and_stored_rows() -> None:
    """Vectors come by label, those of this call before the stored ones."""
    partition, random = empty(), np.random.default_rng(4)
    stored = random.normal(size=(3, 4)).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    records = [dataclasses.replace(draft(b"s"), label=n, id=f"{n:032x}") for n in (1, 2, 3)]
    partition.put(records)
    partition.index.add([index_row(record, UTC) for record in records], stored)
    change = planned(partition)
    made = change.add(draft(b"new"), VECTOR)
    change.put_vector(2, VECTOR * 2)
    found = change.vectors_of([3, made.label, 2, 3])
    assert found.keys() == {2, 3, made.label}
    np.testing.assert_array_equal(found[3], stored[2])
    np.testing.assert_array_equal(found[made.label], VECTOR)
    np.testing.assert_array_equal(found[2], VECTOR * 2)


async def test_what_was_replaced_is_found_as_planned() -> None:
    """Records that a memory stands for are found as the call has changed them."""
    partition = empty()
    names = {"heir": "", "first": "heir", "second": "heir", "other": "else"}
    records = [
        dataclasses.replace(draft(name.encode()), label=n, id=name, superseded_by=by)
        for n, (name, by) in enumerate(names.items(), 1)
    ]
    partition.put(records)
    change = planned(partition)
    change.edit(records[2], superseded_by="")
    change.edit(records[3], superseded_by="heir")
    made = change.edit(change.add(draft(b"new"), VECTOR), superseded_by="heir")
    found = await change.replaced_by({"heir"}, Pieces(FixedClock()))
    assert [record.id for record in found] == ["first", "other", made.id]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(-9, 9)), max_size=20))
def test_planned_vectors_are_compared_as_they_are_now(
    given_vectors: list[tuple[int, int]],
) -> None:
    """Cosines are those of each label's last vector, whatever was planned before it."""
    change = planned(empty())
    last = {}
    for label, number in given_vectors:
        last[label] = np.array([number, label, 1, 0], np.float32)
        change.put_vector(label, last[label])
    assert change.cosines(VECTOR) == {label: float(v @ VECTOR) for label, v in last.items()}
    assert list(change.vectors) == list(last)
