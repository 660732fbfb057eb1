"""Calls in a row and calls side by side, timed at the client.

The same client code drives the server and the echo, so that its own cost is in both and cancels in
their ratio. Times are seconds.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import grpc
import numpy as np

RECALL_METHOD = "/recalld.v1.RecallService/Recall"
WARM_UP_CALLS = 50
CALL_TIMEOUT_S = 30.0
# Own sub-channels: channels with equal arguments would share one connection.
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


@dataclass(frozen=True)
class Latency:
    """Percentiles of calls."""

    p50_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    count: int


def percentiles(samples_s: Sequence[float]) -> Latency:
    """Percentiles by linear interpolation.

    Raises:
        ValueError: there is no sample.
    """
    if not samples_s:
        raise ValueError("no sample")
    p50, p95, p99, p999 = (float(p) for p in np.percentile(samples_s, [50, 95, 99, 99.9]))
    return Latency(p50, p95, p99, p999, len(samples_s))


def in_a_row(
    call: Callable[[int], object],
    count: int,
    warm_up: int = WARM_UP_CALLS,
    pause_s: float = 0.0,
) -> Latency:
    """Times `count` calls, one after the other, after some that are not timed.

    Args:
        call: makes one call; gets a number that never repeats.
        count: calls that are timed.
        warm_up: calls before them.
        pause_s: time between calls, in which the processors fall asleep as they do in a real one.
    """
    for i in range(warm_up):
        call(i)
    samples_s = []
    for i in range(warm_up, warm_up + count):
        if pause_s:
            time.sleep(pause_s)
        start = time.perf_counter()
        call(i)
        samples_s.append(time.perf_counter() - start)
    return percentiles(samples_s)


def raw_call(
    address: str, method: str, bodies: Sequence[bytes]
) -> tuple[Callable[[int], bytes], Callable[[], None]]:
    """A call that sends one of `bodies` in turn, and what closes its channel.

    The call gives the answer's bytes, none if it was refused.
    """
    channel = grpc.insecure_channel(address, options=OWN_CONNECTION)
    stub: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)

    def call(i: int) -> bytes:
        with suppress(grpc.RpcError):
            return stub(bodies[i % len(bodies)], timeout=CALL_TIMEOUT_S)
        return b""

    return call, channel.close


def calls_per_second(
    address: str, method: str, bodies: Sequence[bytes], clients: int, duration_s: float
) -> float:
    """Throughput of `clients` callers side by side, each with a channel and one call in flight.

    Refusals count as answers.
    """
    return asyncio.run(_side_by_side(address, method, bodies, clients, duration_s))


async def _side_by_side(
    address: str, method: str, bodies: Sequence[bytes], clients: int, duration_s: float
) -> float:
    loop = asyncio.get_running_loop()
    at = iter(range(10**12))

    async def client() -> int:
        async with grpc.aio.insecure_channel(address, options=OWN_CONNECTION) as channel:
            stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)

            async def call() -> None:
                with suppress(grpc.aio.AioRpcError):
                    await stub(bodies[next(at) % len(bodies)], timeout=CALL_TIMEOUT_S)

            await call()
            end, done = loop.time() + duration_s, 0
            while loop.time() < end:
                await call()
                done += 1
            return done

    counts = await asyncio.gather(*(client() for _ in range(clients)))
    return sum(counts) / duration_s
