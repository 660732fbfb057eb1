"""What every `Store` says of partitions without loading them; see `store_contract`."""

from __future__ import annotations

import numpy as np

from recalld.storage.record import Kind, Status
from recalld.storage.sizes import Tally
from recalld.storage.store import WriteBatch
from tests.conformance.store_contract import Reopen
from tests.storage.samples import memory


class PartitionContract:
    """What every backend must count and find."""

    def test_rows_come_in_label_order(self, reopen: Reopen) -> None:
        """Rows come in label order whatever the order of writing; partitions are counted."""
        store = reopen()
        store.write(WriteBatch("acme", 1, (memory(9, 1), memory(2, 1, user_id="bob"))))
        store.write(WriteBatch("zeta", 1, (memory(5, 1, tenant="zeta"),)))
        store.write(WriteBatch("acme", 2, (memory(4, 2, update_time_us=7),)))
        store = reopen()
        assert [m.record.label for m in store.load()] == [2, 4, 5, 9]
        assert [m.record.label for m in store.load_partition("acme", "ann")] == [4, 9]
        assert list(store.load_partition("zeta", "bob")) == []
        assert [
            (one.tenant, one.user_id, one.labels.tolist(), one.count, one.change_time_us)
            for one in store.partitions()
        ] == [
            ("acme", "ann", [4, 9], 2, 7),
            ("acme", "bob", [2], 1, 0),
            ("zeta", "ann", [5], 1, 0),
        ]

    def test_scattered_rows_are_loaded_whole(self, reopen: Reopen) -> None:
        """Rows of one user are found by their labels, however far these lie apart."""
        store = reopen()
        labels = {"ann": [1, 2, 10**6, 10**6 + 1, 10**12], "bob": [3, 5]}
        rows = [memory(label, 1, user_id=user) for user in labels for label in labels[user]]
        store.write(WriteBatch("acme", 1, (*rows, memory(4, 1, user_id="cy"))))
        for one in store.partitions()[:2]:
            assert one.labels.tolist() == labels[one.user_id]
            for known in (one.labels, None):
                loaded = store.load_partition("acme", one.user_id, known)
                assert [m.record.label for m in loaded] == labels[one.user_id]
        mine = store.load_partition("acme", "cy", np.array([1, 3, 4, 10**12]))
        assert [m.record.label for m in mine] == [4]

    def test_rows_are_tallied_by_status_and_kind(self, reopen: Reopen) -> None:
        """Rows of one user, or of all of a tenant, are counted by status and kind."""
        store = reopen()
        rows = (
            memory(1, 1),
            memory(2, 1, kind=Kind.STATE, status=Status.FORGOTTEN),
            memory(3, 1, user_id="bob"),
        )
        store.write(WriteBatch("acme", 1, rows))
        store.write(WriteBatch("zeta", 1, (memory(4, 1, tenant="zeta"),)))
        gone = Tally(Status.FORGOTTEN, Kind.STATE, 1)
        assert store.tally("acme", "ann") == [Tally(Status.ACTIVE, Kind.FACT, 1), gone]
        assert store.tally("acme") == [Tally(Status.ACTIVE, Kind.FACT, 2), gone]
        assert store.tally("acme", "eve") == store.tally("nobody") == []
