"""Renewals in SQL: their rows and their statements.

Knows no database library. Invariant: a renewal stands beside a row; it goes when its vectors take
their place, when its row is purged, or at the latest at the next start under another model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from recalld.storage import rows
from recalld.storage.renewal import Renewal
from recalld.storage.sql_part import SqlPart

COLUMNS: tuple[tuple[str, str], ...] = (
    ("label", "BIGINT"),
    ("fingerprint", "VARCHAR"),
    ("source_hash", "BLOB"),
    ("embedding", "BLOB"),
    ("cue_count", "INTEGER"),
    ("cue_embedding", "BLOB"),
)
_NAMES = rows.names(COLUMNS)
_PUT = (
    f"INSERT OR REPLACE INTO renewals ({_NAMES}) SELECT {_NAMES} FROM (SELECT "
    + ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in COLUMNS)
    + ") WHERE label IN (SELECT label FROM memories)"
)
_OWN = "SELECT label FROM memories WHERE tenant = ? AND user_id = ?"
_APPLY = (
    "UPDATE memories SET embedding = r.embedding, fingerprint = r.fingerprint, "
    "cue_embedding = r.cue_embedding FROM renewals r "
    "WHERE memories.label = r.label AND tenant = ? AND user_id = ? AND r.fingerprint = ?"
)
_FOREIGN = (
    "fingerprint <> ? OR embedding IS NULL OR (cue_embedding IS NULL AND relevant_when_json <> '')"
)
_OTHERS = "fingerprint <> ? OR label NOT IN (SELECT label FROM memories)"
_VECTOR_TYPE = np.dtype("<f4")


class SqlRenewals(SqlPart):
    """`RenewalStore` in SQL."""

    def put(self, renewals: Sequence[Renewal]) -> Future[None]:
        """See `RenewalStore.put`."""
        values = [_row_of(renewal) for renewal in renewals]
        return self._run(lambda: self._write(lambda: self._put(values)))

    def of_partition(self, tenant: str, user_id: str, fingerprint: str) -> list[Renewal]:
        """See `RenewalStore.of_partition`."""
        sql = (
            f"SELECT {_NAMES} FROM renewals WHERE fingerprint = ? AND label IN ({_OWN}) "
            "ORDER BY label"
        )
        return [_renewal(*row) for row in self._reader.rows(sql, (fingerprint, tenant, user_id))]

    def apply(self, tenant: str, user_id: str, fingerprint: str) -> Future[int]:
        """See `RenewalStore.apply`."""
        return self._run(lambda: self._write(lambda: self._apply(tenant, user_id, fingerprint)))

    def foreign(self, fingerprint: str) -> list[tuple[str, str, int]]:
        """See `RenewalStore.foreign`."""
        sql = (
            f"SELECT tenant, user_id, count(*) FROM memories WHERE {_FOREIGN} "
            "GROUP BY tenant, user_id ORDER BY tenant, user_id"
        )
        return [
            (str(tenant), str(user), n)
            for tenant, user, n in self._reader.rows(sql, (fingerprint,))
        ]

    def fingerprints(self) -> dict[str, int]:
        """See `RenewalStore.fingerprints`."""
        sql = (
            "SELECT fingerprint, max(octet_length(embedding)) FROM memories "
            "WHERE embedding IS NOT NULL GROUP BY fingerprint"
        )
        return {name: size // _VECTOR_TYPE.itemsize for name, size in self._reader.rows(sql)}

    def drop_others(self, fingerprint: str) -> int:
        """See `RenewalStore.drop_others`."""
        return int(self._run(lambda: self._write(lambda: self._drop_others(fingerprint))).result())

    def check(self) -> list[str]:
        """Returns one line when renewals have no row, or break their rules."""
        sql = (
            "SELECT count(*) FROM renewals WHERE label NOT IN (SELECT label FROM memories) "
            "OR fingerprint = '' OR octet_length(source_hash) = 0 "
            "OR octet_length(embedding) % 4 <> 0 OR (cue_count > 0) <> (cue_embedding IS NOT NULL)"
        )
        count = self._reader.rows(sql)[0][0]
        return [f"renewals without a memory, a model or whole vectors: {count}"] if count else []

    def _write(self, work: Callable[[], Any]) -> Any:
        self._connection.execute("BEGIN")
        result = work()
        self._connection.execute("COMMIT")
        self._synced()
        return result

    def _put(self, values: Sequence[tuple[object, ...]]) -> None:
        if values:
            columns = [list(column) for column in zip(*values, strict=True)]
            self._connection.execute(_PUT, columns)

    def _apply(self, tenant: str, user_id: str, fingerprint: str) -> int:
        done = self._connection.execute(_APPLY, [tenant, user_id, fingerprint]).fetchone()
        self._connection.execute(f"DELETE FROM renewals WHERE label IN ({_OWN})", [tenant, user_id])
        return int(done[0])

    def _drop_others(self, fingerprint: str) -> int:
        sql = f"DELETE FROM renewals WHERE {_OTHERS}"
        return int(self._connection.execute(sql, [fingerprint]).fetchone()[0])


def _row_of(renewal: Renewal) -> tuple[object, ...]:
    cues = renewal.cues
    return (
        renewal.label,
        renewal.fingerprint,
        renewal.source_hash,
        renewal.vector.astype(_VECTOR_TYPE, copy=False).tobytes(),
        0 if cues is None else len(cues),
        None if cues is None else cues.astype(_VECTOR_TYPE, copy=False).tobytes(),
    )


def _renewal(
    label: int,
    fingerprint: str,
    source_hash: bytes,
    embedding: bytes,
    cue_count: int,
    cue_embedding: bytes | None,
) -> Renewal:
    cues = None
    if cue_embedding is not None:
        cues = np.frombuffer(bytes(cue_embedding), _VECTOR_TYPE).reshape(cue_count, -1)
    vector = np.frombuffer(bytes(embedding), _VECTOR_TYPE)
    return Renewal(label, fingerprint, bytes(source_hash), vector, cues)
