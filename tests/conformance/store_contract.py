"""One suite for every `Store`: a backend's test class inherits it and gives a `reopen` fixture.

`reopen()` closes the store it opened before, if any, and returns one on the same data.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from recalld.storage.errors import InvalidBatch, StaleRevision, StoreClosed
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
from recalld.storage.sealed_value import SealedValue
from recalld.storage.store import (
    BATCH_ROW_COUNT_MAX,
    Store,
    StoredMemory,
    WriteBatch,
)
from tests.storage.samples import memory, plain, request, state

Reopen = Callable[[], Store]


class StoreContract:
    """What every backend must do."""

    def test_a_new_store_is_empty(self, reopen: Reopen) -> None:
        """A new store has no rows, no partitions, no revisions and hands out label 1 first."""
        store = reopen()
        assert state(store) == ([], [], [], {})
        assert store.allocate_labels(3) == range(1, 4)
        assert store.allocate_labels(1) == range(4, 5)
        assert store.check() == []

    def test_every_field_survives_reopening(self, reopen: Reopen) -> None:
        """Every field, the vectors and their fingerprint come back as written."""
        scope = Scope("acme", "用户😀", "agent", "session", "project/α")
        full = MemoryRecord(
            label=7,
            id="0123456789abcdef" * 2,
            scope=scope,
            kind=Kind.DOCUMENT,
            content="花生过敏 🥜 \u200f\u202e line\nbreak 'quote' \"double\"",
            key="allergy",
            key_cardinality=KeyCardinality.MANY,
            value_json='{"a":1}',
            metadata_json='{"b":"é"}',
            relevant_when=("ordering food", "买零食"),
            importance=Importance.PINNED,
            confidence=0.1,
            stated_by=StatedBy.TOOL,
            source=Source("s", 3, "m", "https://example.org/x"),
            visibility=Visibility.PRIVATE,
            language="zh",
            event_time_us=-1,
            valid_from_us=2,
            valid_to_us=3,
            create_time_us=4,
            update_time_us=5,
            confirm_time_us=6,
            expire_time_us=7,
            forget_time_us=8,
            last_used_time_us=9,
            access_count=10,
            status=Status.SUPERSEDED,
            superseded_by="f" * 32,
            conflict_group="g",
            settled_group="h",
            superseded_from_us=11,
            superseded_time_us=12,
            content_hash=bytes(range(16)),
            revision=1,
        )
        vector = np.array([0.1, -0.0, 3e38, 1e-40], np.float32)
        cues = np.array([[1.0, -0.0, 0.5, 1e-40], [0, 1, 2, 3]], np.float32)
        reopen().write(WriteBatch("acme", 1, (StoredMemory(full, vector, "model-1", cues),)))
        (read,) = reopen().load()
        assert plain(read) == (full, vector.tobytes(), "model-1", ((2, 4), cues.tobytes()))
        assert read.cues is not None
        assert read.cues.dtype == np.float32
        assert read.vector is not None
        assert read.vector.dtype == np.float32

    def test_a_row_without_vector_stays_so(self, reopen: Reopen) -> None:
        """A row written without a vector comes back with None and no fingerprint."""
        reopen().write(WriteBatch("acme", 1, (memory(1, 1, vector=None), memory(2, 1))))
        first, second = reopen().load()
        assert (first.vector, first.fingerprint) == (None, "")
        assert second.vector is not None

    def test_sealed_values_stay_with_their_row(self, reopen: Reopen) -> None:
        """Sealed values come back under their row alone; a later one of a placeholder wins."""
        rows = (memory(1, 1), memory(2, 1))
        first = (SealedValue(1, "[phone:a]", b"\0x"), SealedValue(1, "[email:b]", b"y"))
        reopen().write(WriteBatch("acme", 1, rows, sealed=first))
        reopen().write(
            WriteBatch("acme", 2, (memory(1, 2),), sealed=(SealedValue(1, "[phone:a]", b"z"),))
        )
        store = reopen()
        assert store.sealed.find(1) == {"[phone:a]": b"z", "[email:b]": b"y"}
        assert store.sealed.find(2) == store.sealed.find(3) == {}
        assert store.sealed.prune() == 0
        assert store.check() == []

    @pytest.mark.parametrize(
        "value", [SealedValue(2, "p", b"x"), SealedValue(1, "", b"x"), SealedValue(1, "p", b"")]
    )
    def test_a_sealed_value_needs_its_row(self, reopen: Reopen, value: SealedValue) -> None:
        """A sealed value without its row, placeholder or data is refused with all the rest."""
        store = reopen()
        with pytest.raises(InvalidBatch):
            store.write(WriteBatch("acme", 1, (memory(1, 1),), sealed=(value,)))
        assert list(store.load()) == []

    def test_the_last_write_of_a_label_wins(self, reopen: Reopen) -> None:
        """A later write of a label replaces the row, within a batch and between batches."""
        store = reopen()
        twice = (memory(1, 1, content="a"), memory(1, 1, content="b"))
        store.write(WriteBatch("acme", 1, twice))
        assert [m.record.content for m in store.load()] == ["b"]
        futures = [
            store.submit(WriteBatch("acme", r, (memory(1, r, content=str(r)),)))
            for r in range(2, 30)
        ]
        for future in futures:
            assert future.result(timeout=10) is None
        assert [m.record.content for m in reopen().load()] == ["29"]

    def test_revisions_only_go_up(self, reopen: Reopen) -> None:
        """Rows need a newer revision, a request may share the last one, a lower one is refused."""
        store = reopen()
        store.write(WriteBatch("acme", 5, (memory(1, 5),)))
        store.write(WriteBatch("acme", 5, request=request("r")))
        for stale in (WriteBatch("acme", 5, (memory(2, 5),)), WriteBatch("acme", 4)):
            with pytest.raises(StaleRevision):
                store.submit(stale)
        store.write(WriteBatch("zeta", 1, (memory(3, 1, tenant="zeta"),)))
        assert reopen().revisions() == {"acme": 5, "zeta": 1}
        assert [m.record.label for m in reopen().load()] == [1, 3]

    def test_an_answer_is_remembered_until_pruned(self, reopen: Reopen) -> None:
        """An answer is found by tenant and id, also after reopening, until it is pruned."""
        store = reopen()
        old, new = request("old", create_time_us=10), request("new", create_time_us=20)
        store.write(WriteBatch("acme", 1, request=old))
        store.write(WriteBatch("acme", 1, request=new))
        store = reopen()
        assert store.find_request("acme", "old") == old
        assert store.find_request("zeta", "old") is None
        assert store.newest_request_us() == 20
        assert store.prune_requests(20) == 1
        assert store.prune_requests(20) == 0
        assert store.find_request("acme", "old") is None
        store = reopen()
        assert store.find_request("acme", "old") is None
        assert store.find_request("acme", "new") == new

    def test_rows_and_answer_are_written_together(self, reopen: Reopen) -> None:
        """One batch carries its rows and its answer, empty bytes included."""
        answer = request("r", response=b"", body_hash=b"\0\xff")
        reopen().write(WriteBatch("acme", 1, (memory(1, 1),), answer))
        store = reopen()
        assert store.find_request("acme", "r") == answer
        assert store.stats().row_count == 1
        assert store.stats().request_count == 1

    def test_labels_are_not_handed_out_twice(self, reopen: Reopen) -> None:
        """Concurrent callers get disjoint labels, all above those of written rows."""
        store = reopen()
        store.write(WriteBatch("acme", 1, (memory(40, 1),)))
        with ThreadPoolExecutor(4) as pool:
            ranges = list(pool.map(store.allocate_labels, [7] * 20))
        labels = [label for part in ranges for label in part]
        assert sorted(labels) == list(range(41, 41 + 140))
        assert reopen().allocate_labels(1) == range(41, 42)

    @pytest.mark.parametrize(
        "bad",
        [
            WriteBatch("acme", 1, (memory(0, 1),)),
            WriteBatch("acme", 1, (memory(1, 1, id="F" * 32),)),
            WriteBatch("acme", 1, (memory(1, 1, tenant="zeta"),)),
            WriteBatch("acme", 1, (memory(1, 1, user_id=""),)),
            WriteBatch("acme", 2, (memory(1, 1),)),
            WriteBatch("acme", 1, (memory(1, 1, kind=9),)),
            WriteBatch("acme", 1, (memory(1, 1, confidence=float("nan")),)),
            WriteBatch("acme", 1, (memory(1, 1, content="\ud800"),)),
            WriteBatch("acme", 1, (memory(1, 1, access_count=2**63),)),
            WriteBatch("acme", 1, (memory(1, 1, vector=np.array([np.nan], np.float32)),)),
            WriteBatch("acme", 1, (memory(1, 1, vector=np.zeros(3)),)),
            WriteBatch("acme", 1, request=request("")),
            WriteBatch("acme", 1, request=request("r", tenant="zeta")),
            WriteBatch("", 1),
            WriteBatch("acme", 0),
            WriteBatch("acme", 1, (memory(1, 1),) * (BATCH_ROW_COUNT_MAX + 1)),
        ],
    )
    def test_a_bad_batch_changes_nothing(self, reopen: Reopen, bad: WriteBatch) -> None:
        """A batch that breaks a rule is refused whole, and the store goes on."""
        store = reopen()
        with pytest.raises(InvalidBatch):
            store.submit(bad)
        assert state(store) == ([], [], [], {})
        store.write(WriteBatch("acme", 1, (memory(1, 1),)))
        assert store.check() == []

    def test_a_queued_write_cannot_be_cancelled(self, reopen: Reopen) -> None:
        """A future given out cannot be cancelled: its batch is written."""
        store = reopen()
        future = store.submit(WriteBatch("acme", 1, (memory(1, 1),)))
        assert not future.cancel()
        future.result(timeout=10)
        assert store.stats().row_count == 1

    def test_concurrent_writers_and_readers_agree(self, reopen: Reopen) -> None:
        """Batches written at once, under reads, a checkpoint and a check, all arrive."""
        store = reopen()

        def write(number: int) -> None:
            tenant = f"tenant-{number}"
            for revision in range(1, 6):
                label = store.allocate_labels(1)[0]
                store.write(WriteBatch(tenant, revision, (memory(label, revision, tenant=tenant),)))
                assert len(list(store.load_partition(tenant, "ann"))) == revision

        with ThreadPoolExecutor(4) as pool:
            done = [pool.submit(write, number) for number in range(4)]
            # A checkpoint beside readers and writers waits for them and never fails the store.
            for _ in range(4):
                store.checkpoint()
                assert store.check() == []
            for future in done:
                future.result(timeout=30)
        store = reopen()
        assert store.revisions() == {f"tenant-{number}": 5 for number in range(4)}
        assert [m.record.label for m in store.load()] == list(range(1, 21))
        assert store.check() == []

    def test_check_names_every_violation(self, reopen: Reopen) -> None:
        """An id used twice and a vector of another width are both reported, with their labels."""
        store = reopen()
        twice = (memory(1, 1), memory(2, 1, id=f"{1:032x}", vector=np.ones(5, np.float32)))
        store.write(WriteBatch("acme", 1, twice))
        lines = store.check()
        assert len(lines) == 2
        assert all("(2)" in line for line in lines)

    def test_a_closed_store_refuses(self, reopen: Reopen) -> None:
        """After close every call raises StoreClosed, and a second close does nothing."""
        store = reopen()
        store.write(WriteBatch("acme", 1, (memory(1, 1),)))
        store.close()
        store.close()
        for call in (
            lambda: store.submit(WriteBatch("acme", 2)),
            lambda: store.find_request("acme", "r"),
            lambda: store.prune_requests(1),
            store.load,
            store.partitions,
            lambda: store.load_partition("acme", "ann"),
            lambda: store.renewals.foreign("m"),
            lambda: store.tally("acme"),
            store.revisions,
            lambda: store.allocate_labels(1),
            store.stats,
            store.checkpoint,
            store.check,
        ):
            with pytest.raises(StoreClosed):
                call()
        assert len(list(reopen().load())) == 1
