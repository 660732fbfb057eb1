"""What was purged, as keyed hashes: enough to know it again, nothing to read it from.

A tombstone stands for a memory id, for a value in its place (user, agent, namespace, key, content),
or for a whole user, with the time of the purge. It never holds text, and says nothing to anybody
without the key, who would also have to guess the text.

Invariants: a tombstone never goes away; of two for the same thing the later time counts.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.storage.record import MemoryRecord, Scope

HASH_BYTES = 16
KEY_BYTES = 32
_LENGTH = struct.Struct("<I").pack


class Hasher:
    """Makes the hashes of one data directory."""

    def __init__(self, key: bytes) -> None:
        """Keeps the secret, `KEY_BYTES` long."""
        assert len(key) == KEY_BYTES
        self.key = key
        self._keyed = hashlib.blake2b(key=key, digest_size=HASH_BYTES)

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
        made = self._keyed.copy()  # A third of the time of keying anew.
        made.update(b"".join([b"%b%b" % (_LENGTH(len(part)), part) for part in parts]))
        return made.digest()


class Claim(NamedTuple):
    """What a row says of itself; the fields are those of `MemoryRecord`."""

    memory_id: str
    scope: Scope
    key: str
    content_hash: bytes
    create_time_us: int


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
            hashes = _numbers([value for value, _ in given])
            times = np.array([time_us for _, time_us in given], np.int64)
            hashes = np.concatenate([self._table[0], hashes])
            times = np.concatenate([self._table[1], times])
            order = np.lexsort((times, hashes))
            hashes, times = hashes[order], times[order]
            is_last = np.append(hashes[1:] != hashes[:-1], True)
            self._table = (hashes[is_last], times[is_last])

    def time_us(self, value: bytes) -> int | None:
        """When what a hash stands for was purged last; None = never."""
        (found,) = self.times_us([value])
        return int(found) if found else None

    def times_us(self, values: Sequence[bytes]) -> NDArray[np.int64]:
        """When what each hash stands for was purged last, int64[n]; 0 = never.

        Of 16 bytes the first eight are compared: among a million tombstones a chance hit has
        odds of one in 10^13.
        """
        hashes, times = self._table
        if not len(hashes):
            return np.zeros(len(values), np.int64)
        wanted = _numbers(values)
        places = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return np.where(hashes[places] == wanted, times[places], 0)

    def condemned(self, claims: Sequence[Claim]) -> NDArray[np.bool_]:
        """Which rows of another time must not come back, bool[n].

        Those whose id was purged, or whose value or whole user was, after the row was made: what
        is said anew after a purge is another memory.
        """
        hasher = self.hasher
        made_us = np.fromiter((claim.create_time_us for claim in claims), np.int64, len(claims))
        is_gone = self.times_us([hasher.of_id(claim.memory_id) for claim in claims]) > 0
        owners = [(claim.scope.tenant, claim.scope.user_id) for claim in claims]
        whole = {owner: hasher.of_user(*owner) for owner in set(owners)}
        is_gone |= self.times_us([whole[owner] for owner in owners]) >= np.maximum(made_us, 1)
        # Few rows are older than the last purge, or many: a hash is made only where it can tell.
        newest_us = int(self._table[1].max(initial=0))
        asked = [n for n, claim in enumerate(claims) if self._may_repeat(claim, newest_us)]
        same = self.times_us([self._value_of(claims[n]) for n in asked])
        is_gone[asked] |= same >= np.maximum(made_us[asked], 1)
        return is_gone

    @staticmethod
    def _may_repeat(claim: Claim, newest_us: int) -> bool:
        return bool(claim.content_hash) and claim.create_time_us <= newest_us

    def _value_of(self, claim: Claim) -> bytes:
        return self.hasher.of_value(claim.scope, claim.key, claim.content_hash)


def table_of(rows: Iterable[tuple[object, int]]) -> list[tuple[bytes, int]]:
    """Rows of the table as they are taken in: a database gives blobs as bytes-like objects."""
    return [(bytes(value), time_us) for value, time_us in rows]  # type: ignore[call-overload]


def _numbers(values: Sequence[bytes]) -> NDArray[np.uint64]:
    """The first eight bytes of each hash, uint64[n]."""
    return np.frombuffer(b"".join(values), "<u8")[:: HASH_BYTES // 8]
