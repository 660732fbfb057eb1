"""The write side of a SQL store: statements that run inside the writer's transaction.

Knows no database library and decides nothing about durability: the caller begins and commits.

Invariants: few statements per table and group, whole columns as parameters; the last write of a
key inside a group wins. Planning costs more than writing: `INSERT OR REPLACE` of the wide table
takes three to four times as long as `INSERT`, so known rows are deleted first.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from recalld.storage import rows
from recalld.storage.migrate import Connection
from recalld.storage.store import StoredRequest, WriteBatch


def _insert_sql(verb: str, table: str, columns: Sequence[tuple[str, str]]) -> str:
    # Casting every list would add half to the time of planning; only a column that may be all
    # NULL needs it to have a type.
    values = (
        f"unnest(?::{kind}[])" if name in rows.NULLABLE else "unnest(?)" for name, kind in columns
    )
    return f"{verb} INTO {table} ({rows.names(columns)}) SELECT {', '.join(values)}"


_DELETE_MEMORIES = "DELETE FROM memories WHERE label IN (SELECT unnest(?))"
_INSERT_MEMORIES = _insert_sql("INSERT", "memories", rows.COLUMNS)
_UPSERT_REQUESTS = _insert_sql("INSERT OR REPLACE", "requests", rows.REQUEST_COLUMNS)
_UPSERT_SEALED = _insert_sql("INSERT OR REPLACE", "sealed", rows.SEALED_COLUMNS)
_UPSERT_TENANTS = _insert_sql("INSERT OR REPLACE", "tenants", rows.TENANT_COLUMNS)
_UPDATE_TENANT = "UPDATE tenants SET revision = ? WHERE tenant = ?"


def apply_group(
    connection: Connection, batches: Sequence[WriteBatch], label_max: int, known: Container[str]
) -> tuple[list[StoredRequest], dict[str, int], int]:
    """Writes the batches in order.

    Args:
        connection: inside a transaction.
        batches: of one group.
        label_max: no row has a higher label, so higher ones need no deletion.
        known: tenants that have a row.

    Returns:
        The requests written, the tenants' new revisions, and the new `label_max`.

    Raises:
        The database's errors; the transaction must then be given up.
    """
    memories = {m.record.label: m for batch in batches for m in batch.memories}
    requests = {(r.tenant, r.request_id): r for batch in batches if (r := batch.request)}
    revisions = {batch.tenant: batch.revision for batch in batches}
    _run(connection, _DELETE_MEMORIES, [(label,) for label in memories if label <= label_max])
    _run(connection, _INSERT_MEMORIES, [rows.row_of(m) for m in memories.values()])
    _run(connection, _UPSERT_REQUESTS, [rows.request_row_of(r) for r in requests.values()])
    sealed = {(s.label, s.placeholder): s for batch in batches for s in batch.sealed}
    _run(connection, _UPSERT_SEALED, [(s.label, s.placeholder, s.data) for s in sealed.values()])
    if len(revisions) == 1 and batches[0].tenant in known:  # A third of the cost of the upsert.
        connection.execute(_UPDATE_TENANT, [batches[-1].revision, batches[0].tenant])
    else:
        _run(connection, _UPSERT_TENANTS, list(revisions.items()))
    return list(requests.values()), revisions, max([label_max, *memories])


def prune_requests(connection: Connection, before_us: int) -> int:
    """Deletes requests created before a time; returns how many."""
    sql = "DELETE FROM requests WHERE create_time_us < ?"
    return int(connection.execute(sql, [before_us]).fetchone()[0])


def _run(connection: Connection, sql: str, values: Sequence[tuple[object, ...]]) -> None:
    if values:
        connection.execute(sql, [list(column) for column in zip(*values, strict=True)])
