"""What snapshots, writes with their checkpoints, and purges cost the recalls beside them.

    python -m recalld.bench.bench_disturbance [--quick] [--memories 50000] [--json FILE]

Recalls by vector of one user are sent at a steady rate, whether or not earlier ones were answered,
and timed from when they were due: alone, then while each of the others runs, and alone again behind
each. It begins when the server has loaded what it loads by itself. One run's figures compare with
each other only: the sender shares the processors with the server, and its own lateness is in both.

Writes have three rows (`recalld.bench.disturbances`). *Checkpoints* has the recalls under way while
the batch was that made one, 64 memories of it included, and is what the goal is about. *Paced
writes*, the same batches ten a second without a checkpoint, tells what of that is the batch.
*Flood of writes*, batches as fast as they are answered, is queueing for the server's one core of
Python and has no goal. Until commit 7e257f3 there was one row, "writes with checkpoints", of a
flood: 3.2 times the quiet p99.
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from recalld.bench import goals
from recalld.bench.corpus import fill, serving, unit_vectors
from recalld.bench.disturbances import (
    LARGE,
    SMALL,
    TIMEOUT_S,
    Served,
    Span,
    Work,
    purge,
    snapshot,
    writes,
)
from recalld.bench.load import RECALL_METHOD, Latency, percentiles
from recalld.bench.open_loop import OK, Sender, sender_to
from recalld.bench.processor import spent_s
from recalld.bench.report import QUICK, Cell, Figure, Report, Table, command, provenance
from recalld.bench.requests import by_vector
from recalld.client.testing import RunningServer

MEMORIES, QUICK_MEMORIES = 50_000, 10_000
ASKED, LARGE_USER = "asked", "large"
ASKED_SIZE, SMALL_SIZE = 1_000, 100
RATE = 60.0  # recalls a second: a tenth of what a core answers, so that queues are the others' work
CHUNK_S = 0.5
QUIET_S, QUICK_QUIET_S = 5.0, 1.0
ROUNDS, QUICK_ROUNDS = 3, 1
CHECKPOINTS_PER_ROUND = 2  # each is beside some twenty recalls only
SETTLED = 0.1  # of a core is what a server without calls takes at most

Answered = list[tuple[float, float]]
"""When each recall was due and ended."""


@dataclass(frozen=True)
class Beside:
    """Recalls beside one kind of work.

    Attributes:
        name: of the work.
        quiet: recalls before and behind it, when nothing else happened.
        busy: recalls while it ran.
        took_s: how long it ran, all rounds together.
        spent_s: processor time of the server meanwhile, recalls included.
    """

    name: str
    quiet: Latency
    busy: Latency
    took_s: float
    spent_s: float

    @property
    def ratio(self) -> float:
        """99th percentile beside the work against the one alone."""
        return self.busy.p99_s / self.quiet.p99_s

    def row(self) -> list[Cell]:
        """Cells under the columns of the table."""
        times_s = (self.quiet.p50_s, self.quiet.p99_s, self.busy.p50_s, self.busy.p99_s)
        cells = [f"{1e3 * time_s:.1f}" for time_s in times_s]
        took = (f"{self.took_s:.1f}", f"{self.spent_s:.1f}")
        return [self.name, *cells, f"{self.ratio:.2f}", *took, self.busy.count]

    def figures(self) -> dict[str, Figure]:
        """The same by name."""
        name = self.name.replace(" ", "_")
        return {
            f"{name}_quiet_p99_ms": 1e3 * self.quiet.p99_s,
            f"{name}_busy_p99_ms": 1e3 * self.busy.p99_s,
            f"{name}_p99_to_quiet": self.ratio,
            f"{name}_s": self.took_s,
            f"{name}_processor_s": self.spent_s,
            f"{name}_busy_recalls": self.busy.count,
        }


async def recalls_until(sender: Sender, is_done: Callable[[], bool]) -> Answered:
    """Recalls at the rate, in pieces, until something is done."""
    answered: Answered = []
    while not is_done():
        outcomes = await sender.open_loop(RATE, CHUNK_S)
        assert outcomes.codes.keys() <= {OK}, f"recalls failed: {outcomes.codes}"
        answered += outcomes.answered_s
    return answered


async def alone(sender: Sender, seconds: float) -> list[float]:
    """Times of recalls while nothing else happens."""
    pieces = count()
    answered = await recalls_until(sender, lambda: next(pieces) * CHUNK_S >= seconds)
    return [end_s - due_s for due_s, end_s in answered]


async def measure(server: RunningServer, works: list[list[Work]], quiet_s: float) -> list[Beside]:
    """Each kind of work, each of its rounds between quiet times."""
    bodies = by_vector([ASKED], unit_vectors(256, seed=3))

    def request(number: int) -> tuple[str, bytes]:
        return RECALL_METHOD, bodies[number % len(bodies)]

    found: list[Beside] = []
    async with (
        sender_to(server.target, request, TIMEOUT_S) as sender,
        grpc.aio.insecure_channel(server.target) as channel,
    ):
        served = Served(channel, server.process.pid, server.data_dir)
        await alone(sender, quiet_s)
        for rounds in works:
            quiet: list[float] = []
            answered: Answered = []
            spans: list[Span] = []
            for work in rounds:
                quiet += await alone(sender, quiet_s)
                task = asyncio.ensure_future(work(served))
                answered += await recalls_until(sender, task.done)
                spans += await task
            quiet += await alone(sender, quiet_s)
            found += rows_of(percentiles(quiet), answered, spans)
    return found


def rows_of(quiet: Latency, answered: Answered, spans: list[Span]) -> list[Beside]:
    """What recalls took while each kind of thing went on."""
    found = []
    for name in dict.fromkeys(span.name for span in spans):
        own = [span for span in spans if span.name == name]
        times_s = [
            end_s - due_s
            for due_s, end_s in answered
            if any(span.has(due_s, end_s) for span in own)
        ]
        took_s = sum(span.end_s - span.start_s for span in own)
        spent = sum(span.spent_s for span in own)
        found.append(Beside(name, quiet, percentiles(times_s), took_s, spent))
    return found


def settle(process_id: int) -> None:
    """Wait until a server has loaded what it loads by itself."""
    spent = CHUNK_S
    while spent > SETTLED * CHUNK_S:
        before_s = spent_s(process_id)
        time.sleep(CHUNK_S)
        spent = spent_s(process_id) - before_s


def run(memories: int, rounds: int, quiet_s: float) -> Report:
    """One server with a small user that is asked, a large one, and many small ones."""
    large = memories // 2
    small = (memories - large - ASKED_SIZE) // SMALL_SIZE
    sizes = {ASKED: ASKED_SIZE, LARGE_USER: large} | {f"u{n}": SMALL_SIZE for n in range(small)}
    works = [
        [snapshot(n) for n in range(rounds)],
        [writes(n) for n in range(rounds * CHECKPOINTS_PER_ROUND)],
        [purge(SMALL, f"u{n}") for n in range(rounds)],
        [purge(LARGE, LARGE_USER)],
    ]
    with TemporaryDirectory(prefix="recalld-bench-") as name:
        fill(Path(name), sizes)
        with serving(Path(name)) as server:
            settle(server.process.pid)
            found = asyncio.run(measure(server, works, quiet_s))
    figures: dict[str, Figure] = {**provenance(), "memories": memories}
    for one in found:
        figures |= one.figures()
    columns = (
        "beside",
        "alone p50 ms",
        "alone p99 ms",
        "p50 ms",
        "p99 ms",
        "p99 x alone",
        "took s",
        "server s",
        "recalls",
    )
    title = f"Recalls beside other work, {memories:,} memories"
    table = Table(title, columns, [one.row() for one in found])
    return Report(figures, [table, goals.table_of("disturbance", figures)])


def main() -> None:
    """Command line."""
    memories = ("--memories", {"type": int, "help": f"default {MEMORIES}, quick {QUICK_MEMORIES}"})

    def asked(given: argparse.Namespace) -> Report:
        size = given.memories or (QUICK_MEMORIES if given.quick else MEMORIES)
        rounds = QUICK_ROUNDS if given.quick else ROUNDS
        return run(size, rounds, QUICK_QUIET_S if given.quick else QUIET_S)

    command(__doc__, asked, QUICK, memories)


if __name__ == "__main__":
    main()
