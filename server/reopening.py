"""Loads the data, and does so again after its files were exchanged beneath a running server.

Load -> open the gate; and for an exchange: close the gate, let calls finish, close what is loaded,
exchange the files, load, open the gate. The port stays bound: callers are told to come back.

Invariants: nothing of the old data is open while the files are exchanged; whatever the exchange
does, what is there afterwards is loaded; when that fails, too, the server ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from recalld.server import logs
from recalld.server.admission import Gate
from recalld.server.errors import NotReady

R = TypeVar("R")
Loaded = TypeVar("Loaded")
POLL_S = 0.01
"""How soon it is seen that the last call but one has ended."""


class Reopening(Generic[Loaded]):
    """What is loaded, and its exchange."""

    def __init__(
        self,
        gate: Gate,
        load: Callable[[contextlib.AsyncExitStack], Awaitable[Loaded]],
        say_serving: Callable[[bool], Awaitable[None]],
        drain_s: float,
        fail: Callable[[BaseException], None],
        log: Any,
    ) -> None:
        """Start with nothing loaded.

        Args:
            gate: lets calls in.
            load: loads everything onto a stack that takes it down again, ready for calls.
            say_serving: tells health checks.
            drain_s: how long other calls may take to finish before an exchange.
            fail: ends the server, which has nothing to serve any more.
            log: of what happens.
        """
        self._gate = gate
        self._load = load
        self._say_serving = say_serving
        self._drain_s = drain_s
        self._fail = fail
        self._log = log
        self._stack = contextlib.AsyncExitStack()
        self._lock = asyncio.Lock()
        self._is_closing = False

    async def start(self) -> Loaded:
        """Load for the first time; the gate stays as it is."""
        return await self._load(self._stack)

    async def exchange(self, job: Callable[[], R]) -> R:
        """Close everything, run `job` in a thread, load again; only from within a call.

        It goes on when the caller goes away.

        Raises:
            NotReady: other calls did not finish in time, or the server is stopping; nothing was
                changed.
            Exception: what `job` raised; what there is was loaded again.
        """
        return await asyncio.shield(asyncio.ensure_future(self._exchange(job)))

    async def close(self) -> None:
        """Take everything down, after an exchange that is under way."""
        self._is_closing = True
        async with self._lock:
            await self._stack.aclose()

    async def _exchange(self, job: Callable[[], R]) -> R:
        async with self._lock:
            if not self._gate.is_open:
                raise NotReady("the server is loading or shutting down")
            await self._let_calls_finish()
            self._log.info("closing the data for an exchange of its files")
            # Start-up took what it made out of the collector's sight; it must be seen to go.
            gc.unfreeze()
            await self._stack.aclose()
            try:
                return await asyncio.to_thread(job)
            finally:
                await self._load_again()

    async def _let_calls_finish(self) -> None:
        self._gate.is_open = False
        await self._say_serving(False)
        try:
            async with asyncio.timeout(self._drain_s):
                # The call that asks for the exchange is inside itself.
                while self._gate.in_flight > 1:
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            await self._open()
            raise NotReady(
                f"other calls did not finish within {self._drain_s:g} s; nothing was changed"
            ) from None

    async def _load_again(self) -> None:
        gc.collect()
        self._stack = contextlib.AsyncExitStack()
        try:
            await self._load(self._stack)
        except BaseException as error:
            self._log.error("the data cannot be loaded", fault=logs.fault(error))
            self._fail(error)
            raise
        await self._open()

    async def _open(self) -> None:
        if not self._is_closing:
            self._gate.is_open = True
            await self._say_serving(True)
