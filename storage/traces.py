"""Kept traces of recalls in SQL: their rows and their statements.

Knows no database library. Nothing depends on a trace: it is written behind what waits, and the
oldest ones give way.

Invariants: after a write a tenant of it has at most `kept_max` traces, the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from recalld.storage import rows
from recalld.storage.sql_part import SqlPart
from recalld.storage.store import StoredTrace

COLUMNS: tuple[tuple[str, str], ...] = (
    ("tenant", "VARCHAR"),
    ("recall_id", "VARCHAR"),
    ("user_id", "VARCHAR"),
    ("create_time_us", "BIGINT"),
    ("header", "BLOB"),
    ("candidates", "BLOB"),
)
_INSERT = (
    f"INSERT OR REPLACE INTO traces ({rows.names(COLUMNS)}) "
    f"SELECT {', '.join('unnest(?)' for _ in COLUMNS)}"
)
_DROP_OLDEST = (
    "DELETE FROM traces WHERE tenant = ? AND recall_id NOT IN (SELECT recall_id FROM traces "
    "WHERE tenant = ? ORDER BY create_time_us DESC, recall_id DESC LIMIT ?)"
)


class SqlTraces(SqlPart):
    """`TraceStore` in SQL."""

    def put(self, traces: Sequence[StoredTrace], kept_max: int) -> Future[None]:
        """See `TraceStore.put`."""
        assert kept_max >= 1
        kept = tuple(traces)
        return self._run(lambda: self._write(kept, kept_max))

    def find(self, tenant: str, recall_id: str) -> StoredTrace | None:
        """See `TraceStore.find`."""
        sql = f"SELECT {rows.names(COLUMNS)} FROM traces WHERE tenant = ? AND recall_id = ?"
        found = self._reader.rows(sql, (tenant, recall_id))
        return StoredTrace(*found[0]) if found else None

    def page(
        self, tenant: str, user_id: str, before: tuple[int, str] | None, count: int
    ) -> list[StoredTrace]:
        """See `TraceStore.page`."""
        limit = "" if before is None else "AND (create_time_us, recall_id) < (?, ?) "
        sql = (
            f"SELECT {rows.names(COLUMNS[:-1])} FROM traces WHERE tenant = ? AND user_id = ? "
            f"{limit}ORDER BY create_time_us DESC, recall_id DESC LIMIT ?"
        )
        found = self._reader.rows(sql, (tenant, user_id, *(before or ()), count))
        return [StoredTrace(*row) for row in found]

    def check(self) -> list[str]:
        """Reads every trace and returns one line when some break the rules of `StoredTrace`."""
        sql = (
            "SELECT count(*) FROM traces WHERE tenant = '' OR recall_id = '' OR user_id = '' "
            "OR octet_length(header) = 0 OR octet_length(candidates) < 0"
        )
        count = self._reader.rows(sql)[0][0]
        return [f"traces without a key, a user or a header: {count}"] if count else []

    def _write(self, traces: Sequence[StoredTrace], kept_max: int) -> None:
        if not traces:
            return
        columns = [[getattr(trace, name) for trace in traces] for name, _ in COLUMNS]
        self._connection.execute("BEGIN")
        self._connection.execute(_INSERT, columns)
        for tenant in sorted({trace.tenant for trace in traces}):
            self._connection.execute(_DROP_OLDEST, [tenant, tenant, kept_max])
        self._connection.execute("COMMIT")
        self._synced()
