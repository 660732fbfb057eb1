"""Restoring a snapshot: equal answers, what stays purged, what is refused, and kills on the way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.storage.database_file import ASIDE_SUFFIX, DATABASE_NAME, WORK_NAME, wal_path
from recalld.storage.duckdb_store import DuckDBStore
from recalld.storage.errors import SnapshotDamaged, SnapshotNotFound, StorageError
from recalld.storage.exchange import place
from recalld.storage.fsio import Files
from recalld.storage.restore import Restored, restore
from recalld.storage.snapshots import FOLDER_NAME, Stamp
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage import kept
from tests.storage.samples import plain
from tests.storage.test_database_file import Recording, Stop

LATER = 9


class StepsOfRestore(Recording):
    """Also records second names."""

    def link(self, source: Path, target: Path) -> None:
        self.step(f"link {source.name} to {target.name}")
        super().link(source, target)


def restored(data_dir: Path, name: str = "one", files: Files | None = None) -> Restored:
    return restore(data_dir, name, kept.options(files), kept.TEXTLESS)


def opened(data_dir: Path) -> Iterator[DuckDBStore]:
    store = kept.open_store(data_dir)
    yield store
    store.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StoredMemory]]:
    """A closed directory with a snapshot `one`, and a memory stored after it; and its rows."""
    path = tmp_path_factory.mktemp("prepared")
    store = kept.open_store(path)
    rows = kept.fill(store)
    kept.open_folder(path).create(store, "one", kept.STAMP)
    store.write(WriteBatch("acme", LATER, (kept.row(99, LATER),)))
    store.close()
    return path, rows


@pytest.fixture
def data_dir(prepared: tuple[Path, list[StoredMemory]], tmp_path: Path) -> Path:
    """A directory of the test's own."""
    shutil.copytree(prepared[0], tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def rows(prepared: tuple[Path, list[StoredMemory]]) -> list[StoredMemory]:
    return prepared[1]


def test_a_restore_brings_everything_back(data_dir: Path, rows: list[StoredMemory]) -> None:
    """Rows, vectors and answers are those of the snapshot; the revision is above both."""
    done = restored(data_dir)
    assert done == Restored(len(rows), 0, {"acme": LATER + 1}, "", True, None)
    for store in opened(data_dir):
        assert [plain(m) for m in store.load()] == [plain(m) for m in rows]
        assert store.find_request("acme", "r") is not None
        assert store.check() == []
        store.write(WriteBatch("acme", LATER + 2, (kept.row(100, LATER + 2),)))
    assert kept.open_folder(data_dir).verify("one") == []
    assert sorted(path.name for path in data_dir.iterdir()) == [DATABASE_NAME, FOLDER_NAME]


def test_an_unknown_snapshot_is_not_found(data_dir: Path) -> None:
    """Nothing is touched for a name that no snapshot has."""
    with pytest.raises(SnapshotNotFound, match="two"):
        restored(data_dir, "two")
    for store in opened(data_dir):
        assert store.revisions() == {"acme": LATER}


def test_a_damaged_snapshot_is_refused(data_dir: Path, rows: list[StoredMemory]) -> None:
    """It is refused with what is wrong, the newest intact one is offered, the data stays."""
    for store in opened(data_dir):
        folder = kept.open_folder(data_dir)
        for number, name in enumerate(("old", "newer", "bad"), start=2):
            folder.create(store, name, Stamp(number, "model-1"))
    for name in ("newer", "bad"):
        (database,) = (data_dir / FOLDER_NAME / name).glob("*.duckdb")
        data = bytearray(database.read_bytes())
        data[len(data) // 2] ^= 1
        database.write_bytes(data)
    with pytest.raises(SnapshotDamaged, match="newest intact one is one") as refused:
        restored(data_dir, "bad")
    assert refused.value.intact_name == "one"
    assert ["SHA-256" in violation for violation in refused.value.violations] == [True]
    shutil.rmtree(data_dir / FOLDER_NAME / "one")
    shutil.rmtree(data_dir / FOLDER_NAME / "old")
    with pytest.raises(SnapshotDamaged, match="none is intact"):
        restored(data_dir, "bad")
    for store in opened(data_dir):
        assert len(kept.contents(store)) == len(rows) + 1


def test_purged_memories_stay_purged(data_dir: Path, rows: list[StoredMemory]) -> None:
    """What was purged since does not come back, even from a copy that no purge has reached."""
    elsewhere = data_dir.parent / "elsewhere"
    shutil.copytree(data_dir / FOLDER_NAME / "one", elsewhere)
    ann = kept.of(rows, "ann")
    for store in opened(data_dir):
        order = kept.order([one.record for one in ann])
        store.write(WriteBatch("acme", LATER + 1, purge=order))
        kept.open_folder(data_dir).purge(store.purges.legacy(), kept.TEXTLESS)
    shutil.rmtree(data_dir / FOLDER_NAME / "one")
    shutil.copytree(elsewhere, data_dir / FOLDER_NAME / "one")
    done = restored(data_dir)
    assert (done.dropped_count, done.memory_count) == (len(ann), len(rows) - len(ann))
    for store in opened(data_dir):
        assert kept.contents(store) == [m.record.content for m in kept.of(rows, "bob")]
        assert store.find_request("acme", "r") is None
        assert [purge.row_count for purge in store.purges.pending()] == [len(ann)]
        time_us = store.purges.tombstones.time_us(
            store.purges.tombstones.hasher.of_id(ann[0].record.id)
        )
        assert time_us == 100
    shutil.rmtree(data_dir / FOLDER_NAME)
    assert kept.found_in(data_dir, ann) == []


def test_a_snapshot_of_another_directory_takes_the_own_key(
    data_dir: Path, rows: list[StoredMemory], tmp_path: Path
) -> None:
    """Tombstones of the present directory hold against a snapshot that has another secret."""
    for store in opened(tmp_path / "other"):
        kept.fill(store)
        kept.open_folder(tmp_path / "other").create(store, "one", kept.STAMP)
    for store in opened(data_dir):
        gone = [one.record for one in kept.of(rows, "ann")]
        store.write(WriteBatch("acme", LATER + 1, purge=kept.order(gone)))
    shutil.rmtree(data_dir / FOLDER_NAME / "one")
    shutil.copytree(tmp_path / "other" / FOLDER_NAME / "one", data_dir / FOLDER_NAME / "one")
    assert restored(data_dir).dropped_count == len(gone)


def test_a_damaged_database_is_kept_beside(data_dir: Path, rows: list[StoredMemory]) -> None:
    """A present database that does not open is replaced, and kept for people with its log."""
    path = data_dir / DATABASE_NAME
    path.write_bytes(b"x" * 1000)
    wal_path(path).write_bytes(b"log")
    done = restored(data_dir)
    assert (done.memory_count, done.purges_known, done.damage != "") == (len(rows), False, True)
    assert done.kept_path == data_dir / f"{DATABASE_NAME}.damaged-1"
    assert done.kept_path.read_bytes() == b"x" * 1000
    assert wal_path(done.kept_path).read_bytes() == b"log"
    for store in opened(data_dir):
        assert [plain(m) for m in store.load()] == [plain(m) for m in rows]


def test_a_missing_database_is_restored(data_dir: Path, rows: list[StoredMemory]) -> None:
    """A directory that has only snapshots left gets its data back."""
    (data_dir / DATABASE_NAME).unlink()
    assert restored(data_dir).memory_count == len(rows)


def steps_of(data_dir: Path) -> list[str]:
    files = StepsOfRestore()
    restored(data_dir, files=files)
    return files.steps


def test_a_restore_killed_anywhere_leaves_the_old_or_the_new(
    data_dir: Path, rows: list[StoredMemory], tmp_path: Path
) -> None:
    """Stopped before any file operation, the next start has one state whole, and tidies up."""
    shutil.copytree(data_dir, tmp_path / "whole")
    steps = steps_of(tmp_path / "whole")
    link = steps.index(f"link {DATABASE_NAME} to {DATABASE_NAME}{ASIDE_SUFFIX}")
    # Around the exchange; what comes before it touches the working folder only.
    found = []
    for stop_at in (link, link + 1, link + 2, link + 3):
        trial = tmp_path / str(stop_at)
        shutil.copytree(data_dir, trial)
        work_before = trial / WORK_NAME
        with pytest.raises(Stop):
            restored(trial, files=StepsOfRestore(stop_at))
        work_before.mkdir(exist_ok=True)  # Which a killed process cannot remove.
        for store in opened(trial):
            found.append(len(kept.contents(store)))
            assert store.check() == []
        assert sorted(path.name for path in trial.iterdir()) == [DATABASE_NAME, FOLDER_NAME]
    assert found == [len(rows) + 1] * 3 + [len(rows)]


def test_what_does_not_open_in_its_place_gives_way(
    data_dir: Path, rows: list[StoredMemory]
) -> None:
    """When the file put in place is damaged, the start returns to the one kept aside."""
    broken = data_dir / "broken"
    broken.write_bytes(b"y" * 5000)
    place(data_dir, broken, Files())
    assert (data_dir / f"{DATABASE_NAME}{ASIDE_SUFFIX}").exists()
    for store in opened(data_dir):
        assert store.recovery.returned
        assert len(kept.contents(store)) == len(rows) + 1
    assert not (data_dir / f"{DATABASE_NAME}{ASIDE_SUFFIX}").exists()


def test_a_database_that_was_not_closed_is_not_replaced(data_dir: Path) -> None:
    """A present log means that the present state is not whole in its file."""
    wal_path(data_dir / DATABASE_NAME).write_bytes(b"log")
    fresh = data_dir / "fresh"
    fresh.touch()
    with pytest.raises(StorageError, match="not closed"):
        place(data_dir, fresh, Files())
