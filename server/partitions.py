"""The partitions that this process holds, by (tenant, user_id).

A look-up never creates one by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from recalld.server.models import Models
from recalld.server.partition import Partition


class Partitions:
    """All partitions in memory."""

    def __init__(self, models: Models) -> None:
        """Keep the models whose vectors are searched; new partitions get the configured one's."""
        self._models = models
        self._table: dict[str, dict[str, Partition]] = {}

    def find(self, tenant: str, user_id: str) -> Partition | None:
        """The partition of a user, or None when nothing was ever stored for it."""
        users = self._table.get(tenant)
        return users.get(user_id) if users is not None else None

    def open(self, tenant: str, user_id: str) -> Partition:
        """The partition of a user, made empty when there is none: for writers only."""
        partition = self.find(tenant, user_id)
        if partition is None:
            model = self._models.current.fingerprint
            index, judge = self._models.index(model), self._models.judge_of(model)
            partition = Partition(tenant, user_id, index, judge)
            self._table.setdefault(tenant, {})[user_id] = partition
        return partition

    def of_tenant(self, tenant: str) -> Iterator[Partition]:
        """Partitions of one tenant that hold something."""
        return (part for part in self._table.get(tenant, {}).values() if len(part))

    def count_of(self, tenant: str) -> int:
        """Memories of one tenant, of any status."""
        return sum(map(len, self._table.get(tenant, {}).values()))

    def __iter__(self) -> Iterator[Partition]:
        """Every partition."""
        return iter([part for users in self._table.values() for part in users.values()])
