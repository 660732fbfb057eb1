"""The exchange of loaded data under a gate: order, refusals, and what a failure leaves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import structlog

from recalld.server.admission import Gate
from recalld.server.errors import NotReady
from recalld.server.reopening import Reopening


class Stage:
    """A gate, what happened in order, and a reopening between them."""

    def __init__(self, drain_s: float = 5.0) -> None:
        self.steps: list[str] = []
        self.failures: list[BaseException] = []
        self.load_error: Exception | None = None
        self.gate = Gate(10)
        log = structlog.wrap_logger(structlog.ReturnLogger())
        self.reopening = Reopening(
            self.gate, self.load, self.say, drain_s, self.failures.append, log
        )

    async def load(self, stack: contextlib.AsyncExitStack) -> int:
        if self.load_error is not None:
            raise self.load_error
        self.steps.append("load")
        stack.callback(self.steps.append, "close")
        return 7

    async def say(self, is_serving: bool) -> None:
        self.steps.append(f"serving {is_serving}")

    def job(self) -> str:
        self.steps.append("job")
        return "done"

    async def start(self) -> None:
        assert await self.reopening.start() == 7
        self.gate.is_open = True
        self.gate.enter("default")  # The call that asks for the exchange.


async def test_an_exchange_happens_while_nothing_is_open() -> None:
    """Gate closed, closed, exchanged, loaded, opened: in this order."""
    stage = Stage()
    await stage.start()
    assert await stage.reopening.exchange(stage.job) == "done"
    assert stage.steps == ["load", "serving False", "close", "job", "load", "serving True"]
    assert stage.gate.is_open
    await stage.reopening.close()
    assert stage.steps[-1] == "close"


async def test_it_waits_for_other_calls() -> None:
    """Nothing is closed before the last other call has left."""
    stage = Stage()
    await stage.start()
    stage.gate.enter("default")
    task = asyncio.create_task(stage.reopening.exchange(stage.job))
    await asyncio.sleep(0.05)
    assert stage.steps == ["load", "serving False"]
    with pytest.raises(NotReady):
        stage.gate.enter("default")
    stage.gate.leave("default")
    assert await task == "done"


async def test_a_call_that_does_not_end_prevents_it() -> None:
    """After the time for calls to finish the gate opens again and nothing was changed."""
    stage = Stage(drain_s=0.02)
    await stage.start()
    stage.gate.enter("default")
    with pytest.raises(NotReady, match="nothing was changed"):
        await stage.reopening.exchange(stage.job)
    assert stage.steps == ["load", "serving False", "serving True"]
    assert stage.gate.is_open


async def test_a_failed_job_loads_what_is_there() -> None:
    """What the job raises is raised, after everything was loaded again."""
    stage = Stage()
    await stage.start()

    def fail() -> None:
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        await stage.reopening.exchange(fail)
    assert stage.steps[-2:] == ["load", "serving True"]


async def test_what_cannot_be_loaded_ends_the_server() -> None:
    """When loading fails, the gate stays closed and the server is told to end."""
    stage = Stage()
    await stage.start()
    stage.load_error = ValueError("gone")
    with pytest.raises(ValueError, match="gone"):
        await stage.reopening.exchange(stage.job)
    assert stage.failures == [stage.load_error]
    assert not stage.gate.is_open


async def test_a_caller_that_goes_away_does_not_stop_it() -> None:
    """A cancelled exchange goes on to its end; closing waits for it, and the gate stays shut."""
    stage = Stage()
    await stage.start()
    task = asyncio.create_task(stage.reopening.exchange(stage.job))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.01)
    await stage.reopening.close()
    assert stage.steps[:5] == ["load", "serving False", "close", "job", "load"]
    assert stage.steps[-1] == "close"


async def test_a_second_exchange_waits_its_turn() -> None:
    """A server that is stopping, or not yet open, exchanges nothing."""
    stage = Stage()
    await stage.reopening.start()
    with pytest.raises(NotReady):
        await stage.reopening.exchange(stage.job)
    assert stage.steps == ["load"]
