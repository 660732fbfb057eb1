"""What is kept of the data beside the database: snapshots, and the erasing of what is purged.

One at a time: whoever changes files of the data directory does so in `turn`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from recalld.server import logs
from recalld.server.clock import Clock
from recalld.server.errors import NotReady
from recalld.server.textless import TEXTLESS_METHODS
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.erase import Example, erase
from recalld.storage.errors import StoreReadOnly
from recalld.storage.purge import StoredPurge
from recalld.storage.read_only import open_store
from recalld.storage.restore import Restored, restore
from recalld.storage.snapshots import SnapshotFolder


class Eraser(Protocol):
    """Makes the bytes of purged memories go."""

    async def erase(self, examples: Sequence[Example]) -> None:
        """Complete every pending purge.

        Args:
            examples: memories among them that are searched for afterwards.

        Raises:
            EraseFailed, CopyFailed, OSError: they stay pending.
        """
        ...


class Keeping:
    """Snapshots and erasing of one open store; an `Eraser`.

    Attributes:
        store: the database.
        folder: the snapshots.
        clock: of the server.
        log: of what happens behind calls.
    """

    def __init__(
        self, store: DuckDBStore, data_dir: Path, options: DuckDBOptions, clock: Clock, log: Any
    ) -> None:
        """Bind an open store and its directory, opened with these options."""
        self.store = store
        self.folder = SnapshotFolder(data_dir, options)
        self.clock = clock
        self.log = log
        self._options = options
        self._lock = asyncio.Lock()
        self._is_closing = False
        self._data_dir = data_dir

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The right to change files, when its turn comes.

        Raises:
            NotReady: the store is being closed.
        """
        async with self._lock:
            if self._is_closing:
                raise NotReady("the server is shutting down, or restoring a snapshot")
            yield

    def require_writable(self) -> None:
        """Refuse what would change files while the store is to be read only.

        Raises:
            StoreReadOnly: it is.
        """
        if self.store.read_only_reason:
            raise StoreReadOnly(f"the server is read-only: {self.store.read_only_reason}")

    async def close(self) -> None:
        """Wait for whoever changes files, and let nobody else begin."""
        self._is_closing = True
        async with self._lock:
            pass

    def settle(self) -> None:
        """Finish what a killed process left, before anything is served.

        Raises:
            EraseFailed, CopyFailed, OSError: the bytes of a purge cannot be removed.
        """
        if self.store.read_only_reason:
            self.log.error(
                "serving read-only: memories are recalled, every write is refused",
                reason=self.store.read_only_reason,
            )
            return
        if self.store.recovery.returned:
            self.log.error("the restored data did not open; the data from before it is back")
        if self.store.recovery.wal_copy is not None:
            self.log.warning(
                "the database's log ended in zeros; they were cut, the log before it is kept",
                kept=str(self.store.recovery.wal_copy),
                cut_bytes=self.store.recovery.wal_cut_bytes,
            )
        if names := self.folder.clean():
            self.log.warning("unfinished files removed", names=names)
        if done := self._erase(()):
            self.log.warning("purges finished", count=len(done))

    async def erase(self, examples: Sequence[Example]) -> None:
        """See `Eraser.erase`; callers that come meanwhile are served by one run."""
        async with self.turn():
            try:
                await asyncio.to_thread(self._erase, examples)
            except Exception as error:
                self.log.error("purge not complete", fault=logs.fault(error))
                raise

    def restore(self, name: str) -> Restored:
        """Put a snapshot in place of the present data; only while the store is closed.

        Raises:
            SnapshotNotFound, SnapshotDamaged, StorageError, OSError: see `restore`.
        """
        return restore(self._data_dir, name, self._options, TEXTLESS_METHODS)

    def _erase(self, examples: Sequence[Example]) -> list[StoredPurge]:
        def tell(step: str) -> None:
            self.log.info("purging", done=step)

        return erase(
            self.store,
            self.folder,
            self._data_dir,
            self.clock.now_us,
            TEXTLESS_METHODS,
            examples,
            tell,
        )


async def open_keeping(
    stack: contextlib.AsyncExitStack, data_dir: Path, options: DuckDBOptions, clock: Clock, log: Any
) -> Keeping:
    """Open the store and finish what a killed process left; the stack closes it again.

    Where the files are whole but cannot be written, the store is read-only and says why.

    Raises:
        Corrupt, FileRefused, FormatTooNew, DirectoryLocked, OSError: see `open_store`.
        EraseFailed, CopyFailed: the bytes of a purge cannot be removed.
    """
    store = await asyncio.to_thread(open_store, data_dir, options)
    stack.push_async_callback(asyncio.to_thread, store.close)
    keeping = Keeping(store, data_dir, options, clock, log)
    await asyncio.to_thread(keeping.settle)
    stack.push_async_callback(keeping.close)
    return keeping
