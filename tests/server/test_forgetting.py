"""Forgetting answers behind the calls."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from recalld.server import forgetting
from recalld.server.forgetting import forget_answers
from recalld.storage.errors import StoreFull
from recalld.storage.store import Store
from tests.server.test_retention import TwoClocks


class FullOnce:
    """A store that has no room the first time."""

    read_only_reason = ""

    def __init__(self) -> None:
        self.calls = 0
        self.pruned = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    def newest_request_us(self) -> int:
        return 0

    def prune_requests(self, before_us: int) -> int:
        self.calls += 1
        if self.calls == 1:
            raise StoreFull("no room")
        self.loop.call_soon_threadsafe(self.pruned.set)
        return 0


class Said:
    """A log that keeps its warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, event: str, **_: object) -> None:
        self.warnings.append(event)


def test_a_full_disk_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be forgotten for lack of room is told, and forgotten the next time."""
    monkeypatch.setattr(forgetting, "EVERY_S", 0.0)
    log = Said()

    async def run() -> None:
        store = FullOnce()
        task = asyncio.create_task(forget_answers(cast("Store", store), TwoClocks(), log))
        await asyncio.wait_for(store.pruned.wait(), 10)
        task.cancel()

    asyncio.run(run())
    assert log.warnings == ["old answers could not be forgotten"]
