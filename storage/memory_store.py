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

from recalld.storage import rules
from recalld.storage.counters import Counters
from recalld.storage.errors import StoreClosed
from recalld.storage.store import (
    Partition,
    StoredMemory,
    StoredRequest,
    StoredTrace,
    StoreStats,
    WriteBatch,
)


@dataclass(slots=True)
class MemoryImage:
    """What a closed store leaves behind, as a directory would."""

    memories: dict[int, StoredMemory] = field(default_factory=dict)
    requests: dict[tuple[str, str], StoredRequest] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    traces: dict[tuple[str, str], StoredTrace] = field(default_factory=dict)
    sealed: dict[tuple[int, str], bytes] = field(default_factory=dict)


class MemoryStore:
    """`Store` in dictionaries; see the contract for what each method promises."""

    def __init__(self, image: MemoryImage | None = None) -> None:
        """Opens `image`, or an empty one."""
        self._image = MemoryImage() if image is None else image
        self._lock = threading.RLock()
        self._closed = False
        label_max = max(self._image.memories, default=0)
        self._counters = Counters(label_max, self._image.revisions)
        self._commit_count = 0
        self.traces = MemoryTraces(self._opened)
        self.sealed = MemorySealed(self._opened)

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

    def load(self) -> Iterator[StoredMemory]:
        """See `Store.load`."""
        with self._lock:
            memories = self._opened().memories
            return iter([memories[label] for label in sorted(memories)])

    def partitions(self) -> list[Partition]:
        """See `Store.partitions`."""
        scopes = (memory.record.scope for memory in self.load())
        counts = Counter((scope.tenant, scope.user_id) for scope in scopes)
        return [Partition(*key, count) for key, count in sorted(counts.items())]

    def load_partition(self, tenant: str, user_id: str) -> list[StoredMemory]:
        """See `Store.load_partition`."""
        wanted = (tenant, user_id)
        return [
            memory
            for memory in self.load()
            if (memory.record.scope.tenant, memory.record.scope.user_id) == wanted
        ]

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
