"""Purges and tombstones in SQL: their rows, and the statements that remove what is purged.

Knows no database library. Everything that removes runs inside a transaction of the writer.

Invariants: rows with all that stands beside them, answers, traces, tombstones and the note of a
purge change together; removing what is removed already changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from recalld.storage import rows
from recalld.storage.background import unhurried
from recalld.storage.migrate import TOMBSTONE_KEY, Connection
from recalld.storage.purge import Legacy, PurgeOrder, StoredPurge
from recalld.storage.queries import LABEL_FLOOR_KEY, REVISIONS, Reader
from recalld.storage.record import Scope, Status
from recalld.storage.sql_part import SqlPart
from recalld.storage.tombstones import Claim, Hasher, Tombstones, table_of

PURGE_COLUMNS: tuple[tuple[str, str], ...] = (
    ("id", "VARCHAR"),
    ("tenant", "VARCHAR"),
    ("create_time_us", "BIGINT"),
    ("complete_time_us", "BIGINT"),
    ("row_count", "BIGINT"),
    ("snapshot_count", "BIGINT"),
    ("verified_file_count", "BIGINT"),
)
_NAMES = rows.names(PURGE_COLUMNS)
_PUT_PURGE = f"INSERT OR REPLACE INTO purges ({_NAMES}) VALUES ({', '.join('?' * 7)})"
_PUT_TOMBSTONES = "INSERT OR REPLACE INTO tombstones SELECT unnest(?), unnest(?::BIGINT[])"
_TOMBSTONES = "SELECT hash, purge_time_us FROM tombstones"
_AMONG = "label IN (SELECT unnest(?::BIGINT[]))"
_BOUND_COUNT = 256
"""Tombstones that one statement adds: a millisecond."""
_DELETED_COUNT = 1_024
"""Rows that one statement removes; each looks at every label."""
_LOOKED_AT_COUNT = 512
"""Rows that one statement reads, whose result is made with Python's lock held."""
_ID = re.compile(rb"[0-9a-f]{32}")

RequestKey = tuple[str, str]
Condemned = tuple[int, str, str, str]
"""Label, id, tenant and user of a row that must not come back."""


class SqlPurges(SqlPart):
    """`PurgeStore` in SQL."""

    def __init__(
        self,
        connection: Connection,
        reader: Reader,
        run: Callable[[Callable[[], Any]], Future[Any]],
        synced: Callable[[], None],
    ) -> None:
        """Binds the store's own means and loads the tombstones; see `SqlPart`."""
        super().__init__(connection, reader, run, synced)
        self.tombstones = self._load()

    def find(self, tenant: str, purge_id: str) -> StoredPurge | None:
        """See `PurgeStore.find`."""
        sql = f"SELECT {_NAMES} FROM purges WHERE tenant = ? AND id = ?"
        found = self._reader.rows(sql, (tenant, purge_id))
        return StoredPurge(*found[0]) if found else None

    def pending(self) -> list[StoredPurge]:
        """See `PurgeStore.pending`."""
        sql = f"SELECT {_NAMES} FROM purges WHERE complete_time_us = 0 ORDER BY create_time_us, id"
        return [StoredPurge(*row) for row in self._reader.rows(sql)]

    def complete(self, purges: Sequence[StoredPurge]) -> None:
        """See `PurgeStore.complete`."""
        self._run(lambda: self._in_transaction(lambda: self._put(purges))).result()

    def legacy(self) -> Legacy:
        """Returns what a database that takes this one's place has to know."""
        purges = self._reader.rows(f"SELECT {_NAMES} FROM purges ORDER BY id")
        return Legacy(
            key=self.tombstones.hasher.key,
            tombstones=tuple(table_of(self._reader.rows(_TOMBSTONES))),
            purges=tuple(StoredPurge(*row) for row in purges),
            revisions=dict(self._reader.rows(REVISIONS)),
        )

    def adopt(self, legacy: Legacy) -> None:
        """Takes over the legacy of the database whose place this one takes.

        Tombstones add up when both have one key; else the legacy's replace the own ones, which
        nothing could be compared with. Revisions stay.
        """
        self._run(lambda: self._in_transaction(lambda: self._adopt(legacy))).result()
        self.tombstones = self._load()

    def overtake(self, revisions: Mapping[str, int]) -> None:
        """Raises each tenant's revision above its own and the given one.

        A revision that was told never comes a second time with other rows. The store has to be
        opened again before it is written to.
        """

        def write() -> None:
            own = dict(self._connection.execute(REVISIONS).fetchall())
            for tenant in sorted(own.keys() | revisions.keys()):
                revision = max(own.get(tenant, 0), revisions.get(tenant, 0)) + 1
                sql = "INSERT OR REPLACE INTO tenants VALUES (?, ?)"
                self._connection.execute(sql, [tenant, revision])

        self._run(lambda: self._in_transaction(write)).result()

    def condemned(self) -> list[Condemned]:
        """Returns every row that the own tombstones condemn."""
        return condemned_rows(self._reader, self.tombstones)

    def drop(self, condemned: Sequence[Condemned], textless_methods: frozenset[str]) -> None:
        """Removes condemned rows, with answers and traces.

        Their bytes stay until the database is copied.
        """

        def drop() -> None:
            self._drop_rows(condemned, textless_methods)

        if condemned:
            self._run(lambda: self._in_transaction(drop)).result()

    def apply(self, tenant: str, order: PurgeOrder) -> list[RequestKey]:
        """Carries out an order inside the writer's transaction.

        Returns:
            Keys of the remembered answers that went.
        """
        self._delete([record.label for record in order.records])
        ids = {record.id for record in order.records}
        dropped = self._drop_answers(tenant, ids, order.textless_methods)
        self._drop_traces(tenant, order.user_id)
        hashes = self._hashes_of(tenant, order)
        self._put_tombstones([(value, order.time_us) for value in hashes])
        sql = "SELECT row_count FROM purges WHERE id = ?"
        before = self._connection.execute(sql, [order.id]).fetchone()
        count = len(order.records) + (before[0] if before else 0)
        self._put([StoredPurge(order.id, tenant, order.time_us, row_count=count)])
        return dropped

    def committed(self, tenant: str, order: PurgeOrder) -> None:
        """Shows the tombstones of an order, after its transaction."""
        self.tombstones.add((value, order.time_us) for value in self._hashes_of(tenant, order))

    def _hashes_of(self, tenant: str, order: PurgeOrder) -> list[bytes]:
        """See `Hasher.of_purge`."""
        hasher = self.tombstones.hasher
        made: list[bytes] = []
        for some in unhurried(order.records):
            made += hasher.of_purge(tenant, order.user_id, some, is_whole_user=False)
        if order.is_whole_user:
            made.append(hasher.of_user(tenant, order.user_id))
        return list(dict.fromkeys(made))

    def _load(self) -> Tombstones:
        sql = "SELECT value FROM meta WHERE key = ?"
        key = bytes.fromhex(self._reader.rows(sql, (TOMBSTONE_KEY,))[0][0])
        return Tombstones(Hasher(key), table_of(self._reader.rows(_TOMBSTONES)))

    def _in_transaction(self, work: Callable[[], None]) -> None:
        self._connection.execute("BEGIN")
        work()
        self._connection.execute("COMMIT")
        self._synced()

    def _put(self, purges: Iterable[StoredPurge]) -> None:
        for purge in purges:
            values = [getattr(purge, name) for name, _ in PURGE_COLUMNS]
            self._connection.execute(_PUT_PURGE, values)

    def _adopt(self, legacy: Legacy) -> None:
        execute = self._connection.execute
        if legacy.key != self.tombstones.hasher.key:
            execute("DELETE FROM tombstones")
            execute("UPDATE meta SET value = ? WHERE key = ?", [legacy.key.hex(), TOMBSTONE_KEY])
        known = dict(table_of(execute(_TOMBSTONES).fetchall()))
        merged = {h: max(time_us, known.get(h, time_us)) for h, time_us in legacy.tombstones}
        self._put_tombstones(list(merged.items()))
        self._put(legacy.purges)

    def _put_tombstones(self, fresh: Sequence[tuple[bytes, int]]) -> None:
        """Adds tombstones or renews their times; to bind one long list keeps Python's lock."""
        for some in unhurried(fresh, _BOUND_COUNT):
            hashes, times_us = zip(*some, strict=True)
            self._connection.execute(_PUT_TOMBSTONES, [list(hashes), list(times_us)])

    def _drop_rows(self, condemned: Sequence[Condemned], textless_methods: frozenset[str]) -> None:
        self._lead_on([label for label, *_ in condemned])
        self._delete([label for label, *_ in condemned])
        for tenant in sorted({tenant for _, _, tenant, _ in condemned}):
            ids = {memory_id for _, memory_id, owner, _ in condemned if owner == tenant}
            self._drop_answers(tenant, ids, textless_methods)
        for tenant, user_id in sorted({(tenant, user_id) for *_, tenant, user_id in condemned}):
            self._drop_traces(tenant, user_id)

    def _lead_on(self, labels: Sequence[int]) -> None:
        """What these had replaced names what came after, or nothing; what they outweigh is free."""
        execute, gone = self._connection.execute, list(labels)
        sql = f"SELECT id, superseded_by FROM memories WHERE {_AMONG}"
        next_of = dict(execute(sql, [gone]).fetchall())
        named = "superseded_by IN (SELECT unnest(?::VARCHAR[]))"
        sql = f"SELECT label, status, superseded_by FROM memories WHERE {named} AND NOT {_AMONG}"
        for label, status, heir in execute(sql, [list(next_of), gone]).fetchall():
            steps = len(next_of)
            while heir in next_of and steps:
                heir, steps = next_of[heir], steps - 1
            is_led = status == Status.SUPERSEDED and heir not in next_of
            sql = "UPDATE memories SET superseded_by = ? WHERE label = ?"
            execute(sql, [heir if is_led else "", label])

    def _delete(self, labels: Sequence[int]) -> None:
        """Removes rows, their sealed originals and their renewals.

        The highest label and the revisions stay known: neither is ever used again.
        """
        if not labels:
            return
        self._connection.execute(f"INSERT OR REPLACE INTO tenants {REVISIONS}")
        sql = "SELECT coalesce(max(value::BIGINT), 0) FROM meta WHERE key = ?"
        (floor,) = self._connection.execute(sql, [LABEL_FLOOR_KEY]).fetchone()
        sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
        self._connection.execute(sql, [LABEL_FLOOR_KEY, str(max(floor, *labels))])
        for some in unhurried(labels, _DELETED_COUNT):
            for table in ("memories", "sealed", "renewals"):
                sql = f"DELETE FROM {table} WHERE {_AMONG}"
                self._connection.execute(sql, [list(some)])

    def _drop_answers(
        self, tenant: str, ids: set[str], textless_methods: frozenset[str]
    ) -> list[RequestKey]:
        sql = (
            "SELECT request_id, response FROM requests "
            "WHERE tenant = ? AND method NOT IN (SELECT unnest(?::VARCHAR[]))"
        )
        found = self._connection.execute(sql, [tenant, sorted(textless_methods)]).fetchall()
        wanted = {memory_id.encode() for memory_id in ids}
        # An id stands in an answer behind its length, which is no hex digit.
        names = [
            name for name, response in found if not wanted.isdisjoint(_ID.findall(bytes(response)))
        ]
        sql = "DELETE FROM requests WHERE tenant = ? AND request_id IN (SELECT unnest(?))"
        if names:
            self._connection.execute(sql, [tenant, names])
        return [(tenant, name) for name in names]

    def _drop_traces(self, tenant: str, user_id: str) -> None:
        """Removes the user's traces, and those of recalls that may have looked at the user."""
        sql = "SELECT recall_id, user_id, header FROM traces WHERE tenant = ?"
        found = self._connection.execute(sql, [tenant]).fetchall()
        named = user_id.encode()
        gone = [
            recall_id
            for recall_id, owner, header in found
            if owner == user_id or named in bytes(header)
        ]
        sql = "DELETE FROM traces WHERE tenant = ? AND recall_id IN (SELECT unnest(?))"
        if gone:
            self._connection.execute(sql, [tenant, gone])


def condemned_rows(reader: Reader, tombstones: Tombstones) -> list[Condemned]:
    """Returns every row that must not come back, in label order.

    Args:
        reader: of any database of format 1 or later.
        tombstones: of the present one.
    """
    if not len(tombstones):
        return []
    names = "label, id, tenant, user_id, agent_id, namespace, key, content_hash, create_time_us"
    sql = f"SELECT {names} FROM memories WHERE label BETWEEN ? AND ? ORDER BY label"
    labels = reader.arrays("SELECT label FROM memories ORDER BY label")["label"]
    gone: list[Condemned] = []
    for some in unhurried(labels.tolist(), _LOOKED_AT_COUNT):
        found = reader.rows(sql, (some[0], some[-1]))
        for part in unhurried(found):
            gone += _condemned_of(part, tombstones)
    return gone


def _condemned_of(found: Sequence[tuple[Any, ...]], tombstones: Tombstones) -> list[Condemned]:
    claims = [
        Claim(memory_id, Scope(tenant, user_id, agent_id, "", namespace), key, bytes(digest), made)
        for _, memory_id, tenant, user_id, agent_id, namespace, key, digest, made in found
    ]
    places = np.flatnonzero(tombstones.condemned(claims)).tolist()
    return [found[place][:4] for place in places]
