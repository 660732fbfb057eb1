"""The DuckDB backend of `Store`: one file and its log in the data directory.

All SQL is parameterised. It never repairs silently (see `RecoveryReport`) and never empties a
damaged database; what it opens is a `DuckDBFile`.

Invariants: one thread writes (`GroupWriter`); each group is one transaction; a future resolves
after COMMIT has synced the log, and the directory when the log is a new file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from recalld.storage import commands, database_file, duckdb_file, room, rules, wal
from recalld.storage.block_cache import BlockCache
from recalld.storage.counters import Counters
from recalld.storage.database_file import size_bytes
from recalld.storage.duckdb_file import DuckDBFile
from recalld.storage.errors import CopyFailed, Corrupt, StoreFailed
from recalld.storage.fsio import Files
from recalld.storage.purges import SqlPurges
from recalld.storage.queries import Queries
from recalld.storage.renewals import SqlRenewals
from recalld.storage.requests import REQUEST_BYTES_MAX, REQUEST_COUNT_MAX, RecentRequests
from recalld.storage.sealed import SqlSealed
from recalld.storage.sizes import StoreStats
from recalld.storage.sql_reads import SqlReads
from recalld.storage.store import StoredRequest, WriteBatch
from recalld.storage.traces import SqlTraces
from recalld.storage.writer import BatchWriter, GroupWriter

MEMORY_LIMIT_BYTES = 512 * 1024 * 1024


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


class DuckDBStore(SqlReads):
    """`Store` on DuckDB; the contract says what it promises, `recovery` what opening did."""

    read_only_reason = ""

    def __init__(self, data_dir: Path, options: DuckDBOptions) -> None:
        """Opens or creates the database and starts the writer thread.

        Args:
            data_dir: created when missing; the caller holds its `DirectoryLock`.
            options: see there.

        Raises:
            Corrupt, FormatTooNew, DirectoryLocked: the database cannot be used; it is unchanged.
            FileRefused, OSError: the file system refused.
        """
        self._path = data_dir / database_file.DATABASE_NAME
        self._wal_path = database_file.wal_path(self._path)
        self._files = options.files
        meta = {
            "created_by": options.created_by,
            "created_time_us": str(options.now_us),
            "created_with_duckdb": duckdb_file.VERSION,
        }
        connect = partial(duckdb_file.connect, memory_limit_bytes=options.memory_limit_bytes)
        with duckdb_file.translated(self._path):
            connection, self.recovery = self._open(data_dir, connect, meta)
        self._file = DuckDBFile(self._path, connection, connect)
        self._state_lock = threading.Lock()
        self._closed = False
        self._commit_count = self._last_commit_us = 0
        self._recent = RecentRequests(options.request_count_max, options.request_bytes_max)
        try:
            self._queries = Queries(self._file, self._path)
            self._durable = self._queries.revisions()
            self._label_max = self._queries.label_max()
            self._counters = Counters(self._label_max, self._durable)
            self._queries.fill(self._recent)
            self._wal_bytes = size_bytes(self._wal_path)
            means = (self._file, self._file, self._run, self._sync_new_wal)
            self.traces, self.purges = SqlTraces(*means), SqlPurges(*means)
            self.sealed, self.renewals = SqlSealed(*means), SqlRenewals(*means)
            self._blocks = BlockCache(self._file, self._run, options.memory_limit_bytes)
        except BaseException:
            self._file.close()
            raise
        self._writer = self._start_writer()

    def _open(
        self, data_dir: Path, connect: duckdb_file.Connect, meta: dict[str, str]
    ) -> tuple[duckdb_file.Connection, database_file.RecoveryReport]:
        """Opens or creates the database, and tells what that took."""
        return database_file.open_or_create(data_dir, connect, meta, self._files)

    def _start_writer(self) -> BatchWriter:
        """What takes batches and jobs from now on."""
        return GroupWriter(self._commit, self)

    def submit(self, batch: WriteBatch) -> Future[None]:
        """See `Store.submit`."""
        rules.require_valid(batch)
        return self._counters.submit(batch, self._writer.submit)

    def write(self, batch: WriteBatch) -> None:
        """See `Store.write`."""
        self.submit(batch).result()

    def find_request(self, tenant: str, request_id: str) -> StoredRequest | None:
        """See `Store.find_request`; a dictionary look-up unless memory had to drop answers."""
        self._file.require_open()
        if (found := self._recent.find(tenant, request_id)) or self._recent.complete:
            return found
        return self._queries.find_request(tenant, request_id)

    def prune_requests(self, before_us: int) -> int:
        """See `Store.prune_requests`."""
        return int(self._writer.run(lambda: self._prune_requests(before_us)).result())

    def revisions(self) -> dict[str, int]:
        """See `Store.revisions`."""
        self._file.require_open()
        with self._state_lock:
            return dict(self._durable)

    def allocate_labels(self, count: int) -> range:
        """See `Store.allocate_labels`."""
        self._file.require_open()
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

    def copy_to(self, target: Path) -> None:
        """Copies everything, as of one revision, into a fresh file on the same file system.

        Writes go on meanwhile; one caller at a time.

        Raises:
            CopyFailed, OSError: it could not be written; nothing of it stays.
        """
        _, copy = database_file.copy_paths(self._path)
        self._file.copy_to(copy)
        self._files.rename(copy, target)

    def says(self, text: str, vector: bytes) -> bool:
        """Tells whether any memory holds this text in one of its own, or these float32 bytes."""
        return self._queries.says(text, vector)

    def rewrite(self) -> None:
        """See `Store.rewrite`: the database is copied and the copy takes its place."""
        failure = self._run(self._rewrite).result()
        if failure is not None:
            raise failure

    def check(self) -> list[str]:
        """See `Store.check`; also compares the key index with the rows."""
        self._file.require_open()
        lines: list[str] = []
        try:
            lines += self._queries.check_index() + self.traces.check()
            lines += self.sealed.check() + self.renewals.check()
            requests, revisions = self._queries.requests(), self._queries.revisions
            lines += rules.store_violations(self._queries.load(), requests, revisions)
        except Corrupt as error:
            lines.append(str(error))
        return lines

    def mend(self) -> None:
        """See `writer.Recovery`; the file is opened anew and the failed group cut from its log.

        Raises:
            Corrupt: the file holds more than what was acknowledged.
            FileRefused, OSError: it does not open yet.
        """
        self._file.reopen(partial(wal.cut_to, self._wal_path, self._wal_bytes, self._files))
        self._files.sync_directory(self._path.parent)
        if self._queries.revisions() != self._durable:
            raise Corrupt(self._path, "holds a batch that was not acknowledged; restart the server")

    def require_room(self) -> None:
        """See `writer.Recovery`."""
        room.require_room(self._path.parent)

    def close(self) -> None:
        """See `Store.close`."""
        with self._state_lock:
            if self._closed:
                return
            self._closed = True
        with suppress(StoreFailed):  # Closing is all that is left to do; the waiters were told.
            self._writer.run(self._checkpoint)
        self._writer.close()
        self._file.close()
        self._files.sync_directory(self._path.parent)

    def _commit(self, batches: Sequence[WriteBatch]) -> None:
        """Makes one group durable; runs on the writer's thread only."""
        start_ns = time.perf_counter_ns()
        orders = [(batch.tenant, batch.purge) for batch in batches if batch.purge]
        known = commands.Known(self._label_max, self._recent.may_have)
        # A statement alone is a transaction: BEGIN and COMMIT would be a fifth of its cost.
        is_alone = commands.is_lone_row(batches, known)
        if not is_alone:
            self._file.execute("BEGIN")
        applied = commands.apply_group(self._file, batches, known)
        # Behind the writes of the group: an earlier batch of it may have changed the same row.
        dropped = [key for order in orders for key in self.purges.apply(*order)]
        if not is_alone:
            self._file.execute("COMMIT")
        self._sync_new_wal()
        requests, revisions, self._label_max = applied
        self._recent.add(requests)
        self._recent.discard(dropped)
        for order in orders:
            self.purges.committed(*order)
        with self._state_lock:
            self._durable.update(revisions)
        self._commit_count += 1
        self._last_commit_us = (time.perf_counter_ns() - start_ns) // 1_000

    def _prune_requests(self, before_us: int) -> int:
        count = commands.prune_requests(self._file, before_us)
        self._recent.prune(before_us)
        self._sync_new_wal()
        return count

    def _rewrite(self) -> CopyFailed | None:
        fresh, _ = database_file.copy_paths(self._path)
        try:
            self._file.copy_to(fresh)
        except CopyFailed as error:  # The database is as it was, so writing may go on.
            return error
        fresh.chmod(database_file.FILE_MODE)
        self._files.sync_file(fresh)
        self._file.exchange(partial(database_file.put_in_place, fresh, self._path, self._files))
        self._wal_bytes = size_bytes(self._wal_path)
        return None

    def _run(self, job: Callable[[], Any]) -> Future[Any]:
        return self._writer.run(job)

    def _checkpoint(self) -> None:
        # Plain CHECKPOINT fails while a reader is at work; this one waits for it.
        self._file.execute("FORCE CHECKPOINT")
        self._sync_new_wal()

    def _sync_new_wal(self) -> None:
        """Makes the log's name durable when it is a new file: DuckDB syncs only its content."""
        wal_bytes = size_bytes(self._wal_path)
        if wal_bytes and (not self._wal_bytes or wal_bytes < self._wal_bytes):
            self._files.sync_directory(self._path.parent)
        self._wal_bytes = wal_bytes
