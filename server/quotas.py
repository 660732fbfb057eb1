"""What one tenant may use: calls a second, and memories.

A quota counts for each tenant alone. Of a call that is over it nothing is done or stored, and it is
told after which time a retry can help.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from recalld.server.change import Change
from recalld.server.clock import Clock
from recalld.server.errors import QuotaExceeded
from recalld.server.partitions import Partitions
from recalld.server.sections import QuotasSection

MEMORIES_RETRY_S = 60.0
"""Only forgetting for good makes room, so a caller is told to come back late."""
BUCKET_COUNT_MAX = 10_000
"""Tenants whose calls are counted; the one that called least recently goes first, and starts anew
with a full bucket, which it has had time to fill anyway."""


@dataclass(slots=True)
class _Bucket:
    """Calls that a tenant may make at once; fills up by the rate."""

    level: float
    filled_s: float


@dataclass
class CallRate:
    """Token buckets, one a tenant: as many calls at once as a second allows, then at that rate."""

    settings: QuotasSection
    clock: Clock
    _buckets: dict[str, _Bucket] = field(default_factory=dict, init=False)

    def take(self, tenant: str) -> None:
        """Count one call.

        Raises:
            QuotaExceeded: the tenant's calls of this second are used up.
        """
        rate = self.settings.calls_per_s
        if not rate:
            return
        size = max(1.0, rate)
        now_s = self.clock.monotonic_s()
        bucket = self._buckets.pop(tenant, None) or _Bucket(size, now_s)
        # Put back last: the table is in the order of use.
        self._buckets[tenant] = bucket
        if len(self._buckets) > BUCKET_COUNT_MAX:
            del self._buckets[next(iter(self._buckets))]
        bucket.level = min(size, bucket.level + (now_s - bucket.filled_s) * rate)
        bucket.filled_s = now_s
        if bucket.level < 1.0:
            raise QuotaExceeded(
                "quotas.calls_per_s",
                f"this tenant may make {rate:g} calls a second",
                retry_after_s=(1.0 - bucket.level) / rate,
            )
        bucket.level -= 1.0


@dataclass
class MemoryQuota:
    """Memories of any status that a tenant holds; those being written count already."""

    memories_max: int
    partitions: Partitions
    _coming: Counter[str] = field(default_factory=Counter, init=False)

    @contextlib.contextmanager
    def room_for(self, change: Change) -> Iterator[None]:
        """Room for the new memories of a change while they are written.

        Raises:
            QuotaExceeded: the tenant would hold too many.
        """
        tenant = change.partition.tenant
        count = sum(label not in change.partition.records for label in change.rows)
        if self.memories_max and count:
            held = self.partitions.count_of(tenant) + self._coming[tenant]
            if held + count > self.memories_max:
                raise QuotaExceeded(
                    "quotas.memories_max",
                    f"{count} more memories: this tenant holds {held} of {self.memories_max}",
                    retry_after_s=MEMORIES_RETRY_S,
                )
        self._coming[tenant] += count
        try:
            yield
        finally:
            self._coming[tenant] -= count
            if not self._coming[tenant]:
                del self._coming[tenant]
