"""One suite for purging in every `Store`; see `store_contract.py` for the fixture."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from recalld.storage.errors import InvalidBatch, StaleRevision
from recalld.storage.purge import PurgeOrder, StoredPurge
from recalld.storage.record import MemoryRecord
from recalld.storage.store import Store, StoredTrace, WriteBatch
from tests.conformance.store_contract import Reopen
from tests.conformance.trace_contract import trace
from tests.storage.samples import memory, request

PURGE_ID = "a" * 32


def order(*records: MemoryRecord, whole: bool = False, **fields: object) -> PurgeOrder:
    """A purge of ann's at time 100; answers of the method `textless` stay."""
    made = PurgeOrder(PURGE_ID, "ann", 100, records, whole, frozenset({"textless"}))
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def note(**fields: object) -> StoredPurge:
    """The note of that purge."""
    return dataclasses.replace(StoredPurge(PURGE_ID, "acme", 100), **fields)  # type: ignore[arg-type]


def before_and_after(store: Store, reopen: Reopen) -> Iterator[Store]:
    """The store as it is, then as it is after reopening."""
    yield store
    yield reopen()


class PurgeContract:
    """What every backend must do."""

    def test_purged_rows_are_gone_and_known(self, reopen: Reopen) -> None:
        """Rows of the order go, others stay; tombstones and the note survive reopening."""
        store = reopen()
        rows = [memory(n, 1, content_hash=bytes([n]) * 16) for n in (1, 2, 3)]
        store.write(WriteBatch("acme", 1, tuple(rows)))
        store.write(WriteBatch("acme", 2, purge=order(rows[0].record, rows[2].record)))
        for opened in before_and_after(store, reopen):
            assert [m.record.label for m in opened.load()] == [2]
            assert opened.revisions() == {"acme": 2}
            assert opened.purges.pending() == [note(row_count=2)]
            assert opened.purges.find("acme", PURGE_ID) == note(row_count=2)
            assert opened.purges.find("zeta", PURGE_ID) is None
            tombstones = opened.purges.tombstones
            times = [tombstones.time_us(tombstones.hasher.of_id(f"{n:032x}")) for n in (1, 2, 3)]
            assert times == [100, None, 100]
            assert opened.check() == []

    def test_a_purge_may_come_in_parts(self, reopen: Reopen) -> None:
        """Batches under one id add up to one note, which can be completed durably."""
        store = reopen()
        rows = [memory(n, 1) for n in (1, 2, 3)]
        store.write(WriteBatch("acme", 1, tuple(rows)))
        store.write(WriteBatch("acme", 2, purge=order(rows[0].record)))
        store.write(WriteBatch("acme", 3, purge=order(rows[1].record, rows[2].record)))
        assert store.purges.pending() == [note(row_count=3)]
        done = note(row_count=3, complete_time_us=200, snapshot_count=1, verified_file_count=4)
        store.purges.complete([done])
        for opened in before_and_after(store, reopen):
            assert opened.purges.pending() == []
            assert opened.purges.find("acme", PURGE_ID) == done

    def test_answers_that_name_a_purged_memory_go(self, reopen: Reopen) -> None:
        """An answer with a purged id goes, unless its method tells no text; others stay."""
        store = reopen()
        row = memory(1, 1)
        named = b"\n " + row.record.id.encode() + b"2 text"
        answers = {
            "told": request("told", response=named),
            "textless": request("textless", method="textless", response=named),
            "other": request("other", response=b"\n " + b"e" * 32),
        }
        store.write(WriteBatch("acme", 1, (row,), answers["told"]))
        store.write(WriteBatch("acme", 1, request=answers["textless"]))
        store.write(WriteBatch("acme", 1, request=answers["other"]))
        foreign = request("told", tenant="zeta", response=named)
        store.write(WriteBatch("zeta", 1, request=foreign))
        store.write(WriteBatch("acme", 2, purge=order(row.record)))
        for opened in before_and_after(store, reopen):
            assert opened.find_request("acme", "told") is None
            assert opened.find_request("acme", "textless") == answers["textless"]
            assert opened.find_request("acme", "other") == answers["other"]
            assert opened.find_request("zeta", "told") == foreign

    def test_traces_of_the_user_go(self, reopen: Reopen) -> None:
        """The user's traces go, and those of recalls that name the user; others stay."""
        store = reopen()
        row = memory(1, 1)
        store.write(WriteBatch("acme", 1, (row,)))
        of_bob = StoredTrace("acme", "shared", "bob", 5, b"looked at ann", b"c")
        kept = StoredTrace("acme", "own", "bob", 6, b"looked at bob", b"c")
        store.traces.put([trace("mine"), of_bob, kept], 10).result()
        store.write(WriteBatch("acme", 2, purge=order(row.record)))
        found = {name: store.traces.find("acme", name) for name in ("mine", "shared", "own")}
        assert found == {"mine": None, "shared": None, "own": kept}

    def test_labels_are_not_used_again(self, reopen: Reopen) -> None:
        """Labels of purged rows stay used, also after reopening with no row left."""
        store = reopen()
        row = memory(7, 1)
        store.write(WriteBatch("acme", 1, (row,)))
        store.write(WriteBatch("acme", 2, purge=order(row.record)))
        assert reopen().allocate_labels(1) == range(8, 9)

    def test_rewriting_keeps_everything_else(self, reopen: Reopen) -> None:
        """After a rewrite all other rows, answers and traces are there, and writing goes on."""
        store = reopen()
        rows = [memory(n, 1) for n in (1, 2)]
        store.write(WriteBatch("acme", 1, tuple(rows), request("r")))
        store.traces.put([trace("t")], 10).result()
        store.rewrite()
        store.write(WriteBatch("acme", 2, (memory(3, 2),)))
        for opened in before_and_after(store, reopen):
            assert [m.record.label for m in opened.load()] == [1, 2, 3]
            assert opened.find_request("acme", "r") == request("r")
            assert opened.traces.find("acme", "t") == trace("t")
            assert opened.check() == []

    def test_a_whole_user_leaves_a_tombstone_without_rows(self, reopen: Reopen) -> None:
        """A purge of a user who has nothing here is known all the same."""
        store = reopen()
        store.write(WriteBatch("acme", 1, purge=order(whole=True)))
        hasher = store.purges.tombstones.hasher
        assert store.purges.tombstones.time_us(hasher.of_user("acme", "ann")) == 100
        assert store.purges.pending() == [note()]

    @pytest.mark.parametrize(
        "fields",
        [
            {"id": "x"},
            {"time_us": 0},
            {"user_id": "bob"},
            {"records": (memory(1, 1).record, memory(1, 1).record)},
        ],
    )
    def test_an_order_that_breaks_a_rule_is_refused(
        self, reopen: Reopen, fields: dict[str, object]
    ) -> None:
        """A malformed id or time, another user's record, or one named twice is InvalidBatch."""
        made = order(memory(1, 1).record, **fields)
        with pytest.raises(InvalidBatch, match="purge"):
            reopen().write(WriteBatch("acme", 1, purge=made))

    def test_a_row_cannot_be_written_and_purged_at_once(self, reopen: Reopen) -> None:
        """A batch that writes what it purges is InvalidBatch."""
        row = memory(1, 1)
        with pytest.raises(InvalidBatch, match="also written"):
            reopen().write(WriteBatch("acme", 1, (row,), purge=order(row.record)))

    def test_a_purge_needs_a_revision_of_its_own(self, reopen: Reopen) -> None:
        """A batch that only purges must be newer than the last one, as one that writes."""
        store = reopen()
        row = memory(1, 1)
        store.write(WriteBatch("acme", 1, (row,)))
        with pytest.raises(StaleRevision):
            store.write(WriteBatch("acme", 1, purge=order(row.record)))
