"""A call beside the cheapest one there can be: a bare gRPC echo of the same answer.

Both are processes of their own, driven by the same client in turns, round by round. What is told of
each is its best round, for other work on the machine only ever makes calls slower; the processor
time is that of the server alone. Ratios travel from machine to machine, milliseconds do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
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


@dataclass
class Side:
    """The call or its echo: where it is asked, and the best that was seen."""

    address: str
    method: str
    process_id: int
    bodies: Sequence[bytes]
    latency: Latency | None = None
    rates: dict[int, float] = field(default_factory=dict)
    processor_s: dict[int, float] = field(default_factory=dict)

    def row(self, calls: int, warm_up: int) -> None:
        """Calls in a row; the round with the lowest median is kept."""
        call, close = raw_call(self.address, self.method, self.bodies)
        latency = in_a_row(call, calls, warm_up)
        close()
        if self.latency is None or latency.p50_s < self.latency.p50_s:
            self.latency = latency

    def crowd(self, clients: int, duration_s: float) -> None:
        """Calls side by side; the best rate and the least processor time of a call are kept."""
        began_s = spent_s(self.process_id)
        rate = calls_per_second(self.address, self.method, self.bodies, clients, duration_s)
        # The first call of each client is not in the rate, but in the processor's time.
        took_s = (spent_s(self.process_id) - began_s) / (rate * duration_s + clients)
        self.rates[clients] = max(rate, self.rates.get(clients, 0.0))
        self.processor_s[clients] = min(took_s, self.processor_s.get(clients, took_s))

    @property
    def p50_s(self) -> float:
        """Median of the best round."""
        assert self.latency is not None
        return self.latency.p50_s

    @property
    def p99_s(self) -> float:
        """99th percentile of the same round."""
        assert self.latency is not None
        return self.latency.p99_s


@dataclass(frozen=True)
class Beside:
    """What was found of one kind of call."""

    name: str
    ours: Side
    echo: Side

    @property
    def ratio(self) -> float:
        """Round trip at one client against the echo's."""
        return self.ours.p50_s / self.echo.p50_s

    def of_echo(self, clients: int) -> float:
        """Calls a second against the echo's."""
        return self.ours.rates[clients] / self.echo.rates[clients]

    def rows(self) -> list[list[Cell]]:
        """One row for each number of clients."""
        return [
            [
                self.name,
                f"{1e3 * self.ours.p50_s:.3f}",
                f"{1e3 * self.ours.p99_s:.3f}",
                f"{1e3 * self.echo.p50_s:.3f}",
                f"{self.ratio:.2f}",
                clients,
                f"{rate:.0f}",
                f"{self.echo.rates[clients]:.0f}",
                f"{self.of_echo(clients):.2f}",
                f"{1e6 * self.ours.processor_s[clients]:.0f}",
                f"{1e6 * self.echo.processor_s[clients]:.0f}",
            ]
            for clients, rate in self.ours.rates.items()
        ]

    def figures(self) -> dict[str, Figure]:
        """The same by name; the name of the call leads."""
        name = self.name.replace(",", "").replace(" ", "_")
        found: dict[str, Figure] = {
            f"{name}_p50_ms": 1e3 * self.ours.p50_s,
            f"{name}_p99_ms": 1e3 * self.ours.p99_s,
            f"{name}_echo_p50_ms": 1e3 * self.echo.p50_s,
            f"{name}_to_echo": self.ratio,
            f"{name}_excess_p50_ms": 1e3 * (self.ours.p50_s - self.echo.p50_s),
        }
        for clients, rate in self.ours.rates.items():
            found[f"{name}_{clients}_clients_per_s"] = rate
            found[f"{name}_{clients}_clients_of_echo"] = self.of_echo(clients)
            found[f"{name}_{clients}_clients_server_us"] = 1e6 * self.ours.processor_s[clients]
            found[f"{name}_{clients}_clients_echo_us"] = 1e6 * self.echo.processor_s[clients]
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
