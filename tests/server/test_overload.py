"""Too much at once: refused whole, with a delay, and the server goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc

from recalld.client.testing import running_server
from tests.server.core import memory, remember_request
from tests.server.stubs import Refusal, Stubs, refusal_of, taken_apart


def test_too_large_message(stubs: Stubs, user: str) -> None:
    """A message of 64 MiB is refused, and the server goes on."""
    stubs.memory.Remember(remember_request(user, memory("tea")))
    refusal = refusal_of(stubs.raw, "MemoryService/Remember", b"\0" * (64 * 1024 * 1024))
    assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert stubs.state(user)[0] == 1


def test_overload() -> None:
    """Of a hundred calls at once those over the limit are refused with a delay, none half-way."""
    batch = [memory(f"m{n} with a few words to embed") for n in range(64)]

    def send(stubs: Stubs, number: int) -> Refusal | None:
        request = remember_request(f"user-{number}", *batch)
        try:
            stubs.memory.Remember(request, timeout=30)
        except grpc.RpcError as error:
            return taken_apart(error)
        return None

    environment = {"RECALLD_SERVER__IN_FLIGHT_MAX": "2"}
    with (
        running_server(env=environment) as server,
        Stubs(server.target) as stubs,
        ThreadPoolExecutor(100) as pool,
    ):
        outcomes = list(pool.map(lambda n: send(stubs, n), range(100)))
        refused = [item for item in outcomes if item is not None]
        assert 0 < len(refused) < 100
        for item in refused:
            assert (item.code, item.reason) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "OVERLOADED",
            )
            assert item.retry_after_s is not None
            assert item.retry_after_s > 0
        for number, outcome in enumerate(outcomes):
            assert stubs.state(f"user-{number}")[0] == (64 if outcome is None else 0)
