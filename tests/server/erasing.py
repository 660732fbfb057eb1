"""Stands for the erasing of files where the store has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recalld.server.clock import Clock
from recalld.storage.erase import Example
from recalld.storage.errors import EraseFailed
from recalld.storage.store import Store


class MemoryEraser:
    """An `Eraser` of a store that has no files."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.is_failing = False
        self.examples: list[Example] = []

    async def erase(self, examples: Sequence[Example]) -> None:
        if self.is_failing:
            raise EraseFailed("no room")
        self.examples += examples
        now_us = self.clock.now_us()
        pending = self.store.purges.pending()
        self.store.purges.complete([replace(p, complete_time_us=now_us) for p in pending])
