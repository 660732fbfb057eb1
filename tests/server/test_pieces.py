"""Long work on the event loop in pieces, between which others have their turn."""

from __future__ import annotations

import asyncio

from recalld.server.pieces import PIECE_S, SLICE_COUNT, Pieces


class HandClock:
    """Durations that only the test makes."""

    def __init__(self) -> None:
        self.time_s = 100.0

    def now_us(self) -> int:
        return 0

    def monotonic_s(self) -> float:
        return self.time_s


async def test_a_young_piece_goes_on() -> None:
    """Until a piece has lasted its time, asking lets nobody in; then it does, each time anew."""
    clock, turns = HandClock(), []

    async def turn() -> None:
        turns.append(clock.time_s)

    pieces = Pieces(clock, turn)
    for _ in range(8):
        clock.time_s += PIECE_S * 0.51
        await pieces.pause()
    assert len(turns) == 4


async def test_others_come_in_between() -> None:
    """Whoever is ready on the event loop runs before the next piece does."""
    clock, seen = HandClock(), []
    pieces = Pieces(clock)
    asyncio.get_running_loop().call_soon(seen.append, "other")
    clock.time_s += 2 * PIECE_S
    await pieces.pause()
    assert seen == ["other"]


async def test_slices_hold_everything_once_in_order() -> None:
    """All items come, in order, none twice, however many there are."""
    for count in (0, 1, SLICE_COUNT, SLICE_COUNT + 1, 3 * SLICE_COUNT):
        seen = [some async for some in Pieces(HandClock()).slices(range(count))]
        assert [item for some in seen for item in some] == list(range(count))
        assert all(len(some) <= SLICE_COUNT for some in seen)
