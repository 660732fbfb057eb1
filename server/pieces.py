"""Long work of a call on the event loop, cut into pieces between which others have their turn.

Python cannot be interrupted for another call, so whatever takes long has to ask. Asking costs next
to nothing while a piece is young.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from itertools import islice
from typing import TypeVar

from recalld.server.clock import Clock

PIECE_S = 0.0005
"""How long a call may keep the loop to itself: about what a recall takes of it. A piece ends when
the work asks next, so what lies between two questions should be short, too."""


SLICE_COUNT = 64
"""Records that are looked at between two questions, each for a few microseconds."""

T = TypeVar("T")
Turn = Callable[[], Awaitable[None]]
"""Waits until the next piece may begin."""


async def one_round() -> None:
    """Wait for one round of the event loop, which whoever is ready uses."""
    await asyncio.sleep(0)


class Pieces:
    """The pieces of one call; of one task at a time."""

    __slots__ = ("_began_s", "_monotonic_s", "_turn")

    def __init__(self, clock: Clock, turn: Turn = one_round) -> None:
        """Begin the first piece; `turn` waits until the next one may begin."""
        self._monotonic_s = clock.monotonic_s
        self._turn = turn
        self._began_s = self._monotonic_s()

    async def pause(self) -> None:
        """Let others in when the present piece has lasted long enough."""
        if self._monotonic_s() - self._began_s < PIECE_S:
            return
        await self._turn()
        self._began_s = self._monotonic_s()

    async def slices(self, items: Collection[T]) -> AsyncIterator[list[T]]:
        """All of `items` in order, some at a time, with a pause behind each; they must not change.

        Items of a dict that others may change meanwhile are copied first.
        """
        left = iter(items)
        while some := list(islice(left, SLICE_COUNT)):
            yield some
            await self.pause()
