"""Sealed originals in SQL: their reads, and the removal of those whose memory is gone.

They are written with the batch of their memories (`commands.py`). Knows no database library, and
nothing of what is sealed.
"""

from __future__ import annotations

from recalld.storage.sql_part import SqlPart

_WITHOUT_MEMORY = "label NOT IN (SELECT label FROM memories)"


class SqlSealed(SqlPart):
    """`SealedStore` in SQL."""

    def find(self, label: int) -> dict[str, bytes]:
        """See `SealedStore.find`."""
        sql = "SELECT placeholder, data FROM sealed WHERE label = ?"
        return dict(self._reader.rows(sql, (label,)))

    def prune(self) -> int:
        """See `SealedStore.prune`."""
        return int(self._run(self._delete).result())

    def check(self) -> list[str]:
        """Returns one line when sealed values have no memory, or break their rules."""
        sql = (
            f"SELECT count(*) FROM sealed WHERE {_WITHOUT_MEMORY} "
            "OR placeholder = '' OR octet_length(data) = 0"
        )
        count = self._reader.rows(sql)[0][0]
        return [f"sealed values without a memory, a placeholder or data: {count}"] if count else []

    def _delete(self) -> int:
        sql = f"DELETE FROM sealed WHERE {_WITHOUT_MEMORY}"
        count = int(self._connection.execute(sql).fetchone()[0])
        self._synced()
        return count
