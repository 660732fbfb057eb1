"""A call beside the cheapest one there can be: a bare gRPC echo of the same answer.

Both are processes of their own, driven by the same client in turns, round by round. Times and rates
are those of the best round, for other work on the machine only ever makes calls slower; a ratio is
the median of the rounds' ratios, each of two neighbours in time. The processor time is that of the
server alone. Ratios travel from machine to machine, milliseconds do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import (
    RECALL_METHOD,
    WARM_UP_CALLS,
    Latency,
    calls_per_second,
    in_a_row,
    raw_call,
)
from recalld.bench.processor import spent_s
from recalld.bench.report import Cell, Figure
from recalld.client.testing import RunningServer

COLUMNS = (
    "call",
    "p50 ms",
    "p99 ms",
    "echo p50 ms",
    "x echo",
    "clients",
    "calls/s",
    "echo calls/s",
    "of echo",
    "server us",
    "echo us",
)


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        rounds: turns of call and echo.
        calls: calls in a row of each, in one round.
        duration_s: of calls side by side of each, in one round.
    """

    rounds: int
    calls: int
    duration_s: float


@dataclass(frozen=True)
class Side:
    """The call or its echo: where it is asked, and what was seen, round by round.

    Attributes:
        rates, processor_s: calls a second, and seconds of processor for a call, by clients.
    """

    address: str
    method: str
    process_id: int
    bodies: Sequence[bytes]
    latencies: list[Latency] = field(default_factory=list)
    rates: dict[int, list[float]] = field(default_factory=dict)
    processor_s: dict[int, list[float]] = field(default_factory=dict)

    def row(self, calls: int, warm_up: int) -> None:
        """Calls in a row."""
        call, close = raw_call(self.address, self.method, self.bodies)
        self.latencies.append(in_a_row(call, calls, warm_up))
        close()

    def crowd(self, clients: int, duration_s: float) -> None:
        """Calls side by side."""
        began_s = spent_s(self.process_id)
        rate = calls_per_second(self.address, self.method, self.bodies, clients, duration_s)
        # The first call of each client is not in the rate, but in the processor's time.
        took_s = (spent_s(self.process_id) - began_s) / (rate * duration_s + clients)
        self.rates.setdefault(clients, []).append(rate)
        self.processor_s.setdefault(clients, []).append(took_s)

    @property
    def best(self) -> Latency:
        """The round with the lowest median."""
        return min(self.latencies, key=lambda latency: latency.p50_s)


@dataclass(frozen=True)
class Beside:
    """What was found of one kind of call."""

    name: str
    ours: Side
    echo: Side

    @property
    def ratio(self) -> float:
        """Round trip at one client against the echo's."""
        pairs = zip(self.ours.latencies, self.echo.latencies, strict=True)
        return median(ours.p50_s / echo.p50_s for ours, echo in pairs)

    def of_echo(self, clients: int) -> float:
        """Calls a second against the echo's."""
        pairs = zip(self.ours.rates[clients], self.echo.rates[clients], strict=True)
        return median(ours / echo for ours, echo in pairs)

    def rows(self) -> list[list[Cell]]:
        """One row for each number of clients."""
        return [
            [
                self.name,
                f"{1e3 * self.ours.best.p50_s:.3f}",
                f"{1e3 * self.ours.best.p99_s:.3f}",
                f"{1e3 * self.echo.best.p50_s:.3f}",
                f"{self.ratio:.2f}",
                clients,
                f"{max(rates):.0f}",
                f"{max(self.echo.rates[clients]):.0f}",
                f"{self.of_echo(clients):.2f}",
                f"{1e6 * min(self.ours.processor_s[clients]):.0f}",
                f"{1e6 * min(self.echo.processor_s[clients]):.0f}",
            ]
            for clients, rates in self.ours.rates.items()
        ]

    def figures(self) -> dict[str, Figure]:
        """The same by name; the name of the call leads."""
        name = self.name.replace(",", "").replace(" ", "_")
        ours, echo = self.ours.best, self.echo.best
        found: dict[str, Figure] = {
            f"{name}_p50_ms": 1e3 * ours.p50_s,
            f"{name}_p99_ms": 1e3 * ours.p99_s,
            f"{name}_echo_p50_ms": 1e3 * echo.p50_s,
            f"{name}_to_echo": self.ratio,
            f"{name}_excess_p50_ms": 1e3 * (ours.p50_s - echo.p50_s),
        }
        for clients, rates in self.ours.rates.items():
            key = f"{name}_{clients}_clients"
            found[f"{key}_per_s"] = max(rates)
            found[f"{key}_of_echo"] = self.of_echo(clients)
            found[f"{key}_server_us"] = 1e6 * min(self.ours.processor_s[clients])
            found[f"{key}_echo_us"] = 1e6 * min(self.echo.processor_s[clients])
        return found


def beside_echo(
    name: str,
    server: RunningServer,
    bodies: Sequence[bytes],
    effort: Effort,
    clients: Sequence[int],
    method: str = RECALL_METHOD,
) -> Beside:
    """Measures calls in turns with an echo of the server's answer to the first of them.

    Args:
        name: of the call, for people.
        server: is asked.
        bodies: of the calls, sent in turn.
        effort: how long.
        clients: numbers of callers side by side, each measured.
        method: of the calls.
    """
    call, close = raw_call(server.target, method, bodies)
    answer = call(0)
    close()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answer.bin"
        file.write_bytes(answer)
        with echo_process(file) as echo:
            ours = Side(server.target, method, server.process.pid, bodies)
            bare = Side(echo.address, METHOD, echo.process_id, bodies)
            for number in range(effort.rounds):
                for side in (ours, bare):
                    side.row(effort.calls, WARM_UP_CALLS if number == 0 else 1)
                    for count in clients:
                        side.crowd(count, effort.duration_s)
    return Beside(name, ours, bare)
