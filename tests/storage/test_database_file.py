"""What opening does with interrupted creations, damaged logs and damaged files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import Corrupt
from recalld.storage.fsio import Files
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage.samples import memory, plain

BATCH_COUNT = 6
ROWS_PER_BATCH = 3


class Stop(Exception):
    """Stands for the process ending at one file operation."""


class Recording(Files):
    """Records every sync and rename, and stops before the one numbered `stop_at`."""

    def __init__(self, stop_at: int = -1) -> None:
        self.steps: list[str] = []
        self.stop_at = stop_at

    def step(self, name: str) -> None:
        if len(self.steps) == self.stop_at:
            raise Stop
        self.steps.append(name)

    def sync_file(self, path: Path) -> None:
        self.step(f"sync {path.name}")
        super().sync_file(path)

    def sync_directory(self, path: Path) -> None:
        self.step("sync directory")
        super().sync_directory(path)

    def rename(self, source: Path, target: Path) -> None:
        self.step(f"rename {source.name} to {target.name}")
        super().rename(source, target)


def open_store(data_dir: Path, files: Files | None = None) -> DuckDBStore:
    return DuckDBStore(data_dir, DuckDBOptions(1, "test", files=files or Files()))


def batch(revision: int) -> WriteBatch:
    first = revision * ROWS_PER_BATCH
    rows = [memory(first + number, revision) for number in range(ROWS_PER_BATCH)]
    return WriteBatch("acme", revision, tuple(rows))


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int], list[StoredMemory]]:
    """A directory with a live log, the log's size after each batch, and all rows."""
    root = tmp_path_factory.mktemp("crashed")
    store = open_store(root / "live")
    sizes = []
    for revision in range(1, BATCH_COUNT + 1):
        store.write(batch(revision))
        sizes.append(wal_path(root / "live" / DATABASE_NAME).stat().st_size)
    shutil.copytree(root / "live", root / "copy")
    rows = list(store.load())
    store.close()
    return root / "copy", sizes, rows


def damaged(crashed_dir: Path, tmp_path: Path, log: bytes) -> Path:
    data_dir = tmp_path / "data"
    shutil.copytree(crashed_dir, data_dir)
    wal_path(data_dir / DATABASE_NAME).write_bytes(log)
    return data_dir


def test_creation_syncs_before_and_after_the_rename(tmp_path: Path) -> None:
    """A new database is synced, renamed, and its name synced, in that order."""
    files = Recording()
    open_store(tmp_path, files).close()
    new = f"{DATABASE_NAME}.new"
    assert files.steps[:3] == [f"sync {new}", f"rename {new} to {DATABASE_NAME}", "sync directory"]


@pytest.mark.parametrize("stop_at", range(4))
def test_an_interrupted_creation_starts_over(tmp_path: Path, stop_at: int) -> None:
    """Stopped before any of its file operations, a creation is completed by the next start."""
    with pytest.raises(Stop):
        open_store(tmp_path, Recording(stop_at))
    store = open_store(tmp_path)
    store.write(batch(1))
    assert store.check() == []
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_NAME]


def test_leftovers_of_a_creation_are_removed_and_reported(tmp_path: Path) -> None:
    """Half-written files of an interrupted creation are removed by name, and reported."""
    names = (f"{DATABASE_NAME}.new", f"{DATABASE_NAME}.new.wal")
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    store = open_store(tmp_path)
    assert store.recovery.leftover_names == names
    store.close()


def test_a_log_without_its_database_is_refused(tmp_path: Path) -> None:
    """A missing database beside its log is an error, not a reason to create an empty one."""
    wal_path(tmp_path / DATABASE_NAME).write_bytes(b"rows")
    with pytest.raises(Corrupt, match=DATABASE_NAME):
        open_store(tmp_path)
    assert not (tmp_path / DATABASE_NAME).exists()


def test_the_log_is_replayed(crashed: tuple, tmp_path: Path) -> None:
    """After a kill every row comes back from the log, and nothing is reported."""
    crashed_dir, _, rows = crashed
    data_dir = tmp_path / "data"
    shutil.copytree(crashed_dir, data_dir)
    store = open_store(data_dir)
    assert [plain(m) for m in store.load()] == [plain(m) for m in rows]
    assert store.recovery.wal_copy is None
    assert not store.recovery.created
    store.close()


@pytest.mark.parametrize("tail", [bytes(1), bytes(4_096), b"junk" * 100])
def test_what_follows_a_whole_log_costs_nothing(
    crashed: tuple, tmp_path: Path, tail: bytes
) -> None:
    """Zeros or junk after a whole log cost no row, and the next write survives behind them."""
    crashed_dir, _, rows = crashed
    log = wal_path(crashed_dir / DATABASE_NAME).read_bytes()
    data_dir = damaged(crashed_dir, tmp_path, log + tail)
    store = open_store(data_dir)
    assert [plain(m) for m in store.load()] == [plain(m) for m in rows]
    store.write(batch(BATCH_COUNT + 1))
    shutil.copytree(data_dir, tmp_path / "again")
    store.close()
    store = open_store(tmp_path / "again")
    assert len(list(store.load())) == len(rows) + ROWS_PER_BATCH
    store.close()


def test_the_log_is_kept_before_its_zeros_are_cut(crashed: tuple, tmp_path: Path) -> None:
    """A log that ends in the zeros of a lost record is copied aside, cut, and reported."""
    crashed_dir, sizes, _ = crashed
    log = wal_path(crashed_dir / DATABASE_NAME).read_bytes()
    cut = (sizes[-2] + sizes[-1]) // 2
    zeroed = log[:cut] + bytes(len(log) - cut)
    data_dir = damaged(crashed_dir, tmp_path, zeroed)
    store = open_store(data_dir)
    assert store.recovery.wal_copy == data_dir / f"{DATABASE_NAME}.wal.damaged-1"
    assert store.recovery.wal_copy.read_bytes() == zeroed
    assert store.recovery.wal_cut_bytes == len(zeroed) - len(zeroed.rstrip(b"\0"))
    store.close()


def test_a_zero_filled_tail_costs_only_the_unfinished_batches(
    crashed: tuple, tmp_path: Path
) -> None:
    """With the log zeroed from any point on, every batch that ended before it is there, whole."""
    crashed_dir, sizes, rows = crashed
    log = wal_path(crashed_dir / DATABASE_NAME).read_bytes()
    choose = random.Random(1)
    for number in range(12):
        cut = choose.randrange(sizes[0], len(log))
        data_dir = damaged(crashed_dir, tmp_path / str(number), log[:cut] + bytes(len(log) - cut))
        store = open_store(data_dir)
        whole = sum(size <= cut for size in sizes)
        kept = [plain(m) for m in store.load()]
        assert kept == [plain(m) for m in rows[: whole * ROWS_PER_BATCH]]
        assert store.revisions() == {"acme": whole}
        store.write(batch(BATCH_COUNT + 1))
        assert store.check() == []
        store.close()


def test_a_cut_log_costs_only_the_unfinished_batches(crashed: tuple, tmp_path: Path) -> None:
    """With the log cut at any byte, every batch that ended before it is there, whole."""
    crashed_dir, sizes, rows = crashed
    log = wal_path(crashed_dir / DATABASE_NAME).read_bytes()
    choose = random.Random(2)
    for number in range(12):
        cut = choose.randrange(sizes[0], len(log))
        store = open_store(damaged(crashed_dir, tmp_path / str(number), log[:cut]))
        whole = sum(size <= cut for size in sizes)
        assert [plain(m) for m in store.load()] == [
            plain(m) for m in rows[: whole * ROWS_PER_BATCH]
        ]
        store.close()


def test_a_changed_byte_in_the_log_is_refused(crashed: tuple, tmp_path: Path) -> None:
    """A flipped bit inside a record is Corrupt, and both files stay as they were."""
    crashed_dir, sizes, _ = crashed
    log = bytearray(wal_path(crashed_dir / DATABASE_NAME).read_bytes())
    log[(sizes[0] + sizes[1]) // 2] ^= 1
    data_dir = damaged(crashed_dir, tmp_path, bytes(log))
    before = {path.name: path.read_bytes() for path in data_dir.iterdir()}
    with pytest.raises(Corrupt):
        open_store(data_dir)
    assert {path.name: path.read_bytes() for path in data_dir.iterdir()} == before


def test_a_changed_byte_in_the_database_is_found(tmp_path: Path) -> None:
    """A flipped bit where rows lie is Corrupt at opening or loading, and check reports it."""
    source = tmp_path / "source"
    store = open_store(source)
    store.write(WriteBatch("acme", 1, tuple(memory(label, 1) for label in range(1, 1_001))))
    store.close()
    content = (source / DATABASE_NAME).read_bytes()
    position = content.index(b"memory 500")
    choose = random.Random(3)
    for offset in (0, *(choose.randrange(-2_000, 2_000) for _ in range(5))):
        flipped = bytearray(content)
        flipped[position + offset] ^= 4
        data_dir = tmp_path / f"flipped{offset}"
        data_dir.mkdir()
        (data_dir / DATABASE_NAME).write_bytes(flipped)
        with pytest.raises(Corrupt, match=DATABASE_NAME):
            store = open_store(data_dir)
            try:
                assert store.check() != []
                list(store.load())
            finally:
                store.close()


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    """A file that is no database is Corrupt and stays as it was."""
    (tmp_path / DATABASE_NAME).write_bytes(b"something else" * 1_000)
    with pytest.raises(Corrupt):
        open_store(tmp_path)
    assert (tmp_path / DATABASE_NAME).read_bytes() == b"something else" * 1_000
