"""Settling a conflict through both clients, against a real server."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recalld.client import AsyncClient, Client, NewMemory
from recalld.client.errors import MemoryNotFound
from recalld.client.testing import RunningServer

SAID = datetime(2026, 1, 2, tzinfo=UTC)


def tie(client: Client) -> tuple[str, list[str]]:
    """Two values of a slot for one time; their group and ids."""
    cities = [NewMemory(content=city, key="city", event_time=SAID) for city in ("Leeds", "York")]
    ids = [result.id for result in client.remember(cities).results]
    return client.get(ids[0]).conflict_group, ids


def test_resolve_and_undo(real_server: RunningServer) -> None:
    """A winner supersedes the other; undo makes both conflicted again; then both may hold."""
    with Client(real_server.target, user_id="resolve-1") as client:
        group, ids = tie(client)
        settled = client.resolve(group, winner_id=ids[0])
        assert [memory.status for memory in settled] == ["active", "superseded"]
        again = client.resolve(group, undo=True)
        assert [memory.status for memory in again] == ["conflicted", "conflicted"]
        kept = client.resolve(group, keep_all=True)
        assert [memory.status for memory in kept] == ["active", "active"]
        with pytest.raises(MemoryNotFound):
            client.resolve("no such group", keep_all=True)


async def test_resolve_asynchronously(real_server: RunningServer) -> None:
    """The asyncio client settles the same way."""
    with Client(real_server.target, user_id="resolve-2") as client:
        group, ids = tie(client)
    async with AsyncClient(real_server.target, user_id="resolve-2") as client:
        settled = await client.resolve(group, winner_id=ids[1])
    assert [memory.status for memory in settled] == ["superseded", "active"]


def test_one_resolution_only(real_server: RunningServer) -> None:
    """None, two, and unknown ones are refused before anything is sent."""
    with Client(real_server.target, user_id="resolve-3") as client:
        with pytest.raises(ValueError, match="exactly one"):
            client.resolve("g")
        with pytest.raises(ValueError, match="exactly one"):
            client.resolve("g", keep_all=True, undo=True)
        with pytest.raises(TypeError, match="who"):
            client.resolve("g", who="x")  # type: ignore[call-arg]
