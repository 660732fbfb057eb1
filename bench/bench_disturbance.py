"""What snapshots, writes with their checkpoints, and purges cost the recalls beside them.

    python -m recalld.bench.bench_disturbance [--quick] [--memories 50000] [--json FILE]

Recalls by vector of one user are sent at a steady rate, whether or not earlier ones were answered,
and timed from when they were due: alone, then while each of the others runs, and alone again behind
each. One run's figures compare with each other only: the sender shares the processors with the
server, and its own lateness is in both.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from recalld.bench import goals
from recalld.bench.corpus import DIM, fill, serving, unit_vectors
from recalld.bench.load import RECALL_METHOD, Latency, percentiles
from recalld.bench.open_loop import OK, Sender, sender_to
from recalld.bench.processor import spent_s
from recalld.bench.report import QUICK, Cell, Figure, Report, Table, command, provenance
from recalld.bench.requests import REMEMBER_METHOD, by_vector, write
from recalld.index.hash_embedder import HashEmbedder
from recalld.v1.admin_service_pb2 import CreateSnapshotRequest
from recalld.v1.memory_service_pb2 import ForgetMode, ForgetRequest
from recalld.v1.types_pb2 import Scope

MEMORIES, QUICK_MEMORIES = 50_000, 10_000
ASKED, LARGE = "asked", "large"
ASKED_SIZE, SMALL_SIZE = 1_000, 100
RATE = 60.0  # recalls a second: a tenth of what a core answers, so that queues are the others' work
CHUNK_S = 0.5
QUIET_S, QUICK_QUIET_S = 5.0, 1.0
ROUNDS, QUICK_ROUNDS = 3, 1
LOG_BYTES = 16 * 1024 * 1024  # a checkpoint is made when the log has grown to this
ROW_BYTES = 2_000  # of the log, for a memory with its vector
BATCH = 64
TIMEOUT_S = 300.0
SNAPSHOT_METHOD = "/recalld.v1.AdminService/CreateSnapshot"
FORGET_METHOD = "/recalld.v1.MemoryService/Forget"

Work = Callable[[grpc.aio.Channel], Awaitable[None]]


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


async def recalls_until(sender: Sender, is_done: Callable[[], bool]) -> list[float]:
    """Recalls at the rate, in pieces, until something is done; their times in seconds."""
    times_s: list[float] = []
    while not is_done():
        outcomes = await sender.open_loop(RATE, CHUNK_S)
        assert outcomes.codes.keys() <= {OK}, f"recalls failed: {outcomes.codes}"
        times_s += outcomes.times_s.get(OK, [])
    return times_s


async def alone(sender: Sender, seconds: float) -> list[float]:
    """Recalls while nothing else happens."""
    pieces = count()
    return await recalls_until(sender, lambda: next(pieces) * CHUNK_S >= seconds)


async def measure(
    address: str, process_id: int, works: dict[str, list[Work]], quiet_s: float
) -> list[Beside]:
    """Each kind of work, each of its rounds between quiet times."""
    bodies = by_vector([ASKED], unit_vectors(256, seed=3))

    def request(number: int) -> tuple[str, bytes]:
        return RECALL_METHOD, bodies[number % len(bodies)]

    found = []
    async with (
        sender_to(address, request, TIMEOUT_S) as sender,
        grpc.aio.insecure_channel(address) as channel,
    ):
        await alone(sender, quiet_s)
        for name, rounds in works.items():
            quiet, busy, took_s, began_s = [], [], 0.0, 0.0
            spent = 0.0
            for work in rounds:
                quiet += await alone(sender, quiet_s)
                began_s, before_s = asyncio.get_running_loop().time(), spent_s(process_id)
                task = asyncio.ensure_future(work(channel))
                busy += await recalls_until(sender, task.done)
                await task
                took_s += asyncio.get_running_loop().time() - began_s
                spent += spent_s(process_id) - before_s
            quiet += await alone(sender, quiet_s)
            found.append(Beside(name, percentiles(quiet), percentiles(busy), took_s, spent))
    return found


def snapshot(number: int) -> Work:
    """A snapshot of everything."""
    body = CreateSnapshotRequest(name=f"snapshot-{number}").SerializeToString()
    return _call(SNAPSHOT_METHOD, [body])


def writes(number: int, log_bytes: int) -> Work:
    """Batches with given vectors, one after the other, until the log must have grown by so much."""
    batches = 1 + log_bytes // ROW_BYTES // BATCH
    vectors = unit_vectors(batches * BATCH, seed=5).reshape(batches, BATCH, DIM)
    fingerprint = HashEmbedder(DIM).fingerprint
    user_id = f"written-{number}"
    bodies = [write(user_id, n * BATCH, BATCH, vectors[n], fingerprint) for n in range(batches)]
    return _call(REMEMBER_METHOD, bodies)


def purge(user_id: str) -> Work:
    """A purge of all of a user."""
    scope = Scope(user_id=user_id)
    mode = ForgetMode.FORGET_MODE_PURGE
    body = ForgetRequest(scope=scope, all=True, mode=mode).SerializeToString()
    return _call(FORGET_METHOD, [body])


def _call(method: str, bodies: list[bytes]) -> Work:
    async def work(channel: grpc.aio.Channel) -> None:
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
        for body in bodies:
            await stub(body, timeout=TIMEOUT_S)

    return work


def run(memories: int, rounds: int, quiet_s: float, log_bytes: int = LOG_BYTES) -> Report:
    """One server with a small user that is asked, a large one, and many small ones."""
    large = memories // 2
    small = (memories - large - ASKED_SIZE) // SMALL_SIZE
    sizes = {ASKED: ASKED_SIZE, LARGE: large} | {f"u{n}": SMALL_SIZE for n in range(small)}
    works = {
        "snapshot": [snapshot(n) for n in range(rounds)],
        "writes with checkpoints": [writes(n, log_bytes) for n in range(rounds)],
        "purge of a small user": [purge(f"u{n}") for n in range(rounds)],
        "purge of the large user": [purge(LARGE)],
    }
    with TemporaryDirectory(prefix="recalld-bench-") as name:
        fill(Path(name), sizes)
        with serving(Path(name)) as server:
            process_id = server.process.pid
            found = asyncio.run(measure(server.target, process_id, works, quiet_s))
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
