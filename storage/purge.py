"""The contract of purging, and the plain types that cross it.

A purge has two steps. The first is part of a write batch: rows, answers and traces go, tombstones
and a note of the purge come, in one transaction; from then on nothing shows what was purged, also
after a crash. The second makes the bytes go (`erase.py`); until it is complete the purge is
pending, and the next start finishes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recalld.storage.record import MemoryRecord
from recalld.storage.tombstones import Tombstones


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """Rows that go for good, with a write batch of their tenant.

    Attributes:
        id: of the purge, 32 lower-case hex digits; several batches may share it.
        user_id: whose rows they are.
        time_us: when it was asked for, microseconds since the epoch.
        records: those to remove, all of this user.
        is_whole_user: nothing of the user is to come back, also what is not here now.
        textless_methods: answers of these RPCs hold no text of a memory and stay, so that a
            repeated request does not write again; other answers that name a purged id go.
    """

    id: str
    user_id: str
    time_us: int
    records: tuple[MemoryRecord, ...]
    is_whole_user: bool
    textless_methods: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredPurge:
    """What is known of a purge; holds no content.

    Attributes:
        id: 32 lower-case hex digits.
        tenant: whose.
        create_time_us: when it was asked for.
        complete_time_us: when its last byte was gone; 0 = pending.
        row_count: rows removed.
        snapshot_count: snapshots rewritten.
        verified_file_count: files searched afterwards; 0 when a restart had to finish it, since
            nobody knew any more what to search for.
    """

    id: str
    tenant: str
    create_time_us: int
    complete_time_us: int = 0
    row_count: int = 0
    snapshot_count: int = 0
    verified_file_count: int = 0


@dataclass(frozen=True, slots=True)
class Legacy:
    """What a database hands on to the one that takes its place.

    Attributes:
        key: of its tombstones.
        tombstones: hash and time.
        purges: all it knows.
        revisions: newest revision of each tenant.
    """

    key: bytes
    tombstones: tuple[tuple[bytes, int], ...]
    purges: tuple[StoredPurge, ...]
    revisions: dict[str, int]


class PurgeStore(Protocol):
    """The part of a store that keeps purges and tombstones.

    Attributes:
        tombstones: all there are; grows with every purge.

    Thread safety: every method may be called from any thread.
    """

    @property
    def tombstones(self) -> Tombstones:
        """All tombstones."""
        ...

    def find(self, tenant: str, purge_id: str) -> StoredPurge | None:
        """Returns one purge of a tenant."""
        ...

    def pending(self) -> list[StoredPurge]:
        """Returns purges whose bytes are not known to be gone, oldest first."""
        ...

    def complete(self, purges: Sequence[StoredPurge]) -> None:
        """Notes durably what became of purges; raises StoreFailed like a write."""
        ...
