"""Calls in a row and calls side by side, timed at the client.

The same client code drives the server and the echo, so that its own cost is in both and cancels in
their ratio. Times are seconds.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import grpc
import numpy as np

from recalld.v1.recall_service_pb2 import RecallRequest, RecallResponse

RECALL_METHOD = "/recalld.v1.RecallService/Recall"
WARM_UP_CALLS = 50
CALL_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Latency:
    """Percentiles of calls in a row."""

    p50_s: float
    p95_s: float
    p99_s: float
    count: int


def percentiles(samples_s: Sequence[float]) -> Latency:
    """Percentiles by linear interpolation.

    Raises:
        ValueError: there is no sample.
    """
    if not samples_s:
        raise ValueError("no sample")
    p50, p95, p99 = (float(p) for p in np.percentile(samples_s, [50, 95, 99]))
    return Latency(p50, p95, p99, len(samples_s))


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


def recall_call(
    address: str, method: str, requests: Sequence[RecallRequest]
) -> tuple[Callable[[int], RecallResponse], Callable[[], None]]:
    """A call that sends one of `requests` in turn, and what closes its channel."""
    channel = grpc.insecure_channel(address)
    stub = channel.unary_unary(
        method,
        request_serializer=RecallRequest.SerializeToString,
        response_deserializer=RecallResponse.FromString,
    )

    def call(i: int) -> RecallResponse:
        return stub(requests[i % len(requests)], timeout=CALL_TIMEOUT_S)

    return call, channel.close


def calls_per_second(
    address: str, method: str, requests: Sequence[RecallRequest], clients: int, duration_s: float
) -> float:
    """Throughput of `clients` callers side by side, each with a channel and one call in flight."""
    return asyncio.run(_side_by_side(address, method, requests, clients, duration_s))


async def _side_by_side(
    address: str, method: str, requests: Sequence[RecallRequest], clients: int, duration_s: float
) -> float:
    loop = asyncio.get_running_loop()

    async def client(number: int) -> int:
        # Own sub-channels: channels with equal arguments would share one connection.
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(address, options=options) as channel:
            stub = channel.unary_unary(
                method,
                request_serializer=RecallRequest.SerializeToString,
                response_deserializer=RecallResponse.FromString,
            )
            await stub(requests[number % len(requests)], timeout=CALL_TIMEOUT_S)
            end, done = loop.time() + duration_s, 0
            while loop.time() < end:
                at = (number + done * clients) % len(requests)
                await stub(requests[at], timeout=CALL_TIMEOUT_S)
                done += 1
            return done

    counts = await asyncio.gather(*(client(i) for i in range(clients)))
    return sum(counts) / duration_s
