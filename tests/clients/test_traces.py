"""Traces through both clients, against a real server."""

from __future__ import annotations

import pytest

from recalld.client import AsyncClient, Client, errors
from recalld.client.testing import RunningServer
from recalld.client.values import DropReason


def test_a_trace_is_read_whole(shared_server: RunningServer, user: str) -> None:
    """A trace has the hits with their scores and parts, and the fate of what was left out."""
    with Client(shared_server.target, user_id=user) as client:
        client.remember("Order DD-7742 was shipped")
        other = client.remember("Likes jazz").id
        answer = client.recall("where is DD-7742", k=1, min_score=0.0, explain=True)
        found = client.trace(answer.recall_id)
        first, second = found.candidates
        assert (first.memory_id, first.rank) == (answer.hits[0].memory.id, 1)
        assert first.drop_reason is DropReason.UNSPECIFIED
        assert first.score == pytest.approx(answer.hits[0].score, abs=1e-6)
        assert first.parts is not None and first.parts.channels
        assert (second.memory_id, second.drop_reason) == (other, DropReason.OVER_K)
        assert (found.matched_count, found.returned_count, found.k) == (2, 1, 1)
        assert found.excluded == {DropReason.OVER_K: 1}
        assert found.time is not None and found.revision == answer.revision
        assert client.trace(answer.recall_id, other).candidates == (second,)


def test_a_trace_of_somebody_else_is_not_found(shared_server: RunningServer, user: str) -> None:
    """Another user's trace raises TraceNotFound, an unknown memory MemoryNotFound."""
    with Client(shared_server.target, user_id=user) as client:
        client.remember("Likes jazz")
        answer = client.recall("jazz", explain=True)
        with pytest.raises(errors.TraceNotFound):
            client.trace(answer.recall_id, user_id=f"{user}-other")
        with pytest.raises(errors.MemoryNotFound):
            client.trace(answer.recall_id, "0" * 32)


async def test_traces_are_listed_page_by_page(shared_server: RunningServer, user: str) -> None:
    """Both clients list every trace once, newest first, whatever the size of a page."""
    async with AsyncClient(shared_server.target, user_id=user) as client:
        await client.remember("Likes jazz")
        made = [(await client.recall("jazz", explain=True)).recall_id for _ in range(5)]
        listed = [trace.recall_id async for trace in client.traces(page_size=2)]
        assert listed == made[::-1]
        assert (await client.trace(made[0])).recall_id == made[0]
    with Client(shared_server.target, user_id=user) as blocking:
        assert [trace.recall_id for trace in blocking.traces(page_size=3)] == made[::-1]
        assert not any(trace.candidates for trace in blocking.traces())
