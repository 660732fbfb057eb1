"""What DuckDB keeps of the file in memory: bounded, so that loads do not fill it.

DuckDB keeps every block that it read until its limit is reached. The rows of a load are kept by
whoever asked for them, and the operating system keeps the file, so a block that was read whole is
seldom wanted again; one of which a load wanted a row or two is, by the next load. Knows no database
library. It never waits for a reader, and never makes one fail.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.storage.duckdb_file import DuckDBFile
from recalld.storage.errors import StorageError

KEPT_BYTES = 8 * 1024 * 1024
HELD_BYTES_MAX = 2 * KEPT_BYTES
"""From here on all but the `KEPT_BYTES` used last are let go: a step of some milliseconds."""
# Among 100,000 users whose rows are mixed, letting go would double what each load costs.
DENSE_SPAN_MAX = 8
"""Labels to a row up to which its block was read for its neighbours too."""
_HELD = "SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'BASE_TABLE'"


class BlockCache:
    """The blocks of one open file. Thread safety: every method may be called from any thread."""

    def __init__(
        self,
        file: DuckDBFile,
        run: Callable[[Callable[[], Any]], Future[Any]],
        limit_bytes: int,
    ) -> None:
        """Start to watch.

        Args:
            file: the open database.
            run: queues work on the writer's thread, where no write is under way.
            limit_bytes: DuckDB's limit, which holds again after every step.
        """
        self._file = file
        self._run = run
        self._limit_bytes = limit_bytes
        self._is_asked = False

    @property
    def held_bytes(self) -> int:
        """What is kept of tables now."""
        return sum(held for (held,) in self._file.rows(_HELD))

    def settle(self, labels: NDArray[np.int64]) -> None:
        """Let go of blocks soon, where too many are kept.

        Args:
            labels: of the rows that were read, ascending.

        Raises:
            Corrupt, StoreClosed: the file cannot be read.
        """
        is_dense = len(labels) > 0 and labels[-1] - labels[0] < DENSE_SPAN_MAX * len(labels)
        if self._is_asked or not is_dense or self.held_bytes <= HELD_BYTES_MAX:
            return
        self._is_asked = True
        try:
            self._run(self._evict)
        except StorageError:  # Nothing is written any more, or too much: the limit is what is left.
            self._is_asked = False

    def _evict(self) -> None:
        """Go below a lower limit and back, while nobody reads: a reader would be refused."""
        self._is_asked = False
        with self._file.readers.nobody_now() as is_alone:
            if is_alone:
                with suppress(StorageError):  # More is in use: the limit stays as it was.
                    self._set_limit(KEPT_BYTES)
                self._set_limit(self._limit_bytes)

    def _set_limit(self, limit_bytes: int) -> None:
        self._file.execute(f"SET memory_limit = '{limit_bytes}B'")
