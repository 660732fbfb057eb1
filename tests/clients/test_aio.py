"""What only the asyncio client can show: many calls on one loop, and cancelling."""

from __future__ import annotations

import asyncio
import time

import pytest

from recalld.client import AsyncClient

from .conftest import FaultServer


async def test_calls_run_side_by_side(fault_server: FaultServer) -> None:
    """Three slow calls on one client take about as long as one."""
    fault_server.script.extend([lambda _request, _context: time.sleep(0.6)] * 3)
    async with AsyncClient(fault_server.target, user_id="u") as client:
        started_s = time.monotonic()
        await asyncio.gather(*(client.recall("x") for _ in range(3)))
        assert time.monotonic() - started_s < 1.7


async def test_cancelling_a_call_raises_cancelled(fault_server: FaultServer) -> None:
    """Cancelling the task of a call ends it at once with CancelledError."""
    fault_server.script.append(lambda _request, _context: time.sleep(0.5))
    async with AsyncClient(fault_server.target, user_id="u") as client:
        task = asyncio.create_task(client.recall("x"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_client_may_be_made_outside_a_loop(fault_server: FaultServer) -> None:
    """The channel belongs to the loop of the first call, not to that of the constructor."""
    client = AsyncClient(fault_server.target, user_id="u")

    async def main() -> int:
        async with client:
            return (await client.remember("x")).revision

    assert asyncio.run(main()) == 7
