"""The DuckDB backend of `Store`: one file and its log in the data directory.

The only module that imports duckdb. All SQL is parameterised. It never repairs silently (see
`RecoveryReport`), never empties a damaged database, never downloads an extension, and never
spills rows into temporary files.

Invariants: one thread writes (`GroupWriter`); each group is one transaction; a future resolves
after COMMIT has synced the log, and the directory when the log is a new file. Reads use a
short-lived cursor each and fetch all they asked for: an unfinished fetch can block a checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from recalld.storage import commands, database_file, rules, sealed, traces
from recalld.storage.counters import Counters
from recalld.storage.database_file import size_bytes
from recalld.storage.errors import Corrupt, DirectoryLocked, StorageError, StoreClosed, StoreFailed
from recalld.storage.fsio import Files
from recalld.storage.lock import read_holder
from recalld.storage.queries import Queries
from recalld.storage.requests import REQUEST_BYTES_MAX, REQUEST_COUNT_MAX, RecentRequests
from recalld.storage.store import Partition, StoredMemory, StoredRequest, StoreStats, WriteBatch
from recalld.storage.writer import GroupWriter

MEMORY_LIMIT_BYTES = 512 * 1024 * 1024
CHECKPOINT_THRESHOLD = "16MiB"
# Commits and checkpoints gain nothing from a second thread, and recall wants the cores.
THREAD_COUNT = 1

_LOCKED_MESSAGE = "Could not set lock"


@dataclass(frozen=True, slots=True)
class DuckDBOptions:
    """How to open the store.

    Attributes:
        now_us: creation time of a new database, microseconds since the epoch.
        created_by: version of the program, kept in a new database.
        memory_limit_bytes: for DuckDB's buffers, >= 64 MiB.
        files: sync and rename.
        request_count_max, request_bytes_max: answers kept in memory; older ones are read from disk.
    """

    now_us: int
    created_by: str
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES
    files: Files = field(default_factory=Files)
    request_count_max: int = REQUEST_COUNT_MAX
    request_bytes_max: int = REQUEST_BYTES_MAX


class DuckDBStore:
    """`Store` on DuckDB; the contract says what it promises, `recovery` what opening did."""

    def __init__(self, data_dir: Path, options: DuckDBOptions) -> None:
        """Opens or creates the database and starts the writer thread.

        Args:
            data_dir: created when missing; the caller holds its `DirectoryLock`.
            options: see there.

        Raises:
            Corrupt, FormatTooNew, DirectoryLocked: the database cannot be used; it is unchanged.
            OSError: the file system refused.
        """
        self._path = data_dir / database_file.DATABASE_NAME
        self._wal_path = database_file.wal_path(self._path)
        self._files = options.files
        meta = {
            "created_by": options.created_by,
            "created_time_us": str(options.now_us),
            "created_with_duckdb": duckdb.__version__,
        }
        connect = partial(_connect, memory_limit_bytes=options.memory_limit_bytes)
        with _translated(self._path):
            self._connection, self.recovery = database_file.open_or_create(
                data_dir, connect, meta, self._files
            )
        self._state_lock = threading.Lock()
        self._closed = False
        self._commit_count = self._last_commit_us = 0
        self._recent = RecentRequests(options.request_count_max, options.request_bytes_max)
        try:
            self._reader = _Reader(self._connection, self._path)
            self._queries = Queries(self._reader, self._path)
            self._durable = self._queries.revisions()
            self._label_max = self._queries.label_max()
            self._counters = Counters(self._label_max, self._durable)
            self._queries.fill(self._recent)
        except BaseException:
            self._connection.close()
            raise
        self._wal_bytes = size_bytes(self._wal_path)
        self._writer = GroupWriter(self._commit)
        means = (self._connection, self._reader, self._writer.run, self._sync_new_wal)
        self.traces = traces.SqlTraces(*means)
        self.sealed = sealed.SqlSealed(*means)

    def submit(self, batch: WriteBatch) -> Future[None]:
        """See `Store.submit`."""
        rules.require_valid(batch)
        return self._counters.submit(batch, self._writer.submit)

    def write(self, batch: WriteBatch) -> None:
        """See `Store.write`."""
        self.submit(batch).result()

    def find_request(self, tenant: str, request_id: str) -> StoredRequest | None:
        """See `Store.find_request`; a dictionary look-up unless memory had to drop answers."""
        self._reader.require_open()
        if (found := self._recent.find(tenant, request_id)) or self._recent.complete:
            return found
        return self._queries.find_request(tenant, request_id)

    def prune_requests(self, before_us: int) -> int:
        """See `Store.prune_requests`."""
        return int(self._writer.run(lambda: self._prune_requests(before_us)).result())

    def load(self) -> Iterator[StoredMemory]:
        """See `Store.load`."""
        self._reader.require_open()
        return self._queries.load()

    def partitions(self) -> list[Partition]:
        """See `Store.partitions`; one scan."""
        return self._queries.partitions()

    def load_partition(self, tenant: str, user_id: str) -> list[StoredMemory]:
        """See `Store.load_partition`; a scan of two columns, then the rows."""
        return self._queries.load_partition(tenant, user_id)

    def revisions(self) -> dict[str, int]:
        """See `Store.revisions`."""
        self._reader.require_open()
        with self._state_lock:
            return dict(self._durable)

    def allocate_labels(self, count: int) -> range:
        """See `Store.allocate_labels`."""
        self._reader.require_open()
        return self._counters.allocate_labels(count)

    def stats(self) -> StoreStats:
        """See `Store.stats`."""
        row_count, request_count = self._queries.counts()
        return StoreStats(
            row_count=row_count,
            request_count=request_count,
            file_bytes=size_bytes(self._path),
            wal_bytes=size_bytes(self._wal_path),
            queue_row_count=self._writer.waiting_row_count,
            commit_count=self._commit_count,
            last_commit_us=self._last_commit_us,
        )

    def checkpoint(self) -> None:
        """See `Store.checkpoint`."""
        self._writer.run(self._checkpoint).result()

    def check(self) -> list[str]:
        """See `Store.check`; also compares the key index with the rows."""
        self._reader.require_open()
        lines: list[str] = []
        try:
            lines += self._queries.check_index() + self.traces.check() + self.sealed.check()
            requests, revisions = self._queries.requests(), self._queries.revisions
            lines += rules.store_violations(self._queries.load(), requests, revisions)
        except Corrupt as error:
            lines.append(str(error))
        return lines

    def close(self) -> None:
        """See `Store.close`."""
        with self._state_lock:
            if self._closed:
                return
            self._closed = True
        with suppress(StoreFailed):  # Closing is all that is left to do; the waiters were told.
            self._writer.run(self._checkpoint)
        self._writer.close()
        self._reader.close()
        self._connection.close()
        self._files.sync_directory(self._path.parent)

    def _commit(self, batches: Sequence[WriteBatch]) -> None:
        """Makes one group durable; runs on the writer's thread only."""
        start_ns = time.perf_counter_ns()
        self._connection.execute("BEGIN")
        applied = commands.apply_group(self._connection, batches, self._label_max, self._durable)
        self._connection.execute("COMMIT")
        self._sync_new_wal()
        requests, revisions, self._label_max = applied
        self._recent.add(requests)
        with self._state_lock:
            self._durable.update(revisions)
        self._commit_count += 1
        self._last_commit_us = (time.perf_counter_ns() - start_ns) // 1_000

    def _prune_requests(self, before_us: int) -> int:
        count = commands.prune_requests(self._connection, before_us)
        self._recent.prune(before_us)
        self._sync_new_wal()
        return count

    def _checkpoint(self) -> None:
        # Plain CHECKPOINT fails while a reader is at work; this one waits for it.
        self._connection.execute("FORCE CHECKPOINT")
        self._sync_new_wal()

    def _sync_new_wal(self) -> None:
        """Makes the log's name durable when it is a new file: DuckDB syncs only its content."""
        wal_bytes = size_bytes(self._wal_path)
        if wal_bytes and (not self._wal_bytes or wal_bytes < self._wal_bytes):
            self._files.sync_directory(self._path.parent)
        self._wal_bytes = wal_bytes


class _Reader:
    """`queries.Reader` on cursors of a connection kept for nothing else."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with _translated(path):
            self._root = connection.cursor()
        self._is_open = True

    def require_open(self) -> None:
        if not self._is_open:
            raise StoreClosed("the store is closed")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._cursor() as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, list[Any]]:
        with self._cursor() as cursor:
            arrays = cursor.execute(sql, parameters).fetchnumpy()
        # Masked arrays (columns with NULL) give None for what is masked.
        return {name: array.tolist() for name, array in arrays.items()}

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            self._root.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with _translated(self._path):
            with self._lock:
                self.require_open()
                cursor = self._root.cursor()
            try:
                yield cursor
            finally:
                cursor.close()


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turns DuckDB's errors into those of this layer."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StorageError(f"{path}: memory_limit_bytes is too small: {error}") from error
    except duckdb.Error as error:
        if _LOCKED_MESSAGE in str(error):
            raise DirectoryLocked(path.parent, read_holder(path.parent)) from error
        raise Corrupt(path, str(error)) from error


def _connect(path: Path, memory_limit_bytes: int) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_limit_bytes}B",
        "checkpoint_threshold": CHECKPOINT_THRESHOLD,
        "threads": THREAD_COUNT,
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with _translated(path):
        connection = duckdb.connect(str(path), config=config)
        # Afterwards: once these hold, the settings above are refused.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    return connection
