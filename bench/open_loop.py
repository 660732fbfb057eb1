"""Calls sent at a given rate, whether or not earlier ones were answered, and what became of them.

A closed loop slows down with the server and so never overloads it; users do not. Each call is timed
from the moment at which it was due, so that a sender that falls behind does not flatter the server.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import grpc

from recalld.bench.load import OWN_CONNECTION, Latency, percentiles

OK = grpc.StatusCode.OK
REFUSED = grpc.StatusCode.RESOURCE_EXHAUSTED
CHANNELS = 8
ANSWERS_KEPT = 10_000  # a long run's answers would fill the memory
DETAILS_KEY = "grpc-status-details-bin"

Request = Callable[[int], tuple[str, bytes]]
"""Method and body of the n-th call."""


@dataclass
class Outcomes:
    """What became of the calls of one run.

    Attributes:
        codes: calls by status.
        times_s: seconds from when a call was due to its end, by status.
        answered_s: when each call that was answered was due and ended, `time.perf_counter()`.
        answers: bodies of the last ones that were answered.
        bare: refusals without details, which the runtime itself gives.
        sent_late_s: seconds by which calls were sent after they were due.
        elapsed_s: from the first call to the last one sent.
    """

    codes: Counter[grpc.StatusCode] = field(default_factory=Counter)
    times_s: dict[grpc.StatusCode, list[float]] = field(default_factory=dict)
    answered_s: list[tuple[float, float]] = field(default_factory=list)
    answers: deque[bytes] = field(default_factory=lambda: deque(maxlen=ANSWERS_KEPT))
    bare: int = 0
    sent_late_s: list[float] = field(default_factory=list)
    elapsed_s: float = 0.0

    @property
    def sent_per_s(self) -> float:
        """Calls a second that were really sent."""
        return self.codes.total() / self.elapsed_s

    @property
    def good_per_s(self) -> float:
        """Calls a second that were answered before their deadline."""
        return self.codes[OK] / self.elapsed_s

    @property
    def errors(self) -> int:
        """Calls that were not answered."""
        return self.codes.total() - self.codes[OK]

    def answered(self) -> Latency:
        """Percentiles of the calls that were answered.

        Raises:
            ValueError: none was.
        """
        return percentiles(self.times_s.get(OK, []))

    def percentiles_ms(self, code: grpc.StatusCode) -> tuple[float, float]:
        """50th and 99th percentile of the calls with this status; NaN without any."""
        times_s = self.times_s.get(code)
        if not times_s:
            return float("nan"), float("nan")
        latency = percentiles(times_s)
        return 1e3 * latency.p50_s, 1e3 * latency.p99_s


class Sender:
    """Sends calls over some channels and keeps count. Of one event loop."""

    def __init__(self, channels: Sequence[grpc.aio.Channel], request: Request, timeout_s: float):
        """Take over open channels; calls go round them in turn."""
        self._channels = channels
        self._request = request
        self._timeout_s = timeout_s
        self._number = 0

    async def open_loop(self, rate: float, duration_s: float) -> Outcomes:
        """`rate` calls a second, evenly; waits for the last answer."""
        outcomes = Outcomes()
        start_s = time.perf_counter()
        pending: set[asyncio.Task[None]] = set()
        for i in range(int(rate * duration_s)):
            due_s = start_s + i / rate
            wait_s = due_s - time.perf_counter()
            # A pause in any case: a sender that is behind must still read answers.
            await asyncio.sleep(max(0.0, wait_s))
            task = asyncio.create_task(self._call(due_s, outcomes))
            pending.add(task)
            task.add_done_callback(pending.discard)
        outcomes.elapsed_s = time.perf_counter() - start_s
        await asyncio.gather(*pending)
        return outcomes

    async def closed_loop(self, in_flight: int, duration_s: float) -> Outcomes:
        """As many calls as are answered, `in_flight` at a time."""
        outcomes = Outcomes()
        start_s = time.perf_counter()

        async def caller() -> None:
            while (now_s := time.perf_counter()) < start_s + duration_s:
                await self._call(now_s, outcomes)

        await asyncio.gather(*(caller() for _ in range(in_flight)))
        outcomes.elapsed_s = time.perf_counter() - start_s
        return outcomes

    async def _call(self, due_s: float, outcomes: Outcomes) -> None:
        """One call, counted by its status."""
        number, self._number = self._number, self._number + 1
        method, body = self._request(number)
        channel = self._channels[number % len(self._channels)]
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
        code = OK
        outcomes.sent_late_s.append(time.perf_counter() - due_s)
        try:
            outcomes.answers.append(await stub(body, timeout=self._timeout_s))
        except grpc.aio.AioRpcError as error:
            code = error.code()
            if code is REFUSED and DETAILS_KEY not in dict(error.trailing_metadata() or ()):
                outcomes.bare += 1
        end_s = time.perf_counter()
        if code is OK:
            outcomes.answered_s.append((due_s, end_s))
        outcomes.codes[code] += 1
        outcomes.times_s.setdefault(code, []).append(end_s - due_s)


@asynccontextmanager
async def sender_to(address: str, request: Request, timeout_s: float) -> AsyncIterator[Sender]:
    """A sender over connections of its own, which close with the context."""
    async with AsyncExitStack() as stack:
        channels = [
            await stack.enter_async_context(
                grpc.aio.insecure_channel(address, options=OWN_CONNECTION)
            )
            for _ in range(CHANNELS)
        ]
        yield Sender(channels, request, timeout_s)
