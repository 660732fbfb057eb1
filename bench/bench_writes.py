"""What a durable write costs over gRPC, beside the bare sync of the same disk.

    python -m recalld.bench.bench_writes [--quick] [--json FILE]

Memories with given vectors, one by one and in batches of 64, from one client and from eight. Every
answer means that the write is on disk. The bare sync (200 bytes appended to a file, then `fsync`)
runs in turns with the single writes, for shared disks drift.
"""

import argparse
import asyncio
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from recalld.bench import goals
from recalld.bench.bench_store import bare_sync
from recalld.bench.corpus import DIM, serving, unit_vectors
from recalld.bench.load import Latency, percentiles, raw_call
from recalld.bench.open_loop import Outcomes, sender_to
from recalld.bench.processor import spent_s
from recalld.bench.report import QUICK, Cell, Figure, Report, Table, command, provenance
from recalld.bench.requests import REMEMBER_METHOD, write
from recalld.client.testing import RunningServer
from recalld.index.hash_embedder import HashEmbedder

ROUNDS = 10
SINGLES, QUICK_SINGLES = 30, 8  # in one round
BATCH = 64
CLIENTS = (1, 8)
SECONDS, QUICK_SECONDS = 4.0, 1.0
WARM_UP = 5
VECTORS = 1_024
TIMEOUT_S = 30.0
FINGERPRINT = HashEmbedder(DIM).fingerprint


def singles(server: RunningServer, calls: int) -> tuple[Latency, Latency]:
    """Writes of one memory, and bare syncs in turns with them."""
    vectors = unit_vectors(WARM_UP + ROUNDS * calls, seed=6)
    bodies = [write("single", i, 1, vectors[i : i + 1], FINGERPRINT) for i in range(len(vectors))]
    call, close = raw_call(server.target, REMEMBER_METHOD, bodies)
    numbers = iter(range(len(bodies)))
    for _ in range(WARM_UP):
        call(next(numbers))
    writes_s: list[float] = []
    syncs_s: list[float] = []
    with TemporaryDirectory(dir=server.data_dir.parent) as folder:
        for _ in range(ROUNDS):
            syncs_s += [took_ms / 1e3 for took_ms in bare_sync(Path(folder), calls)]
            for _ in range(calls):
                start = time.perf_counter()
                assert call(next(numbers)), "the write was refused"
                writes_s.append(time.perf_counter() - start)
    close()
    return percentiles(writes_s), percentiles(syncs_s)


async def batches(address: str, clients: int, seconds: float) -> Outcomes:
    """Writes of 64 memories, always new ones, to a user for each client."""
    vectors = unit_vectors(VECTORS, seed=7)
    numbers = count()

    def request(_: int) -> tuple[str, bytes]:
        number = next(numbers)
        some = vectors[number * BATCH % VECTORS :][:BATCH]
        user = f"batches-{clients}-{number % clients}"
        return REMEMBER_METHOD, write(user, number * BATCH, BATCH, some, FINGERPRINT)

    async with sender_to(address, request, TIMEOUT_S) as sender:
        return await sender.closed_loop(clients, seconds)


def run(quick: bool) -> Report:
    """Singles, then batches, against one server."""
    figures: dict[str, Figure] = {**provenance()}
    with serving() as server:
        alone, sync = singles(server, QUICK_SINGLES if quick else SINGLES)
        rows: list[list[Cell]] = [_row("bare sync", sync), _row("write of 1", alone)]
        for clients in CLIENTS:
            began_s = spent_s(server.process.pid)
            outcomes = asyncio.run(
                batches(server.target, clients, QUICK_SECONDS if quick else SECONDS)
            )
            written = BATCH * len(outcomes.answers)
            spent_us = 1e6 * (spent_s(server.process.pid) - began_s) / written
            rate = BATCH * outcomes.good_per_s
            latency = outcomes.answered()
            name = f"batches of {BATCH}, {clients} clients"
            rows.append([*_row(name, latency)[:-2], f"{rate:.0f}", f"{spent_us:.0f}"])
            figures[f"batch_{clients}_clients_per_s"] = rate
            figures[f"batch_{clients}_clients_p50_ms"] = 1e3 * latency.p50_s
            figures[f"batch_{clients}_clients_server_us"] = spent_us
    figures |= {
        "single_p50_ms": 1e3 * alone.p50_s,
        "single_p99_ms": 1e3 * alone.p99_s,
        "sync_p50_ms": 1e3 * sync.p50_s,
        "sync_p99_ms": 1e3 * sync.p99_s,
    }
    columns = ("write", "p50 ms", "p95 ms", "p99 ms", "memories/s", "server us a memory")
    return Report(
        figures,
        [Table("Durable writes over gRPC", columns, rows), goals.table_of("writes", figures)],
    )


def _row(name: str, latency: Latency) -> list[Cell]:
    times_s = (latency.p50_s, latency.p95_s, latency.p99_s)
    return [name, *(f"{1e3 * time_s:.2f}" for time_s in times_s), None, None]


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        return run(given.quick)

    command(__doc__, asked, QUICK)


if __name__ == "__main__":
    main()
