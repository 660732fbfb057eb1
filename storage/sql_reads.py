"""The reads of a `Store` over SQL that need nothing but the file; see `Store` for what they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recalld.storage.block_cache import BlockCache
from recalld.storage.duckdb_file import DuckDBFile
from recalld.storage.queries import Queries
from recalld.storage.sizes import Partition, Tally
from recalld.storage.store import StoredMemory


class SqlReads:
    """What a store is asked about rows; the store itself sets the attributes."""

    _file: DuckDBFile
    _queries: Queries
    _blocks: BlockCache

    def newest_request_us(self) -> int:
        """See `Store.newest_request_us`."""
        return self._queries.newest_request_us()

    def load(self) -> Iterator[StoredMemory]:
        """See `Store.load`."""
        self._file.require_open()
        return self._queries.load()

    def partitions(self) -> list[Partition]:
        """See `Store.partitions`; two scans."""
        return self._queries.partitions()

    def tally(self, tenant: str, user_id: str = "") -> list[Tally]:
        """See `Store.tally`; one scan."""
        return self._queries.tally(tenant, user_id)

    def load_partition(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None = None
    ) -> Iterator[StoredMemory]:
        """See `Store.load_partition`; a scan of two columns if need be, then the rows."""
        self._file.require_open()
        return self._loaded(tenant, user_id, labels)

    def _loaded(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None
    ) -> Iterator[StoredMemory]:
        yield from self._queries.load_partition(tenant, user_id, labels)
        if labels is not None:
            self._blocks.settle(labels)
