"""Opening a store to be read only."""

from __future__ import annotations

import errno
import gzip
import shutil
from pathlib import Path

import pytest

from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.errors import Corrupt, FileRefused, StoreFailed, StoreFull, StoreReadOnly
from recalld.storage.lock import LOCK_FILE_NAME, DirectoryLock
from recalld.storage.read_only import ReadOnlyStore, open_store
from recalld.storage.store import WriteBatch
from tests.storage import kept
from tests.storage.faults import FailingFiles, small_disk
from tests.storage.samples import memory, plain
from tests.tidy.tree import ROOT


def write(data_dir: Path, revision: int) -> None:
    """One more batch; the store is left as a kill would leave it."""
    store = kept.open_store(data_dir / "live")
    store.write(WriteBatch("acme", revision, (memory(revision, revision),)))
    shutil.copytree(data_dir / "live", data_dir / "killed", dirs_exist_ok=True)
    store.close()


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A directory whose newest rows are in the log only."""
    write(tmp_path, 1)
    write(tmp_path, 2)
    return tmp_path / "killed"


def test_everything_acknowledged_is_read_and_nothing_written(killed: Path) -> None:
    """Rows of the log are read, every kind of write is refused with the reason, no file changes."""
    before = {path: path.read_bytes() for path in killed.iterdir()}
    store = ReadOnlyStore(killed, kept.options(), "the disk is full")
    assert [plain(row) for row in store.load()] == [
        plain(memory(1, 1)),
        plain(memory(2, 2)),
    ]
    assert store.revisions() == {"acme": 2}
    assert store.check() == []
    for write_to in (
        lambda: store.write(WriteBatch("acme", 3, (memory(3, 3),))),
        lambda: store.prune_requests(1),
        store.checkpoint,
        store.rewrite,
        lambda: store.copy_to(killed / "copy"),
    ):
        with pytest.raises(StoreReadOnly, match="the disk is full"):
            write_to()
    store.close()
    assert {path: path.read_bytes() for path in killed.iterdir()} == before


def test_a_writable_directory_is_opened_for_writing(killed: Path) -> None:
    """Without a fault nothing is read-only."""
    store = open_store(killed, kept.options())
    assert store.read_only_reason == ""
    store.close()


def test_a_read_only_volume(tmp_path: Path) -> None:
    """A volume that turned read-only is locked and read; a second holder is still refused."""
    with small_disk(tmp_path / "disk") as disk:
        write(tmp_path, 1)
        for file in (tmp_path / "killed").iterdir():
            shutil.copy(file, disk.path)
        disk.remount("ro")
        assert not (disk.path / LOCK_FILE_NAME).exists()
        with DirectoryLock(disk.path, listen_address="a", now_us=1):
            with pytest.raises(Exception, match="in use by another process"):
                DirectoryLock(disk.path, listen_address="b", now_us=1)
            store = open_store(disk.path, kept.options())
            assert "Read-only file system" in store.read_only_reason
            assert DATABASE_NAME in store.read_only_reason
            assert len(list(store.load())) == 1
            store.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """On a full disk a write fails, reads go on, a restart serves, and with room all is there."""
    with small_disk(tmp_path / "disk") as disk:
        store = kept.open_store(disk.path)
        store.write(WriteBatch("acme", 1, (memory(1, 1),)))
        disk.fill()
        with pytest.raises(StoreFailed):
            for revision in range(2, 100):
                rows = tuple(memory(revision * 100 + n, revision) for n in range(100))
                store.write(WriteBatch("acme", revision, rows))
        acknowledged = store.revisions()["acme"]
        store.close()
        with DirectoryLock(disk.path, listen_address="a", now_us=1):
            store = open_store(disk.path, kept.options())
            assert store.revisions() == {"acme": acknowledged}
            store.close()
        disk.free()
        store = open_store(disk.path, kept.options())
        assert store.revisions() == {"acme": acknowledged}
        assert store.check() == []
        store.write(WriteBatch("acme", acknowledged + 1, (memory(99_999, acknowledged + 1),)))
        store.close()


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_writing_goes_on_by_itself_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checkpoint: bool
) -> None:
    """A disk that is full at a commit or a checkpoint: reads go on, what was refused is not there,
    and writes succeed again, without reopening, once there is room."""
    monkeypatch.setattr(StoreFull, "retry_after_s", 0.0)
    with small_disk(tmp_path / "disk") as disk:
        store = kept.open_store(disk.path)
        tried = done = 0

        def write() -> None:
            nonlocal tried, done
            tried += 1
            rows = tuple(memory(tried * 100 + n, tried) for n in range(100))
            store.write(WriteBatch("acme", tried, rows))
            done += 1

        write()
        disk.fill()
        with pytest.raises(StoreFull, match="No space left on device"):
            if is_checkpoint:
                store.checkpoint()
            while True:
                write()
        for _ in range(3):
            with pytest.raises(StoreFull, match="No space left on device"):
                write()
            assert len(list(store.load())) == 100 * done
        disk.free()
        assert len(list(store.load())) == 100 * done
        write()
        store.checkpoint()
        assert store.check() == []
        store.close()
        store = kept.open_store(disk.path)
        assert len(list(store.load())) == 100 * done
        assert store.revisions() == {"acme": tried}
        store.close()


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    """An old format that cannot be raised for lack of room is refused as that, and unchanged."""
    old = next((ROOT / "tests/golden/formats/v1").glob("*.gz"))
    with small_disk(tmp_path / "disk") as disk:
        path = disk.path / DATABASE_NAME
        path.write_bytes(gzip.decompress(old.read_bytes()))
        disk.fill()
        with pytest.raises(FileRefused, match="No space left on device") as refused:
            open_store(disk.path, kept.options())
        assert "format version 1 must be raised" in str(refused.value)
        disk.free()
        open_store(disk.path, kept.options()).close()


def test_a_new_directory_on_a_full_disk(tmp_path: Path) -> None:
    """Where there is nothing to read yet, the refusal names the file and the cause."""
    with small_disk(tmp_path / "disk") as disk:
        disk.fill()
        with pytest.raises(FileRefused, match=rf"{DATABASE_NAME}.*No space left on device"):
            open_store(disk.path, kept.options())


def test_damage_is_never_served_read_only(killed: Path) -> None:
    """A log that is damaged inside is refused, whatever could still be read without it."""
    log = bytearray(wal_path(killed / DATABASE_NAME).read_bytes())
    log[len(log) // 2] ^= 1
    wal_path(killed / DATABASE_NAME).write_bytes(log)
    with pytest.raises(Corrupt, match=DATABASE_NAME):
        open_store(killed, kept.options())


def test_a_failing_disk_is_not_trusted(killed: Path) -> None:
    """EIO while opening is refused, not served read-only; ENOSPC is served."""
    with pytest.raises(OSError, match="Input/output error"):
        open_store(killed, kept.options(FailingFiles(0, errno.EIO)))
    store = open_store(killed, kept.options(FailingFiles(0, errno.ENOSPC)))
    assert "No space left on device" in store.read_only_reason
    store.close()
