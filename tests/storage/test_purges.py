"""Purges of more rows than are looked at, bound or removed in one go."""

from __future__ import annotations

from pathlib import Path

from recalld.storage import snapshot_check
from recalld.storage.purges import condemned_rows
from recalld.storage.store import BATCH_ROW_COUNT_MAX, WriteBatch
from tests.storage import kept

COUNT = 1_300


def test_a_purge_of_many_rows_takes_these_and_no_others(tmp_path: Path) -> None:
    """Of a mix of two users every row of one goes, from the store and an older copy; none else."""
    rows = [kept.row(n, 1, "bob" if n % 8 == 0 else "ann") for n in range(1, COUNT + 1)]
    ann, bob = ([one.record for one in kept.of(rows, user)] for user in ("ann", "bob"))
    store = kept.open_store(tmp_path)
    revisions = range(1, COUNT, BATCH_ROW_COUNT_MAX)
    for revision, start in enumerate(revisions, start=1):
        part = tuple(rows[start - 1 : start - 1 + BATCH_ROW_COUNT_MAX])
        store.write(WriteBatch("acme", revision, part))
    copy = tmp_path / "copy.duckdb"
    store.copy_to(copy)
    order = kept.order(ann)
    store.write(WriteBatch("acme", len(revisions) + 1, purge=order))
    assert [one.record.label for one in store.load()] == [one.label for one in bob]
    tombstones = store.purges.tombstones
    assert all(tombstones.time_us(tombstones.hasher.of_id(one.id)) == 100 for one in ann)
    with snapshot_check.reading(copy) as reader:
        condemned = condemned_rows(reader, tombstones)
    assert condemned == [(one.label, one.id, "acme", "ann") for one in ann]
    store.close()
    store = kept.open_store(tmp_path)
    assert len(store.purges.tombstones) == 2 * len(ann)  # Of each its id and its value.
    store.close()
