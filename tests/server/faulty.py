"""A store in memory that can be made to wait or to fail."""

from __future__ import annotations

from concurrent.futures import Future

from recalld.storage.errors import StoreFailed
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.storage.store import WriteBatch


class FaultyStore(MemoryStore):
    """A store whose next commits can be made to wait or to fail."""

    is_failing = False
    is_held = False

    def __init__(self, image: MemoryImage | None = None) -> None:
        super().__init__(image)
        self.held: list[tuple[Future[None], WriteBatch]] = []

    def submit(self, batch: WriteBatch) -> Future[None]:
        if self.is_failing:
            broken: Future[None] = Future()
            broken.set_exception(StoreFailed("the disk is gone"))
            return broken
        if not self.is_held:
            return super().submit(batch)
        waiting: Future[None] = Future()
        self.held.append((waiting, batch))
        return waiting

    def release(self) -> None:
        """Lets what waits go through, in order."""
        self.is_held = False
        for waiting, batch in self.held:
            super().submit(batch).result()
            waiting.set_result(None)
        self.held.clear()
