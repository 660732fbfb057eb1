"""Renewals in memory: the oracle of `storage/renewals.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from recalld.storage.renewal import Renewal

if TYPE_CHECKING:
    from recalld.storage.memory_store import MemoryImage
    from recalld.storage.store import StoredMemory

T = TypeVar("T")


class MemoryRenewals:
    """`RenewalStore` over the image of a store; futures are resolved when they are returned."""

    def __init__(self, opened: Callable[[], MemoryImage]) -> None:
        """Args: opened: the store's image; raises StoreClosed after closing."""
        self._opened = opened

    def put(self, renewals: Sequence[Renewal]) -> Future[None]:
        """See `RenewalStore.put`."""
        image = self._opened()
        image.renewals |= {one.label: one for one in renewals if one.label in image.memories}
        return _done(None)

    def of_partition(self, tenant: str, user_id: str, fingerprint: str) -> list[Renewal]:
        """See `RenewalStore.of_partition`."""
        image = self._opened()
        own = [image.renewals.get(memory.record.label) for memory in self._rows(tenant, user_id)]
        return [one for one in own if one is not None and one.fingerprint == fingerprint]

    def apply(self, tenant: str, user_id: str, fingerprint: str) -> Future[int]:
        """See `RenewalStore.apply`."""
        image = self._opened()
        waiting = self.of_partition(tenant, user_id, fingerprint)
        for one in waiting:
            image.memories[one.label] = replace(
                image.memories[one.label], vector=one.vector, fingerprint=fingerprint, cues=one.cues
            )
        for memory in self._rows(tenant, user_id):
            image.renewals.pop(memory.record.label, None)
        return _done(len(waiting))

    def foreign(self, fingerprint: str) -> list[tuple[str, str, int]]:
        """See `RenewalStore.foreign`."""
        found: Counter[tuple[str, str]] = Counter()
        for memory in self._opened().memories.values():
            lacks_cues = bool(memory.record.relevant_when) and memory.cues is None
            if memory.fingerprint != fingerprint or memory.vector is None or lacks_cues:
                found[memory.record.scope.tenant, memory.record.scope.user_id] += 1
        return [(*key, count) for key, count in sorted(found.items())]

    def fingerprints(self) -> dict[str, int]:
        """See `RenewalStore.fingerprints`."""
        memories = self._opened().memories.values()
        return {one.fingerprint: one.vector.size for one in memories if one.vector is not None}

    def drop_others(self, fingerprint: str) -> int:
        """See `RenewalStore.drop_others`."""
        image = self._opened()
        before = len(image.renewals)
        image.renewals = {
            label: one
            for label, one in image.renewals.items()
            if one.fingerprint == fingerprint and label in image.memories
        }
        return before - len(image.renewals)

    def _rows(self, tenant: str, user_id: str) -> list[StoredMemory]:
        scopes = sorted(self._opened().memories.items())
        where = (tenant, user_id)
        return [m for _, m in scopes if (m.record.scope.tenant, m.record.scope.user_id) == where]


def _done(result: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(result)
    return future
