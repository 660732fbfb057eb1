"""How much a store holds: counts of rows, sizes and speeds. Plain values, nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """How many rows, of any status, one (tenant, user) has, and when one changed last.

    Attributes:
        change_time_us: newest `update_time_us` of its rows.
    """

    tenant: str
    user_id: str
    count: int
    change_time_us: int


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
