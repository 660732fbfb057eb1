"""What was purged, as keyed hashes: enough to know it again, nothing to read it from.

A tombstone stands for a memory id, for a value in its place (user, agent, namespace, key, content),
or for a whole user, with the time of the purge. It never holds text, and says nothing to anybody
without the key, who would also have to guess the text.

Invariants: a tombstone never goes away; of two for the same thing the later time counts.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence

import numpy as np

from recalld.storage.record import MemoryRecord, Scope

HASH_BYTES = 16
KEY_BYTES = 32
_LENGTH_BYTES = 4


class Hasher:
    """Makes the hashes of one data directory."""

    def __init__(self, key: bytes) -> None:
        """Keeps the secret, `KEY_BYTES` long."""
        assert len(key) == KEY_BYTES
        self.key = key

    def of_id(self, memory_id: str) -> bytes:
        """Hash of a memory id."""
        return self._hash(b"id", memory_id.encode())

    def of_value(self, scope: Scope, key: str, content_hash: bytes) -> bytes:
        """Hash of what a memory says, in its place."""
        where = (scope.tenant, scope.user_id, scope.agent_id, scope.namespace, key)
        return self._hash(b"value", *(part.encode() for part in where), content_hash)

    def of_user(self, tenant: str, user_id: str) -> bytes:
        """Hash of a user."""
        return self._hash(b"user", tenant.encode(), user_id.encode())

    def of_purge(
        self, tenant: str, user_id: str, records: Sequence[MemoryRecord], is_whole_user: bool
    ) -> list[bytes]:
        """Every hash that a purge of these records leaves.

        A record without a content hash leaves the one of its id only.
        """
        made = [self.of_id(record.id) for record in records]
        made += [
            self.of_value(record.scope, record.key, record.content_hash)
            for record in records
            if record.content_hash
        ]
        if is_whole_user:
            made.append(self.of_user(tenant, user_id))
        return list(dict.fromkeys(made))

    def _hash(self, *parts: bytes) -> bytes:
        framed = b"".join(len(part).to_bytes(_LENGTH_BYTES, "little") + part for part in parts)
        return hashlib.blake2b(framed, key=self.key, digest_size=HASH_BYTES).digest()


class Tombstones:
    """The tombstones of a store in memory: 16 bytes each.

    Thread safety: readers take one reference; one thread at a time may add.
    """

    def __init__(self, hasher: Hasher, known: Iterable[tuple[bytes, int]] = ()) -> None:
        """Starts with (hash, time of purge in microseconds since the epoch)."""
        self.hasher = hasher
        self._lock = threading.Lock()
        self._table = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self.add(known)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._table[0])

    def add(self, fresh: Iterable[tuple[bytes, int]]) -> None:
        """Takes in more; of equal hashes the latest time counts."""
        given = list(fresh)
        if not given:
            return
        with self._lock:
            hashes = np.array([_number(value) for value, _ in given], np.uint64)
            times = np.array([time_us for _, time_us in given], np.int64)
            hashes = np.concatenate([self._table[0], hashes])
            times = np.concatenate([self._table[1], times])
            order = np.lexsort((times, hashes))
            hashes, times = hashes[order], times[order]
            is_last = np.append(hashes[1:] != hashes[:-1], True)
            self._table = (hashes[is_last], times[is_last])

    def time_us(self, value: bytes) -> int | None:
        """When what a hash stands for was purged last; None = never.

        Of 16 bytes the first eight are compared: among a million tombstones a chance hit has
        odds of one in 10^13.
        """
        hashes, times = self._table
        wanted = np.uint64(_number(value))
        place = int(np.searchsorted(hashes, wanted))
        if place == len(hashes) or hashes[place] != wanted:
            return None
        return int(times[place])

    def condemns(
        self, scope: Scope, memory_id: str, key: str, content_hash: bytes, create_time_us: int
    ) -> bool:
        """Whether a row of another time must not come back.

        Its id was purged, or its value or its whole user was, after the row was made: what is
        said anew after a purge is another memory.
        """
        hasher = self.hasher
        if self.time_us(hasher.of_id(memory_id)) is not None:
            return True
        whole = hasher.of_user(scope.tenant, scope.user_id)
        same = hasher.of_value(scope, key, content_hash) if content_hash else whole
        found = (self.time_us(whole), self.time_us(same))
        return any(time_us is not None and create_time_us <= time_us for time_us in found)


def table_of(rows: Iterable[tuple[object, int]]) -> list[tuple[bytes, int]]:
    """Rows of the table as they are taken in: a database gives blobs as bytes-like objects."""
    return [(bytes(value), time_us) for value, time_us in rows]  # type: ignore[call-overload]


def _number(value: bytes) -> int:
    return int.from_bytes(value[:8], "little")
