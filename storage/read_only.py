"""Opens a store to be read only where its files are whole but cannot be written.

A full disk, a read-only volume or files of another user are no reason to leave an agent without
its memories: they are served, and writes are refused with the cause. Damage is another matter: a
database that does not open is refused, because what would be served might lack acknowledged
writes. It never changes a file.

Invariants: what is served is everything acknowledged, the log included, which DuckDB replays in
memory; two processes never hold the directory, whether they read or write.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NoReturn

from recalld.storage import duckdb_file, migrate
from recalld.storage.database_file import DATABASE_NAME, RecoveryReport
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import Corrupt, FileRefused, FormatTooNew, StorageError, StoreReadOnly
from recalld.storage.lock import UNWRITABLE_ERRNOS
from recalld.storage.snapshots import SnapshotFolder
from recalld.storage.store import WriteBatch
from recalld.storage.writer import BatchWriter


class RefusingWriter:
    """A `BatchWriter` that takes nothing."""

    waiting_row_count = 0

    def __init__(self, reason: str) -> None:
        """Args: reason: why; told to every caller."""
        self._reason = reason

    def submit(self, batch: WriteBatch) -> Future[None]:
        """Raises StoreReadOnly."""
        self._refuse()

    def run(self, job: Callable[[], Any]) -> Future[Any]:
        """Raises StoreReadOnly."""
        self._refuse()

    def close(self) -> None:
        """Has nothing to finish."""

    def _refuse(self) -> NoReturn:
        raise StoreReadOnly(f"the store was opened to be read only: {self._reason}")


class ReadOnlyStore(DuckDBStore):
    """A `Store` whose writes all raise StoreReadOnly."""

    def __init__(self, data_dir: Path, options: DuckDBOptions, reason: str) -> None:
        """Opens an existing database.

        Args:
            data_dir: the caller holds its `DirectoryLock`.
            options: see there.
            reason: why it is not opened for writing; not empty.

        Raises:
            Corrupt, FileRefused, FormatTooNew, DirectoryLocked: it cannot be read as it is.
        """
        assert reason
        self.read_only_reason = reason
        self._memory_limit_bytes = options.memory_limit_bytes
        super().__init__(data_dir, options)

    def copy_to(self, target: Path) -> None:
        """Raises StoreReadOnly."""
        self._run(lambda: None)

    def _open(
        self, data_dir: Path, connect: duckdb_file.Connect, meta: dict[str, str]
    ) -> tuple[duckdb_file.Connection, RecoveryReport]:
        path = data_dir / DATABASE_NAME
        connection = duckdb_file.connect(
            path, memory_limit_bytes=self._memory_limit_bytes, read_only=True
        )
        try:
            version, supported = migrate.read_version(connection, path), migrate.FORMAT_VERSION
            if version > supported:
                raise FormatTooNew(path, version, supported)
            if version < supported:
                text = f"format version {version} must be raised to {supported} by writing"
                raise FileRefused(path, errno.EROFS, text)
        except BaseException:
            connection.close()
            raise
        return connection, RecoveryReport()

    def _start_writer(self) -> BatchWriter:
        return RefusingWriter(self.read_only_reason)


def open_store(data_dir: Path, options: DuckDBOptions) -> DuckDBStore:
    """Opens or creates the store; where it cannot be written but read, to be read only.

    Raises:
        Corrupt, FormatTooNew, DirectoryLocked: see `DuckDBStore`; also when snapshots tell that
            there was a database and there is none.
        FileRefused, OSError: it can neither be written nor read, or there is nothing to read yet.
    """
    if not (data_dir / DATABASE_NAME).exists() and SnapshotFolder(data_dir, options).listed():
        text = "missing, though its snapshots are there; `recalld restore` brings one back"
        raise Corrupt(data_dir / DATABASE_NAME, text)
    try:
        return DuckDBStore(data_dir, options)
    except (OSError, FileRefused) as error:
        path = data_dir / DATABASE_NAME
        # EIO is not among them: what such a disk still gives is not trusted.
        if error.errno not in UNWRITABLE_ERRNOS or not path.exists():
            raise
        try:
            return ReadOnlyStore(data_dir, options, str(error))
        except StorageError as second:
            text = f"it can neither be written ({error}) nor read as it is ({second})"
            raise FileRefused(path, error.errno or 0, text) from second
