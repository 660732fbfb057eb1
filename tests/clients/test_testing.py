"""The server for users' tests, and the client over its crashes and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.client import AsyncClient, Client, errors
from recalld.client.testing import RunningServer, ServerFailed, running_server


def test_memories_survive_a_crash_and_the_client_goes_on(tmp_path: Path) -> None:
    """After SIGKILL and a restart, the next call of the same client succeeds and sees the write."""
    with running_server(data_dir=tmp_path) as server, Client(server.target, user_id="u") as client:
        client.remember("Allergic to peanuts", key="allergy")
        server.kill()
        assert server.process.returncode == -9
        with pytest.raises(errors.Unavailable):
            client.get(key="allergy")
        server.restart()
        assert client.get(key="allergy").content == "Allergic to peanuts"
        assert server.stop() == 0


def test_a_server_that_cannot_start_shows_its_log() -> None:
    """A wrong argument raises ServerFailed with what the server wrote."""
    with (
        pytest.raises(ServerFailed, match=r"(?s)ended before it was ready.*--no-such-option"),
        running_server(args=["--no-such-option"]),
    ):
        raise AssertionError("it must not start")


async def test_both_clients_see_the_same(real_server: RunningServer) -> None:
    """What the blocking client writes, the asyncio client recalls, explains and exports."""
    with Client(real_server.target, user_id="same") as client:
        written = client.remember("Order DD20261118-7742 was shipped", kind="event")
    async with AsyncClient(real_server.target, user_id="same") as reader:
        assert await reader.ready(5.0)
        result = await reader.recall("DD20261118-7742", explain=True, k=1)
        (hit,) = result.hits
        assert hit.memory.id == written.id
        assert hit.parts is not None
        factors = hit.parts.decay * hit.parts.importance * hit.parts.confidence
        assert hit.score == pytest.approx(hit.parts.base * factors, abs=1e-6)
        exported = [memory async for memory in reader.export()]
        assert [memory.id for memory in exported] == [written.id]
        assert [memory.id async for memory in reader.list()] == [written.id]


def test_everyday_use(real_server: RunningServer) -> None:
    """Remember, get, list keys, update, context, stats and forget work together."""
    with Client(real_server.target, user_id="everyday") as client:
        assert "RecallService/Recall" in client.server_info().capabilities
        first = client.remember("Lives in Chengdu", key="location.home", value={"city": "Chengdu"})
        memory = client.get(first.id)
        assert (memory.value, memory.kind) == ({"city": "Chengdu"}, "fact")
        assert [entry.key for entry in client.list_keys("location.")] == ["location.home"]
        changed = client.update(first.id, content="Lives in Hangzhou", value=None, etag=memory.etag)
        assert (changed.content, changed.value) == ("Lives in Hangzhou", None)
        with pytest.raises(errors.EtagMismatch):
            client.update(first.id, content="Lives in Xi'an", etag=memory.etag)
        assert "Hangzhou" in client.build_context("where do I live", token_budget=200).text
        one, two = client.batch_recall(["Hangzhou", "Chengdu"], user_id="nobody")
        assert one.abstained
        assert two.abstained
        assert client.stats("everyday").memory_count == 1
        assert client.forget(ids=[first.id]).count == 1
        assert client.stats("everyday").statuses == {"forgotten": 1}
        with pytest.raises(errors.MemoryNotFound):
            client.get(key="location.home")
