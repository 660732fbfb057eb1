"""The in-memory `Store`: the oracle that the durable ones are compared with.

It keeps the whole contract except durability, in the plainest way, and touches no file.
"Reopening" is a new store on the same `MemoryImage`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recalld.storage import rules
from recalld.storage.counters import Counters
from recalld.storage.errors import StoreClosed
from recalld.storage.memory_renewals import MemoryRenewals
from recalld.storage.purge import PurgeOrder, StoredPurge
from recalld.storage.renewal import Renewal
from recalld.storage.sizes import Partition, StoreStats, Tally
from recalld.storage.store import StoredMemory, StoredRequest, StoredTrace, WriteBatch
from recalld.storage.tombstones import KEY_BYTES, Hasher, Tombstones


@dataclass(slots=True)
class MemoryImage:
    """What a closed store leaves behind, as a directory would."""

    memories: dict[int, StoredMemory] = field(default_factory=dict)
    requests: dict[tuple[str, str], StoredRequest] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    traces: dict[tuple[str, str], StoredTrace] = field(default_factory=dict)
    sealed: dict[tuple[int, str], bytes] = field(default_factory=dict)
    renewals: dict[int, Renewal] = field(default_factory=dict)
    purges: dict[str, StoredPurge] = field(default_factory=dict)
    tombstones: dict[bytes, int] = field(default_factory=dict)
    label_max: int = 0


class MemoryStore:
    """`Store` in dictionaries; see the contract for what each method promises."""

    read_only_reason = ""

    def __init__(self, image: MemoryImage | None = None) -> None:
        """Opens `image`, or an empty one."""
        self._image = MemoryImage() if image is None else image
        self._lock = threading.RLock()
        self._closed = False
        label_max = max(self._image.memories, default=0)
        label_max = max(label_max, self._image.label_max)
        self._counters = Counters(label_max, self._image.revisions)
        self._commit_count = 0
        self.traces = MemoryTraces(self._opened)
        self.sealed = MemorySealed(self._opened)
        self.renewals = MemoryRenewals(self._opened)
        self.purges = MemoryPurges(self._opened)

    def submit(self, batch: WriteBatch) -> Future[None]:
        """See `Store.submit`; the future is resolved when it is returned."""
        rules.require_valid(batch)
        self._counters.submit(batch, self._apply)
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        future.set_result(None)
        return future

    def write(self, batch: WriteBatch) -> None:
        """See `Store.write`."""
        self.submit(batch).result()

    def find_request(self, tenant: str, request_id: str) -> StoredRequest | None:
        """See `Store.find_request`."""
        with self._lock:
            return self._opened().requests.get((tenant, request_id))

    def prune_requests(self, before_us: int) -> int:
        """See `Store.prune_requests`."""
        with self._lock:
            requests = self._opened().requests
            old = [key for key, held in requests.items() if held.create_time_us < before_us]
            for key in old:
                del requests[key]
        return len(old)

    def newest_request_us(self) -> int:
        """See `Store.newest_request_us`."""
        with self._lock:
            found = [one.create_time_us for one in self._opened().requests.values()]
            return max(found, default=0)

    def load(self) -> Iterator[StoredMemory]:
        """See `Store.load`."""
        with self._lock:
            memories = self._opened().memories
            return iter([memories[label] for label in sorted(memories)])

    def partitions(self) -> list[Partition]:
        """See `Store.partitions`."""
        held: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for memory in self.load():
            record, scope = memory.record, memory.record.scope
            rows = held.setdefault((scope.tenant, scope.user_id), [])
            rows.append((record.label, record.update_time_us))
        columns = {key: np.array(rows).T for key, rows in sorted(held.items())}
        return [Partition(*key, rows[0], int(rows[1].max())) for key, rows in columns.items()]

    def tally(self, tenant: str, user_id: str = "") -> list[Tally]:
        """See `Store.tally`."""
        records = (memory.record for memory in self.load())
        counts = Counter(
            (record.status, record.kind)
            for record in records
            if record.scope.tenant == tenant and user_id in ("", record.scope.user_id)
        )
        return [Tally(*key, count) for key, count in sorted(counts.items())]

    def load_partition(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None = None
    ) -> Iterator[StoredMemory]:
        """See `Store.load_partition`."""
        scopes = ((memory, memory.record.scope) for memory in self.load())
        return iter([m for m, s in scopes if (s.tenant, s.user_id) == (tenant, user_id)])

    def revisions(self) -> dict[str, int]:
        """See `Store.revisions`."""
        with self._lock:
            return dict(self._opened().revisions)

    def allocate_labels(self, count: int) -> range:
        """See `Store.allocate_labels`."""
        self._opened()
        return self._counters.allocate_labels(count)

    def stats(self) -> StoreStats:
        """See `Store.stats`; nothing waits and nothing is on disk."""
        with self._lock:
            image = self._opened()
            return StoreStats(
                row_count=len(image.memories),
                request_count=len(image.requests),
                file_bytes=0,
                wal_bytes=0,
                queue_row_count=0,
                commit_count=self._commit_count,
                last_commit_us=0,
            )

    def checkpoint(self) -> None:
        """See `Store.checkpoint`; there is no log."""
        self._opened()

    def rewrite(self) -> None:
        """See `Store.rewrite`; there is no file."""
        self._opened()

    def check(self) -> list[str]:
        """See `Store.check`."""
        with self._lock:
            image = self._opened()
            requests = list(image.requests.values())
            return rules.store_violations(self.load(), requests, self.revisions)

    def close(self) -> None:
        """See `Store.close`."""
        self._closed = True

    def _apply(self, batch: WriteBatch) -> None:
        with self._lock:
            image = self._opened()
            image.memories |= {memory.record.label: memory for memory in batch.memories}
            if batch.request is not None:
                image.requests[(batch.tenant, batch.request.request_id)] = batch.request
            image.sealed |= {(s.label, s.placeholder): s.data for s in batch.sealed}
            image.revisions[batch.tenant] = batch.revision
            if batch.purge is not None:
                self.purges.apply(batch.tenant, batch.purge)
            self._commit_count += 1

    def _opened(self) -> MemoryImage:
        if self._closed:
            raise StoreClosed("the store is closed")
        return self._image


class MemorySealed:
    """`SealedStore` over the image of a store."""

    def __init__(self, opened: Callable[[], MemoryImage]) -> None:
        """Args: opened: the store's image; raises StoreClosed after closing."""
        self._opened = opened

    def find(self, label: int) -> dict[str, bytes]:
        """See `SealedStore.find`."""
        held = list(self._opened().sealed.items())
        return {placeholder: data for (row, placeholder), data in held if row == label}

    def prune(self) -> int:
        """See `SealedStore.prune`."""
        image = self._opened()
        gone = [key for key in image.sealed if key[0] not in image.memories]
        for key in gone:
            del image.sealed[key]
        return len(gone)


class MemoryTraces:
    """`TraceStore` over the image of a store."""

    def __init__(self, opened: Callable[[], MemoryImage]) -> None:
        """Args: opened: the store's image; raises StoreClosed after closing."""
        self._opened = opened
        self._lock = threading.Lock()

    def put(self, traces: Sequence[StoredTrace], kept_max: int) -> Future[None]:
        """See `TraceStore.put`; the future is resolved when it is returned."""
        with self._lock:
            kept = self._opened().traces
            kept |= {(trace.tenant, trace.recall_id): trace for trace in traces}
            for tenant in {trace.tenant for trace in traces}:
                for trace in self._newest_first(tenant)[kept_max:]:
                    del kept[tenant, trace.recall_id]
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def find(self, tenant: str, recall_id: str) -> StoredTrace | None:
        """See `TraceStore.find`."""
        return self._opened().traces.get((tenant, recall_id))

    def page(
        self, tenant: str, user_id: str, before: tuple[int, str] | None, count: int
    ) -> list[StoredTrace]:
        """See `TraceStore.page`."""
        with self._lock:
            own = [trace for trace in self._newest_first(tenant) if trace.user_id == user_id]
        later = [t for t in own if before is None or (t.create_time_us, t.recall_id) < before]
        return [replace(trace, candidates=b"") for trace in later[:count]]

    def _newest_first(self, tenant: str) -> list[StoredTrace]:
        kept = [trace for trace in self._opened().traces.values() if trace.tenant == tenant]
        return sorted(kept, key=lambda t: (t.create_time_us, t.recall_id), reverse=True)


class MemoryPurges:
    """`PurgeStore` over the image of a store; its key is no secret, since nothing is kept."""

    def __init__(self, opened: Callable[[], MemoryImage]) -> None:
        """Args: opened: the store's image; raises StoreClosed after closing."""
        self._opened = opened
        self.tombstones = Tombstones(Hasher(bytes(KEY_BYTES)), opened().tombstones.items())

    def find(self, tenant: str, purge_id: str) -> StoredPurge | None:
        """See `PurgeStore.find`."""
        found = self._opened().purges.get(purge_id)
        return found if found is not None and found.tenant == tenant else None

    def pending(self) -> list[StoredPurge]:
        """See `PurgeStore.pending`."""
        waiting = [p for p in self._opened().purges.values() if not p.complete_time_us]
        return sorted(waiting, key=lambda purge: (purge.create_time_us, purge.id))

    def complete(self, purges: Sequence[StoredPurge]) -> None:
        """See `PurgeStore.complete`."""
        self._opened().purges.update({purge.id: purge for purge in purges})

    def apply(self, tenant: str, order: PurgeOrder) -> None:
        """Carries out an order, as a part of its batch."""
        image = self._opened()
        for record in order.records:
            image.memories.pop(record.label, None)
            image.renewals.pop(record.label, None)
            image.label_max = max(image.label_max, record.label)
        image.sealed = {key: s for key, s in image.sealed.items() if key[0] in image.memories}
        ids = [record.id.encode() for record in order.records]
        for key, request in list(image.requests.items()):
            named = key[0] == tenant and any(one in request.response for one in ids)
            if named and request.method not in order.textless_methods:
                del image.requests[key]
        for key, trace in list(image.traces.items()):
            named = trace.user_id == order.user_id or order.user_id.encode() in trace.header
            if key[0] == tenant and named:
                del image.traces[key]
        hashes = self.tombstones.hasher.of_purge(
            tenant, order.user_id, order.records, order.is_whole_user
        )
        image.tombstones.update(dict.fromkeys(hashes, order.time_us))
        self.tombstones.add((value, order.time_us) for value in hashes)
        before = image.purges.get(order.id)
        count = len(order.records) + (before.row_count if before else 0)
        image.purges[order.id] = StoredPurge(order.id, tenant, order.time_us, row_count=count)
