"""One open DuckDB file: its connection, its readers, copies of it, and an exchange of the file.

The only module that imports duckdb. It knows no table, never repairs silently, never downloads an
extension, never spills rows into temporary files, and reaches no file but the one it has open and
the two beside it that copies are made in (`copy_paths`).

Invariants: the connection itself is used by one thread (the writer's); reads use a short-lived
cursor each and fetch all they asked for, since an unfinished fetch can block a checkpoint; while
the file is exchanged no read runs, and afterwards all of them see the new one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from recalld.storage import background
from recalld.storage.database_file import WAL_SUFFIX, copy_paths, wal_path
from recalld.storage.errors import (
    CopyFailed,
    Corrupt,
    DirectoryLocked,
    FileRefused,
    StorageError,
    StoreClosed,
)
from recalld.storage.lock import read_holder
from recalld.storage.readers import Readers

VERSION: str = duckdb.__version__
CHECKPOINT_THRESHOLD = "16MiB"
# Commits and checkpoints gain nothing from a second thread, and recall wants the cores.
THREAD_COUNT = 1
COPY_COUNT_KEY = "copy_count"
"""Row of the table meta that counts how often the database was copied into a fresh file."""

# What DuckDB names the files of a database: itself, its log, and two beside the log.
_FILE_ENDS = ("", WAL_SUFFIX, f"{WAL_SUFFIX}.checkpoint", f"{WAL_SUFFIX}.recovery")
# DuckDB tells the system's refusals in the system's words only; they say nothing of the data.
_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES),
    *(errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE),
)
_COUNT_COPY = (
    "INSERT OR REPLACE INTO copied.meta SELECT '" + COPY_COUNT_KEY + "', "
    "coalesce(max(value::BIGINT), 0) + 1 FROM copied.meta WHERE key = '" + COPY_COUNT_KEY + "'"
)

# Of a copy: DuckDB holds a group in memory until it is full, of its own 122,880 rows over 190 MB.
_COPIED_AS = "(ROW_GROUP_SIZE 16384)"

Connection = duckdb.DuckDBPyConnection
Connect = Callable[[Path], Connection]


class DuckDBFile:
    """An open database file, at which `readers` are; a `queries.Reader`, a `migrate.Connection`."""

    def __init__(self, path: Path, connection: Connection, connect: Connect) -> None:
        """Takes over an open connection.

        Args:
            path: the file.
            connection: open on it.
            connect: opens such a file again, after an exchange.
        """
        self._path = path
        self._connection = connection
        self._connect = connect
        self.readers = Readers()
        self._is_open = True
        self._appenders: dict[str, duckdb.Appender] = {}
        with translated(path):
            self._root = connection.cursor()

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Any:
        """Runs statements on the connection itself; for the writer's thread only."""
        with translated(self._path):
            return self._connection.execute(sql, parameters)

    def append(
        self, table: str, columns: Sequence[str], values: Iterable[Sequence[object]]
    ) -> None:
        """Adds rows to a table; for the writer's thread only, inside its transaction.

        An appender is kept for each table: to make one costs as much as a statement.

        Args:
            table: its name.
            columns: names of those given, in the order of each row's values.
            values: the rows.
        """
        with translated(self._path):
            appender = self._appenders.get(table)
            if appender is None:
                appender = self._connection.appender(table, columns=list(columns))
                self._appenders[table] = appender
            self._connection.complete()  # A result that is not read to its end would be in the way.
            appender.append_rows(values)
            appender.flush()

    def require_open(self) -> None:
        """Raises StoreClosed after closing."""
        if not self._is_open:
            raise StoreClosed("the store is closed")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """See `queries.Reader.rows`."""
        with self._cursor() as cursor:
            return _selected(cursor, sql, parameters).fetchall()

    def arrays(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """See `queries.Reader.arrays`."""
        with self._cursor() as cursor:
            return _selected(cursor, sql, parameters).fetchnumpy()

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, list[Any]]:
        """See `queries.Reader.columns`."""
        arrays = self.arrays(sql, parameters)
        # Masked arrays (columns with NULL) give None for what is masked.
        return {name: array.tolist() for name, array in arrays.items()}

    def copy_to(self, target: Path) -> None:
        """Copies the database, as of one moment, into a fresh file that holds nothing else.

        Writers go on meanwhile, and calls come first. The file is complete but not synced.

        Args:
            target: one of `copy_paths`; there is none yet.

        Raises:
            CopyFailed: it could not be written, as on a full disk; nothing of it stays.
        """
        assert target in copy_paths(self._path)
        assert not target.exists()
        try:
            background.stepped_back(partial(self._copy_to, target))
            if wal_path(target).exists():
                raise CopyFailed(target, "its log was not moved into it")
        except StorageError as error:
            for end in _FILE_ENDS:
                target.with_name(target.name + end).unlink(missing_ok=True)
            if isinstance(error.__cause__, duckdb.Error):
                raise CopyFailed(target, str(error.__cause__)) from error
            raise

    def _copy_to(self, target: Path) -> None:
        with self._cursor() as cursor:
            (source,) = cursor.execute("SELECT current_database()").fetchone() or ("",)
            cursor.execute(f"ATTACH {_text(target.resolve())} AS copied {_COPIED_AS}")
            try:
                cursor.execute(f"COPY FROM DATABASE {_name(source)} TO copied; {_COUNT_COPY}")
            finally:
                cursor.execute("DETACH copied")

    def exchange(self, place: Callable[[], None]) -> None:
        """Closes the file, has another one put in its place, and opens that.

        Only on the writer's thread. When `place` fails, what is there is opened again.

        Args:
            place: puts a copy made by `copy_to` where this file is; only renames and syncs.

        Raises:
            StorageError: the file could not be closed cleanly; it goes on being used.
            Corrupt, OSError: the present state cannot be opened any more; all use fails.
        """
        failures: list[Exception] = []

        def put() -> None:
            try:
                if wal_path(self._path).exists():
                    raise StorageError(f"{self._path}: its log is still there after a checkpoint")
                place()
            except Exception as error:
                failures.append(error)

        with self.readers.nobody():
            before = self._copy_count()
            self.execute("FORCE CHECKPOINT")
            self._reopen(put)
            if failures:
                raise failures[0]
            if self._copy_count() != before + 1:
                # A forgotten cursor would keep the old file open, and writes would go into it.
                raise Corrupt(self._path, "the file opened is not the one put in place")

    def reopen(self, meanwhile: Callable[[], None]) -> None:
        """Closes the file, runs `meanwhile`, and opens it again; only on the writer's thread.

        Raises:
            Corrupt, OSError, FileRefused: it does not open; until it does, reads are StoreClosed.
        """
        with self.readers.nobody():
            self._reopen(meanwhile)

    def close(self) -> None:
        """Ends reading and releases the file; waits for reads at work."""
        with self.readers.nobody():
            self._is_open = False
            self._close()

    def _reopen(self, meanwhile: Callable[[], None]) -> None:
        self._is_open = False
        self._close()
        meanwhile()
        self._connection = self._connect(self._path)
        with translated(self._path):
            self._root = self._connection.cursor()
        self._is_open = True

    def _close(self) -> None:
        """Lets go of the file: whatever still holds a connection keeps it open."""
        self._appenders.clear()
        self._root.close()
        self._connection.close()

    def _copy_count(self) -> int:
        sql = "SELECT value FROM meta WHERE key = ?"
        row = self._connection.execute(sql, [COPY_COUNT_KEY]).fetchone()
        return 0 if row is None else int(row[0])

    @contextmanager
    def _cursor(self) -> Iterator[Connection]:
        reading = self.readers.reading(self.require_open)
        with translated(self._path), reading, self._root.cursor() as cursor:
            yield cursor


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns DuckDB's errors into those of this layer."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StorageError(f"{path}: memory_limit_bytes is too small: {error}") from error
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise DirectoryLocked(path.parent, read_holder(path.parent)) from error
        for number in _REFUSALS:
            if os.strerror(number) in str(error):
                raise FileRefused(path, number, str(error)) from error
        raise Corrupt(path, str(error)) from error


def connect(path: Path, *, memory_limit_bytes: int, read_only: bool = False) -> Connection:
    """Opens a file, creating it when missing, with everything shut that this product needs not.

    Args:
        path: the file.
        memory_limit_bytes: for DuckDB's buffers.
        read_only: refuse to change it.

    Raises:
        Corrupt, FileRefused, DirectoryLocked, StorageError: it does not open.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_limit_bytes}B",
        "checkpoint_threshold": CHECKPOINT_THRESHOLD,
        "threads": THREAD_COUNT,
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with translated(path):
        connection = duckdb.connect(str(path), config=config, read_only=read_only)
        # Afterwards: once these hold, the settings above are refused.
        allowed = (str(copy.resolve()) + end for copy in copy_paths(path) for end in _FILE_ENDS)
        texts = ", ".join(_text(Path(file)) for file in allowed)
        connection.execute(f"SET allowed_paths = [{texts}]; SET enable_external_access = false")
        # The limit stays open to the block cache, and to no read.
        connection.execute("SET allowed_configs = ['memory_limit']; SET lock_configuration = true")
    return connection


def _selected(cursor: Connection, sql: str, parameters: Sequence[object]) -> Connection:
    """The result of one SELECT; a read is nothing else, not even a setting."""
    statements = cursor.extract_statements(sql)
    if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
        raise duckdb.InvalidInputException("a read is one SELECT")
    return cursor.execute(statements[0], parameters)


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'
