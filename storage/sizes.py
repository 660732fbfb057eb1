"""How much a store holds: counts of rows, sizes and speeds. Plain values, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Which rows, of any status, one (tenant, user) has, and when one changed last.

    Attributes:
        labels: int64[n], n > 0, ascending.
        change_time_us: newest `update_time_us` of its rows.
    """

    tenant: str
    user_id: str
    labels: NDArray[np.int64]
    change_time_us: int

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows of some partitions have one status and one kind."""

    status: int
    kind: int
    count: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Sizes and speeds, for metrics.

    Attributes:
        row_count, request_count: durable rows.
        file_bytes, wal_bytes: sizes on disk; 0 in memory.
        queue_row_count: rows submitted and not yet durable.
        commit_count: groups made durable since opening.
        last_commit_us: duration of the last group commit, microseconds.
    """

    row_count: int
    request_count: int
    file_bytes: int
    wal_bytes: int
    queue_row_count: int
    commit_count: int
    last_commit_us: int
