"""The gate: how many calls are inside, whose they are, and who begins next."""

from __future__ import annotations

import asyncio

import pytest

from recalld.server.admission import Gate
from recalld.server.errors import NotReady, Overloaded


def test_gate() -> None:
    """A closed gate lets nobody in; an open one as many as it may, and one more when one leaves."""
    gate = Gate(2)
    with pytest.raises(NotReady):
        gate.enter("t")
    gate.is_open = True
    gate.enter("t")
    gate.enter("t")
    with pytest.raises(Overloaded, match="2"):
        gate.enter("t")
    gate.leave("t")
    gate.enter("t")
    assert gate.in_flight == 2
    for _ in range(2):
        assert not gate.idle.is_set()
        gate.leave("t")
    assert gate.idle.is_set()


def test_no_tenant_fills_a_shared_gate() -> None:
    """One tenant gets half, the second a third, and each at least one call while there is room."""
    gate = Gate(6, is_shared=True, is_open=True)
    for _ in range(3):
        gate.enter("a")
    with pytest.raises(Overloaded, match="3 calls of this tenant"):
        gate.enter("a")
    for _ in range(2):
        gate.enter("b")
    with pytest.raises(Overloaded, match="2 calls of this tenant"):
        gate.enter("b")
    gate.enter("c")
    with pytest.raises(Overloaded, match="6 calls are in flight"):
        gate.enter("d")
    for tenant in "aaabbc":
        gate.leave(tenant)
    assert gate.idle.is_set() and gate.in_flight == 0


async def begun(gate: Gate, arrivals: str) -> str:
    """Tenants in the order in which their calls begin; all of them arrive in one round."""
    order: list[str] = []

    async def call(tenant: str) -> None:
        await gate.turn(tenant)
        order.append(tenant)

    await asyncio.gather(*(call(tenant) for tenant in arrivals))
    return "".join(order)


async def test_tenants_begin_in_turns() -> None:
    """Of calls that arrive together the first begins at once, the others tenant by tenant."""
    assert await begun(Gate(99, is_shared=True), "aaaaabbc") == "aabcabaa"


async def test_without_tenants_there_are_no_turns() -> None:
    """Where everybody is one tenant, calls begin in the order of arrival, without waiting."""
    assert await begun(Gate(99), "abab") == "abab"


async def test_late_arrivals_take_their_turn() -> None:
    """A call that arrives while others wait begins before those of a tenant that had its turn."""
    gate = Gate(99, is_shared=True)
    order: list[str] = []

    async def call(name: str) -> None:
        await gate.turn(name[0])
        order.append(name)

    flood = [asyncio.create_task(call(f"a{i}")) for i in range(20)]
    while len(order) < 3:
        await asyncio.sleep(0)
    await asyncio.gather(*flood, call("b"))
    assert order.index("b") <= 4
    assert [name for name in order if name != "b"] == [f"a{i}" for i in range(20)]


async def test_who_went_away_is_passed_over() -> None:
    """A waiting call whose caller has gone costs no turn, and a later call begins at once again."""
    gate = Gate(99, is_shared=True)
    order: list[str] = []

    async def call(name: str) -> None:
        await gate.turn(name)
        order.append(name)

    tasks = [asyncio.create_task(call(name)) for name in "abcd"]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["a", "b", "d"]
    await asyncio.sleep(0.01)
    assert await asyncio.wait_for(begun(gate, "e"), 5) == "e"


async def test_pieces_take_turns_with_calls() -> None:
    """A long call of one tenant and many short ones of another alternate, piece by call."""
    gate = Gate(99, is_shared=True, is_open=True)
    order: list[str] = []

    async def long() -> None:
        gate.enter("a")
        await gate.turn("a")
        for _ in range(5):
            order.append("a")
            await gate.pause("a")

    async def short() -> None:
        gate.enter("b")
        await gate.turn("b")
        order.append("b")

    await asyncio.gather(long(), *(short() for _ in range(5)))
    assert "".join(order) == "abababababab"[:10]


async def test_a_long_call_alone_hardly_waits() -> None:
    """Where no other tenant is inside, a piece gives way for one round of the event loop only."""
    gate = Gate(99, is_shared=True, is_open=True)
    gate.enter("a")
    await gate.turn("a")
    rounds = 0

    def count() -> None:
        nonlocal rounds
        rounds += 1
        asyncio.get_running_loop().call_soon(count)

    asyncio.get_running_loop().call_soon(count)
    for _ in range(20):
        await gate.pause("a")
    assert rounds <= 21
