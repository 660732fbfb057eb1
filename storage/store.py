"""The contract of a durable store, and the plain types that cross it.

It holds no data itself and knows no database. `memory_store` (the oracle) and `duckdb_store`
keep it; `tests/conformance/store_contract.py` is its test.

Invariants every backend holds:
1. A batch is applied whole or not at all.
2. A resolved future means durable: the batch survives kill -9 and, on the media that
   FORMAT.md assumes, loss of power.
3. Batches take effect in the order in which they were submitted.
4. A tenant's revision never goes down, and no row carries a higher one than its tenant.
5. After a failed write the store refuses writes until it is reopened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recalld.storage.purge import PurgeOrder, PurgeStore
from recalld.storage.record import MemoryRecord
from recalld.storage.renewal import RenewalStore
from recalld.storage.sealed_value import SealedStore, SealedValue
from recalld.storage.sizes import Partition, StoreStats, Tally

BATCH_ROW_COUNT_MAX = 4_096
QUEUE_ROW_COUNT_MAX = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class StoredMemory:
    """One row: the record, its vector and which model made the vector.

    Attributes:
        record: all its text is valid UTF-8; `revision` equals that of the batch that wrote it.
        vector: float32[dim], finite, C-contiguous, read-only when it comes from a store;
            None when there is none yet.
        fingerprint: of the model that made the vectors; "" exactly when there is no vector.
        cues: float32[c, dim], one row per text of `record.relevant_when`, of the same model;
            None when there are no cues, or no vectors of them yet.
    """

    record: MemoryRecord
    vector: NDArray[np.float32] | None
    fingerprint: str
    cues: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """An answer already given, so that a repeated request gets the same one.

    Attributes:
        tenant, request_id: the key; neither is empty.
        method: full RPC name.
        body_hash: of the request's body, to tell a repeat from a reused id.
        response: serialised answer.
        create_time_us: microseconds since the epoch.
    """

    tenant: str
    request_id: str
    method: str
    body_hash: bytes
    response: bytes
    create_time_us: int


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """What one call changes, all or nothing.

    Attributes:
        tenant: owner of every row and of the request.
        revision: above the tenant's last one; may equal it when nothing is written or purged.
        memories: upserts by `record.label`, at most BATCH_ROW_COUNT_MAX; the last of equal
            labels wins.
        request: remembered in the same transaction; None = the call had no request id.
        purge: rows that go for good in the same transaction; None = none. None of them is among
            `memories`.
        sealed: upserts by label and placeholder, each of a row of `memories`.
    """

    tenant: str
    revision: int
    memories: tuple[StoredMemory, ...] = ()
    request: StoredRequest | None = None
    purge: PurgeOrder | None = None
    sealed: tuple[SealedValue, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """One kept trace of a recall; its two parts are opaque here and hold no text of a memory.

    Attributes:
        tenant, recall_id: the key; neither is empty.
        user_id: whose recall it was; not empty.
        create_time_us: clock of the recall, microseconds since the epoch.
        header: everything but the candidates; not empty.
        candidates: the candidates; empty where only headers were asked for.
    """

    tenant: str
    recall_id: str
    user_id: str
    create_time_us: int
    header: bytes
    candidates: bytes = b""


class TraceStore(Protocol):
    """The part of a store that keeps traces, which nothing depends on: a crash may lose some.

    Thread safety: every method may be called from any thread.
    """

    def put(self, traces: Sequence[StoredTrace], kept_max: int) -> Future[None]:
        """Queues traces behind the writes that wait; of each tenant's the newest are kept.

        Args:
            traces: distinct keys; a known key is replaced.
            kept_max: traces that a tenant of these keeps, >= 1.

        Raises:
            StoreBusy, StoreClosed, StoreFailed: nothing was queued. The future itself fails with
            StoreFailed only.
        """
        ...

    def find(self, tenant: str, recall_id: str) -> StoredTrace | None:
        """Returns a durable trace."""
        ...

    def page(
        self, tenant: str, user_id: str, before: tuple[int, str] | None, count: int
    ) -> list[StoredTrace]:
        """Returns headers of a user's traces, newest first, ties by larger recall id first.

        Args:
            tenant, user_id: whose.
            before: time and id of the last one seen; None starts at the newest.
            count: at most so many, >= 0.
        """
        ...


class Store(Protocol):
    """Durable rows, addressed by label, partition and request id.

    Attributes:
        read_only_reason: why it was opened to be read only, so that every write raises
            StoreReadOnly; "" = it takes writes.
        traces: kept traces of recalls.
        sealed: sealed originals.
        renewals: vectors of another model that wait for their place.
        purges: what was purged.

    Thread safety: every method may be called from any thread.
    """

    @property
    def read_only_reason(self) -> str:
        """Why it takes no writes; "" = it does."""
        ...

    @property
    def traces(self) -> TraceStore:
        """Kept traces of recalls, usable as long as the store is open."""

    @property
    def sealed(self) -> SealedStore:
        """Sealed originals, usable as long as the store is open."""

    @property
    def renewals(self) -> RenewalStore:
        """Vectors of another model, usable as long as the store is open."""

    @property
    def purges(self) -> PurgeStore:
        """What was purged, usable as long as the store is open."""

    def submit(self, batch: WriteBatch) -> Future[None]:
        """Queues a batch; the future resolves when it is durable.

        The future cannot be cancelled: what was queued is written. Its callbacks run on the
        writer's thread and must be short.

        Raises:
            InvalidBatch, StaleRevision, StoreBusy, StoreClosed, StoreFailed: nothing was queued.
            The future itself fails with StoreFailed only: outcome unknown until reopened.
        """
        ...

    def write(self, batch: WriteBatch) -> None:
        """Is `submit(batch).result()`; raises what either raises."""
        ...

    def find_request(self, tenant: str, request_id: str) -> StoredRequest | None:
        """Returns the durable answer to a request id, however old, until it is pruned."""
        ...

    def prune_requests(self, before_us: int) -> int:
        """Forgets answers with `create_time_us < before_us`, durably; returns how many."""
        ...

    def newest_request_us(self) -> int:
        """Returns the time of the newest remembered answer; 0 = there is none."""
        ...

    def load(self) -> Iterator[StoredMemory]:
        """Streams every row in label order, partitions mixed, memory bounded by a chunk.

        Rows committed meanwhile may come in their old or new state; those committed before the
        call are never missed.

        Raises:
            Corrupt: a row or a block cannot be read.
        """
        ...

    def partitions(self) -> list[Partition]:
        """Returns every partition that has rows, ordered by tenant, then user id.

        Only while nothing is written.
        """
        ...

    def tally(self, tenant: str, user_id: str = "") -> list[Tally]:
        """Counts one partition's rows by status and kind, or, without a user, the tenant's."""
        ...

    def load_partition(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None = None
    ) -> Iterator[StoredMemory]:
        """Streams one partition's rows in label order, memory bounded by a chunk.

        Args:
            tenant, user_id: whose.
            labels: int64[n], ascending, of all its rows, where they are known: spares a scan.

        Raises:
            Corrupt: a row or a block cannot be read.
        """
        ...

    def revisions(self) -> dict[str, int]:
        """Returns each tenant's newest durable revision."""
        ...

    def allocate_labels(self, count: int) -> range:
        """Hands out `count` consecutive labels that no row has and no other call got.

        Labels that were handed out and never written may be handed out again after reopening.
        """
        ...

    def stats(self) -> StoreStats:
        """Returns sizes and speeds; costs about a millisecond."""
        ...

    def checkpoint(self) -> None:
        """Moves the log into the main file; raises StoreFailed like a write."""
        ...

    def rewrite(self) -> None:
        """Leaves no byte of removed rows in the store's files; writes wait, reads hardly.

        Raises:
            CopyFailed: there is no room for a second copy; nothing was changed.
            StoreFailed, StoreClosed: like a write.
        """
        ...

    def check(self) -> list[str]:
        """Reads everything and returns one line per kind of violation; empty when sound."""
        ...

    def close(self) -> None:
        """Writes what is queued, checkpoints and releases the files; safe to call twice."""
        ...
