"""Copies of an open database, and the exchange of its file under readers."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from recalld.storage import duckdb_file
from recalld.storage.database_file import copy_paths, wal_path
from recalld.storage.duckdb_file import DuckDBFile
from recalld.storage.errors import CopyFailed, Corrupt, StoreClosed

CONNECT = partial(duckdb_file.connect, memory_limit_bytes=64 * 1024 * 1024)
ROW_COUNT = 5_000


@pytest.fixture
def file(tmp_path: Path) -> Iterator[DuckDBFile]:
    path = tmp_path / "a 'b.duckdb"  # A quote in the path is data, not SQL.
    opened = DuckDBFile(path, CONNECT(path), CONNECT)
    opened.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
    opened.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, text VARCHAR NOT NULL)")
    opened.execute(f"INSERT INTO t SELECT i, 'row ' || i FROM range({ROW_COUNT}) s(i)")
    yield opened
    opened.close()


def count(file: DuckDBFile) -> int:
    return int(file.rows("SELECT count(*) FROM t")[0][0])


def test_a_copy_holds_everything_and_its_keys(file: DuckDBFile, tmp_path: Path) -> None:
    """A copy has all rows and constraints in one file without a log, and counts as a copy."""
    target, _ = copy_paths(tmp_path / "a 'b.duckdb")
    file.copy_to(target)
    assert not wal_path(target).exists()
    copy = DuckDBFile(target, CONNECT(target), CONNECT)
    assert copy.rows("SELECT * FROM t ORDER BY n") == file.rows("SELECT * FROM t ORDER BY n")
    sql = "SELECT table_name, constraint_type FROM duckdb_constraints() ORDER BY ALL"
    assert copy.rows(sql) == file.rows(sql)
    assert copy.rows("SELECT value FROM meta WHERE key = 'copy_count'") == [("1",)]
    assert file.rows("SELECT value FROM meta") == []
    copy.close()


def test_a_copy_needs_little_memory(tmp_path: Path) -> None:
    """Under the least limit that a server takes, rows of more than that are copied: they are not
    held as the 122,880 that DuckDB makes a group of."""
    path, row_count = tmp_path / "wide.duckdb", 100_000
    roomy = partial(duckdb_file.connect, memory_limit_bytes=512 * 1024 * 1024)
    wide = DuckDBFile(path, roomy(path), roomy)
    wide.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
    wide.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, text VARCHAR NOT NULL)")
    wide.execute(
        f"INSERT INTO t SELECT i, repeat(md5(i::VARCHAR), 50) FROM range({row_count}) s(i)"
    )
    wide.close()
    narrow = DuckDBFile(path, CONNECT(path), CONNECT)
    target, _ = copy_paths(path)
    narrow.copy_to(target)
    narrow.close()
    copy = DuckDBFile(target, CONNECT(target), CONNECT)
    assert count(copy) == row_count
    copy.close()


def test_a_copy_is_of_one_moment(file: DuckDBFile, tmp_path: Path) -> None:
    """A copy made while somebody writes holds a prefix of the writes."""
    _, target = copy_paths(tmp_path / "a 'b.duckdb")
    stop = threading.Event()
    written = [ROW_COUNT]

    def write() -> None:
        while not stop.is_set():
            file.execute("INSERT INTO t VALUES (?, 'late')", [written[0]])
            written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    before = written[0]
    file.copy_to(target)
    stop.set()
    writer.join()
    copy = DuckDBFile(target, CONNECT(target), CONNECT)
    found = [n for (n,) in copy.rows("SELECT n FROM t ORDER BY n")]
    copy.close()
    assert found == list(range(len(found)))
    assert before <= len(found) <= written[0]


def test_an_exchange_leaves_removed_rows_behind(file: DuckDBFile, tmp_path: Path) -> None:
    """After the exchange the bytes of removed rows are gone, and reads and writes go on."""
    path = tmp_path / "a 'b.duckdb"
    file.execute("INSERT INTO t VALUES (-1, 'a marker that is nowhere else')")
    file.execute("CHECKPOINT")
    file.execute("DELETE FROM t WHERE n = -1")
    assert b"a marker that is nowhere else" in path.read_bytes()
    target, _ = copy_paths(path)
    file.copy_to(target)
    file.exchange(lambda: target.rename(path) and None)
    assert b"a marker that is nowhere else" not in path.read_bytes()
    file.execute("INSERT INTO t VALUES (-2, 'new')")
    assert count(file) == ROW_COUNT + 1
    file.execute("CHECKPOINT")
    assert b"new" in path.read_bytes()


def test_rows_are_appended_to_the_file_in_place(file: DuckDBFile, tmp_path: Path) -> None:
    """Rows handed over whole stand in the file that is open, also behind an exchange."""
    path = tmp_path / "a 'b.duckdb"
    target, _ = copy_paths(path)
    file.append("t", ("text", "n"), [("it's", -1), ("", -2)])
    file.copy_to(target)
    file.exchange(lambda: target.rename(path) and None)
    file.append("t", ("text", "n"), iter([("新", -3)]))
    file.execute("CHECKPOINT")
    file.close()
    again = DuckDBFile(path, CONNECT(path), CONNECT)
    found = again.rows("SELECT n, text FROM t WHERE n < 0 ORDER BY n")
    again.close()
    assert found == [(-3, "新"), (-2, ""), (-1, "it's")]


def test_readers_wait_for_an_exchange(file: DuckDBFile, tmp_path: Path) -> None:
    """Reads from other threads all succeed while the file is exchanged again and again."""
    path = tmp_path / "a 'b.duckdb"
    target, _ = copy_paths(path)
    stop = threading.Event()
    found: list[int] = []

    def read() -> None:
        while not stop.is_set():
            found.append(count(file))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(3):
        file.copy_to(target)
        file.exchange(lambda: target.rename(path) and None)
    stop.set()
    for reader in readers:
        reader.join()
    assert set(found) == {ROW_COUNT}


def test_a_failed_exchange_opens_what_is_there(file: DuckDBFile, tmp_path: Path) -> None:
    """When nothing was put in place the old file goes on, and the failure is told."""

    def fail() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        file.exchange(fail)
    assert count(file) == ROW_COUNT
    file.execute("INSERT INTO t VALUES (-1, 'x')")
    assert count(file) == ROW_COUNT + 1


def test_an_exchange_for_the_same_file_is_noticed(file: DuckDBFile) -> None:
    """A file that is not a fresh copy is never taken for one."""
    with pytest.raises(Corrupt, match="not the one put in place"):
        file.exchange(lambda: None)


def test_a_copy_without_room_leaves_nothing(file: DuckDBFile, tmp_path: Path) -> None:
    """A copy that cannot be written is CopyFailed with the cause; the database goes on."""
    target, _ = copy_paths(tmp_path / "a 'b.duckdb")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, usual[1]))  # As a full disk would.
    try:
        with pytest.raises(CopyFailed, match=r"new: could not be written"):
            file.copy_to(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(target.name)] == []
    file.copy_to(target)
    assert count(file) == ROW_COUNT


def test_a_closed_file_is_told(file: DuckDBFile) -> None:
    """After closing a read raises StoreClosed."""
    file.close()
    with pytest.raises(StoreClosed):
        count(file)
