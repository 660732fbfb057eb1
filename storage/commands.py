"""The write side of a SQL store: statements that run inside the writer's transaction.

Knows no database library and decides nothing about durability: the caller begins and commits.

Invariants: one statement per table and group, whole columns as parameters; the last write of a
key inside a group wins, since one statement must not meet a key twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from recalld.storage import rows
from recalld.storage.migrate import Connection
from recalld.storage.store import StoredRequest, WriteBatch


def _upsert_sql(table: str, columns: Sequence[tuple[str, str]]) -> str:
    # The casts give empty and all-NULL lists their type.
    values = ", ".join(f"unnest(?::{sql_type}[])" for _, sql_type in columns)
    return f"INSERT OR REPLACE INTO {table} ({rows.names(columns)}) SELECT {values}"


_UPSERT_MEMORIES = _upsert_sql("memories", rows.COLUMNS)
_UPSERT_REQUESTS = _upsert_sql("requests", rows.REQUEST_COLUMNS)
_UPSERT_TENANTS = _upsert_sql("tenants", rows.TENANT_COLUMNS)


def apply_group(
    connection: Connection, batches: Sequence[WriteBatch]
) -> tuple[list[StoredRequest], dict[str, int]]:
    """Writes the batches in order; returns their requests and the tenants' new revisions.

    Raises:
        The database's errors; the transaction must then be given up.
    """
    memories = {m.record.label: m for batch in batches for m in batch.memories}
    requests = {(r.tenant, r.request_id): r for batch in batches if (r := batch.request)}
    revisions = {batch.tenant: batch.revision for batch in batches}
    _upsert(connection, _UPSERT_MEMORIES, [rows.row_of(m) for m in memories.values()])
    _upsert(connection, _UPSERT_REQUESTS, [rows.request_row_of(r) for r in requests.values()])
    _upsert(connection, _UPSERT_TENANTS, list(revisions.items()))
    return list(requests.values()), revisions


def prune_requests(connection: Connection, before_us: int) -> int:
    """Deletes requests created before a time; returns how many."""
    sql = "DELETE FROM requests WHERE create_time_us < ?"
    return int(connection.execute(sql, [before_us]).fetchone()[0])


def _upsert(connection: Connection, sql: str, values: Sequence[tuple[object, ...]]) -> None:
    if values:
        connection.execute(sql, [list(column) for column in zip(*values, strict=True)])
