"""The folder of snapshots: taking, listing, removing, purging, and what a kill leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recalld.storage.duckdb_store import DuckDBStore
from recalld.storage.errors import SnapshotExists, SnapshotNotFound
from recalld.storage.manifest import MANIFEST_NAME
from recalld.storage.purge import Legacy
from recalld.storage.snapshots import FOLDER_NAME, NAME, SnapshotFolder, Stamp
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage import kept
from tests.storage.test_database_file import Recording, Stop


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DuckDBStore]:
    opened = kept.open_store(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def rows(store: DuckDBStore) -> list[StoredMemory]:
    return kept.fill(store)


@pytest.fixture
def folder(tmp_path: Path) -> SnapshotFolder:
    return kept.open_folder(tmp_path)


def names(folder: SnapshotFolder) -> list[str]:
    return [listed.name for listed in folder.listed()]


def database_of(data_dir: Path, name: str) -> Path:
    (path,) = (data_dir / FOLDER_NAME / name).glob("*.duckdb")
    return path


def test_a_snapshot_says_what_it_holds(
    store: DuckDBStore, rows: list[StoredMemory], folder: SnapshotFolder, tmp_path: Path
) -> None:
    """The manifest has revision, counts, model and checksum of what was copied."""
    made = folder.create(store, "one", kept.STAMP)
    assert (made.name, made.create_time_us, made.created_by) == ("one", 50, "test")
    assert (made.revisions, made.fingerprint, made.is_scheduled) == ({"acme": 1}, "model-1", False)
    assert (made.counts["memories"], made.counts["requests"]) == (len(rows), 1)
    assert made.database.size_bytes == database_of(tmp_path, "one").stat().st_size
    assert folder.verify("one") == []
    assert folder.listed()[0].manifest == made


def test_snapshots_are_listed_newest_first(
    store: DuckDBStore, folder: SnapshotFolder, tmp_path: Path
) -> None:
    """By time, then by name; one whose manifest cannot be read comes last, with its problem."""
    for name, time_us in (("b", 2), ("a", 2), ("c", 9)):
        folder.create(store, name, Stamp(time_us, "m"))
    (tmp_path / FOLDER_NAME / "z").mkdir()
    assert names(folder) == ["c", "b", "a", "z"]
    last = folder.listed()[-1]
    assert (last.manifest, "missing" in str(last.problem)) == (None, True)


def test_names_are_unique_and_known(store: DuckDBStore, folder: SnapshotFolder) -> None:
    """A taken name is refused before anything is copied; an unknown one is not found."""
    folder.create(store, "one", kept.STAMP)
    with pytest.raises(SnapshotExists, match="one"):
        folder.create(store, "one", kept.STAMP)
    folder.delete("one")
    for call in (folder.verify, folder.delete, folder.database_path):
        with pytest.raises(SnapshotNotFound, match="one"):
            call("one")
    with pytest.raises(SnapshotNotFound):
        folder.delete("../..")


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "-x", "a/b", "a\n", "ä", "a" * 65])
def test_no_other_name_is_one(name: str) -> None:
    """A name is 1 to 64 letters, digits, dots, lines and hyphens, and begins with no dot."""
    assert NAME.fullmatch(name) is None
    assert NAME.fullmatch("a" * 64) and NAME.fullmatch("2026-11-30_v1.0")


def test_a_snapshot_is_of_one_revision_while_writes_go_on(
    store: DuckDBStore, rows: list[StoredMemory], folder: SnapshotFolder
) -> None:
    """It holds exactly the rows up to its revision."""
    stop = threading.Event()
    written = [1]

    def write() -> None:
        while not stop.is_set():
            revision = written[0] + 1
            label = store.allocate_labels(1)[0]
            store.write(WriteBatch("acme", revision, (kept.row(label, revision),)))
            written[0] = revision

    writer = threading.Thread(target=write)
    writer.start()
    before = written[0]
    made = [folder.create(store, name, kept.STAMP) for name in ("one", "two")]
    stop.set()
    writer.join()
    revisions = [one.revisions["acme"] for one in made]
    assert before <= revisions[0] <= revisions[1] <= written[0]
    assert [one.counts["memories"] for one in made] == [len(rows) + r - 1 for r in revisions]
    assert [folder.verify(name) for name in ("one", "two")] == [[], []]


@pytest.mark.parametrize("stop_at", [0, 1, 3, 5])
def test_a_killed_creation_is_removed_at_the_next_start(
    store: DuckDBStore, rows: list[StoredMemory], tmp_path: Path, stop_at: int
) -> None:
    """Stopped at any file operation there is the whole snapshot or, after cleaning, nothing."""
    folder = kept.open_folder(tmp_path, Recording(stop_at))
    # A kill leaves what an exception would clear away.
    folder_path = tmp_path / FOLDER_NAME
    try:
        folder.create(store, "one", kept.STAMP)
    except Stop:
        (folder_path / ".new-one").mkdir(exist_ok=True)
    again = kept.open_folder(tmp_path)
    again.clean()
    assert [path.name for path in folder_path.iterdir()] in ([], ["one"])
    assert all(again.verify(name) == [] for name in names(again))
    if not names(again):
        again.create(store, "one", kept.STAMP)


def test_cleaning_keeps_what_is_whole(
    store: DuckDBStore, folder: SnapshotFolder, tmp_path: Path
) -> None:
    """Unfinished and half removed folders go, and files that a manifest does not list."""
    assert folder.clean() == []
    folder.create(store, "one", kept.STAMP)
    path = tmp_path / FOLDER_NAME
    (path / ".new-two").mkdir()
    (path / ".old-three").mkdir()
    (path / ".note").touch()
    (path / "one" / "recalld-9.duckdb").write_bytes(b"left")
    assert folder.clean() == [".new-two", ".old-three", "one/recalld-9.duckdb"]
    assert sorted(p.name for p in path.iterdir()) == [".note", "one"]
    assert folder.verify("one") == []


def purged_legacy(store: DuckDBStore, rows: list[StoredMemory]) -> Legacy:
    gone = [one.record for one in kept.of(rows, "ann")]
    store.write(WriteBatch("acme", store.revisions()["acme"] + 1, purge=kept.order(gone)))
    return store.purges.legacy()


def test_a_purge_rewrites_the_snapshots_that_hold_it(
    store: DuckDBStore, rows: list[StoredMemory], folder: SnapshotFolder, tmp_path: Path
) -> None:
    """What was purged leaves every snapshot, bytes included; others are not touched."""
    folder.create(store, "before", Stamp(1, "model-1", is_scheduled=True))
    legacy = purged_legacy(store, rows)
    after = folder.create(store, "after", Stamp(2, "model-1"))
    assert folder.purge(legacy, kept.TEXTLESS) == 1
    ann = kept.of(rows, "ann")
    assert kept.found_in(tmp_path / FOLDER_NAME / "before", ann) == []
    before = folder.listed()[1].manifest
    assert before is not None
    assert before.counts["memories"] == len(rows) - len(ann)
    assert before.counts["requests"] == 0  # The answer that told ann's first memory.
    assert (before.create_time_us, before.is_scheduled) == (1, True)
    assert (before.revisions, before.database.name) == ({"acme": 1}, "recalld-2.duckdb")
    assert folder.listed()[0].manifest == after
    assert [folder.verify(name) for name in ("before", "after")] == [[], []]
    assert folder.purge(legacy, kept.TEXTLESS) == 0


def test_a_purge_removes_a_snapshot_that_cannot_be_read(
    store: DuckDBStore, rows: list[StoredMemory], folder: SnapshotFolder, tmp_path: Path
) -> None:
    """A damaged one may hold what must go, and nobody could restore it."""
    folder.create(store, "flipped", kept.STAMP)
    folder.create(store, "bare", kept.STAMP)
    database_of(tmp_path, "flipped").write_bytes(b"x" * 100)
    (tmp_path / FOLDER_NAME / "bare" / MANIFEST_NAME).unlink()
    assert folder.purge(purged_legacy(store, rows), kept.TEXTLESS) == 2
    assert names(folder) == []


@pytest.mark.parametrize("stop_at", [1, 4, 6, 8])
def test_a_killed_purge_goes_on_at_the_next_start(
    store: DuckDBStore, rows: list[StoredMemory], tmp_path: Path, stop_at: int
) -> None:
    """Stopped at any file operation, the snapshot is whole, and the next run completes it."""
    kept.open_folder(tmp_path).create(store, "one", kept.STAMP)
    legacy = purged_legacy(store, rows)
    try:
        kept.open_folder(tmp_path, Recording(stop_at)).purge(legacy, kept.TEXTLESS)
    except Stop:
        pass
    again = kept.open_folder(tmp_path)
    again.clean()
    assert again.verify("one") == []
    again.purge(legacy, kept.TEXTLESS)
    assert kept.found_in(tmp_path / FOLDER_NAME, kept.of(rows, "ann")) == []
    assert again.verify("one") == []


def test_what_a_snapshot_says(
    store: DuckDBStore, rows: list[StoredMemory], folder: SnapshotFolder
) -> None:
    """A text, a part of one, or a vector of any memory in a snapshot is known there."""
    folder.create(store, "one", kept.STAMP)
    assert rows[0].vector is not None
    assert folder.says(rows[0].record.content[3:-3], b"")
    assert folder.says("nobody said this", rows[0].vector.tobytes())
    assert not folder.says("nobody said this", b"1234")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda path: (path / MANIFEST_NAME).unlink(), "missing"),
        (lambda path: (path / MANIFEST_NAME).write_bytes(b"{}"), "no manifest"),
        (lambda path: next(path.glob("*.duckdb")).unlink(), "No such file"),
        (lambda path: next(path.glob("*.duckdb")).write_bytes(b"short"), "5 bytes, expected"),
    ],
)
def test_the_list_tells_apparent_damage(
    store: DuckDBStore,
    folder: SnapshotFolder,
    tmp_path: Path,
    harm: Callable[[Path], object],
    told: str,
) -> None:
    """A manifest or file that is missing, broken or of another size is told without reading on;
    the other snapshots are not affected."""
    for name in ("one", "two"):
        folder.create(store, name, kept.STAMP)
    harm(tmp_path / FOLDER_NAME / "one")
    problems = {listed.name: listed.problem for listed in folder.listed()}
    assert told in str(problems["one"])
    assert problems["two"] is None
    assert folder.verify("one") != []
