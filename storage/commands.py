"""The write side of a SQL store: statements that run inside the writer's transaction.

Knows no database library and decides nothing about durability: the caller begins and commits.

Invariants: few statements per table and group; the last write of a key inside a group wins.
Planning costs more than writing: `INSERT OR REPLACE` takes three to four times as long as adding
rows, so known rows are deleted first, and rows are handed over whole (`Appending.append`), not as
parameters of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from recalld.storage import rows
from recalld.storage.migrate import Connection
from recalld.storage.store import StoredRequest, WriteBatch


class Appending(Connection, Protocol):
    """A connection that also takes whole rows."""

    def append(
        self, table: str, columns: Sequence[str], values: Iterable[Sequence[object]]
    ) -> None:
        """Adds rows, one value a column."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What may be in the tables already.

    Attributes:
        label_max: no row has a higher label, so higher ones need no deletion.
        has_request: whether a request may have a row, by tenant and id.
    """

    label_max: int
    has_request: Callable[[str, str], bool]


def _upsert_sql(table: str, columns: Sequence[tuple[str, str]]) -> str:
    values = ", ".join("unnest(?)" for _ in columns)
    return f"INSERT OR REPLACE INTO {table} ({rows.names(columns)}) SELECT {values}"


_DELETE_MEMORIES = "DELETE FROM memories WHERE label IN (SELECT unnest(?))"
_UPSERT_REQUESTS = _upsert_sql("requests", rows.REQUEST_COLUMNS)
_UPSERT_SEALED = _upsert_sql("sealed", rows.SEALED_COLUMNS)
_UPSERT_TENANTS = _upsert_sql("tenants", rows.TENANT_COLUMNS)
_MEMORY_COLUMNS = tuple(name for name, _ in rows.COLUMNS)
_REQUEST_COLUMNS = tuple(name for name, _ in rows.REQUEST_COLUMNS)


def is_lone_row(batches: Sequence[WriteBatch], known: Known) -> bool:
    """Tells whether the batches are one new row and nothing else, which one statement writes."""
    batch, *others = batches
    if others or batch.sealed or batch.request or batch.purge or len(batch.memories) != 1:
        return False
    return batch.memories[0].record.label > known.label_max


def apply_group(
    connection: Appending, batches: Sequence[WriteBatch], known: Known
) -> tuple[list[StoredRequest], dict[str, int], int]:
    """Writes the batches in order.

    A tenant's own row is written only where no memory tells the revision: the UPDATE would be a
    quarter of a lone commit.

    Args:
        connection: inside a transaction, which `is_lone_row` does without.
        batches: of one group.
        known: what may be there already.

    Returns:
        The requests written, the tenants' new revisions, and the new highest label.

    Raises:
        The database's errors; the transaction must then be given up.
    """
    memories = {m.record.label: m for batch in batches for m in batch.memories}
    requests = {(r.tenant, r.request_id): r for batch in batches if (r := batch.request)}
    revisions = {batch.tenant: batch.revision for batch in batches}
    _run(connection, _DELETE_MEMORIES, [(n,) for n in memories if n <= known.label_max])
    if memories:
        connection.append("memories", _MEMORY_COLUMNS, map(rows.row_of, memories.values()))
    held = [key for key in requests if known.has_request(*key)]
    _run(connection, _UPSERT_REQUESTS, [rows.request_row_of(requests[key]) for key in held])
    if fresh := [rows.request_row_of(requests[key]) for key in requests.keys() - held]:
        connection.append("requests", _REQUEST_COLUMNS, fresh)
    sealed = {(s.label, s.placeholder): s for batch in batches for s in batch.sealed}
    _run(connection, _UPSERT_SEALED, [(s.label, s.placeholder, s.data) for s in sealed.values()])
    rowless = {batch.tenant: batch.revision for batch in batches if not batch.memories}
    _run(connection, _UPSERT_TENANTS, list(rowless.items()))
    return list(requests.values()), revisions, max([known.label_max, *memories])


def prune_requests(connection: Connection, before_us: int) -> int:
    """Deletes requests created before a time; returns how many."""
    sql = "DELETE FROM requests WHERE create_time_us < ?"
    return int(connection.execute(sql, [before_us]).fetchone()[0])


def _run(connection: Connection, sql: str, values: Sequence[tuple[object, ...]]) -> None:
    if values:
        connection.execute(sql, [list(column) for column in zip(*values, strict=True)])
