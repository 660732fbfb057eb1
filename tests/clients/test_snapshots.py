"""The snapshot methods of both clients against a real server of their own."""

from __future__ import annotations

import pytest

from recalld.client import AsyncClient, Client
from recalld.client.errors import NotFound, RecalldError
from recalld.client.snapshots import SnapshotState
from recalld.client.testing import running_server


async def test_both_clients_take_and_restore() -> None:
    """A snapshot is taken, listed, verified, restored and removed by either client."""
    with running_server() as server, Client(server.target, user_id="u") as client:
        client.remember("before")
        made = client.create_snapshot("one")
        assert (made.name, made.state, made.memory_count) == ("one", SnapshotState.READY, 1)
        assert client.snapshots() == (made,)
        client.remember("after")
        assert client.restore_snapshot("one") == 3
        assert [memory.content for memory in client.list()] == ["before"]
        with pytest.raises(RecalldError, match="exists"):
            client.create_snapshot("one")
        async with AsyncClient(server.target, user_id="u") as other:
            assert await other.verify_snapshot("one") == ()
            assert (await other.create_snapshot()).revision == 3
            assert await other.restore_snapshot("one") == 4
            await other.delete_snapshot("one")
            assert len(await other.snapshots()) == 1
        for call in (client.verify_snapshot, client.restore_snapshot, client.delete_snapshot):
            with pytest.raises(NotFound):
                call("one")
