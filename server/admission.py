"""How many calls are inside, and which of those that wait begins next.

Handlers run on one event loop, so what a call waits for is mostly the beginnings of others. Where
tenants share a server, calls begin one at a time, tenant by tenant in turns, and no tenant may fill
the house: a flood of one delays the others by one call, not by all of its own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from recalld.index.turns import Turns, share_of
from recalld.server.errors import NotReady, Overloaded

LOOKS_PER_BEGINNING = 10
"""Rounds of the event loop between two beginnings while calls wait: time for the calls that the
runtime still holds, first come first served, to come in and take their turn. Beside 64 calls in
flight of another tenant a recall by key took 67 to 102 ms at the 99th percentile with 1, and 7.5 to
9.6 ms with 10; the calls a second stayed the same."""


@dataclass
class Gate:
    """Whether calls are let in, and how many are inside.

    Attributes:
        in_flight_max: more are refused.
        is_shared: whether tenants share the server; then each has turns and a share.
        is_open: false while loading and draining.
        in_flight: calls inside.
        idle: set while nobody is inside.
    """

    in_flight_max: int
    is_shared: bool = False
    is_open: bool = False
    in_flight: int = field(default=0, init=False)
    idle: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _inside: Counter[str] = field(default_factory=Counter, init=False)
    _waiting: Turns[tuple[str, asyncio.Future[None]]] = field(default_factory=Turns, init=False)
    _is_taken: bool = field(default=False, init=False)
    _waiting_count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Start with nobody inside."""
        self.idle.set()

    def enter(self, tenant: str) -> None:
        """Let one call in.

        Raises:
            NotReady: loading or draining.
            Overloaded: too many calls are inside, of all or of this tenant.
        """
        if not self.is_open:
            raise NotReady("the server is loading or shutting down")
        if self.in_flight >= self.in_flight_max:
            raise Overloaded(f"{self.in_flight_max} calls are in flight already")
        own = self._inside[tenant]
        if self.is_shared and own:
            share = share_of(self.in_flight_max, len(self._inside))
            if own >= share:
                raise Overloaded(f"{own} calls of this tenant are in flight already")
        self._inside[tenant] = own + 1
        self.in_flight += 1
        self.idle.clear()

    def leave(self, tenant: str) -> None:
        """One call is done."""
        self._inside[tenant] -= 1
        if not self._inside[tenant]:
            del self._inside[tenant]
        self.in_flight -= 1
        if not self.in_flight:
            self.idle.set()

    @property
    def waiting_count(self) -> int:
        """Calls inside that wait for their turn; of another thread a moment old."""
        return self._waiting_count

    async def turn(self, tenant: str) -> None:
        """Wait until a call of this tenant may begin; at once while nobody else is about to."""
        if not self.is_shared:
            return
        if not self._is_taken:
            self._pass_on()
            return
        begins = asyncio.get_running_loop().create_future()
        self._waiting.add(tenant, (tenant, begins))
        self._waiting_count += 1
        try:
            await begins
        finally:
            self._waiting_count -= 1

    async def pause(self, tenant: str) -> None:
        """Wait until another piece of a long call of this tenant may run.

        Pieces and beginnings take the same turns: a long call costs others no more than many short
        ones of the same length.
        """
        await asyncio.sleep(0)
        if self._waiting or self._inside.keys() - {tenant}:
            await self.turn(tenant)

    def _pass_on(self) -> None:
        """Let the next one begin after some rounds of the event loop."""
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._look, LOOKS_PER_BEGINNING)

    def _look(self, rounds: int) -> None:
        """Count the rounds down, then let one call begin, if any waits."""
        if rounds > 1 and self._waiting:
            asyncio.get_running_loop().call_soon(self._look, rounds - 1)
            return
        while self._waiting:
            tenant, begins = self._waiting.first()
            self._waiting.drop_first()
            self._waiting.pass_on(tenant)
            # One whose caller has gone away does not count.
            if not begins.done():
                begins.set_result(None)
                self._pass_on()
                return
        self._is_taken = False
