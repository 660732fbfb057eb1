"""Calls at a steady rate, whether or not earlier ones were answered: percentiles and errors.

    python -m recalld.bench.bench_load [--quick] [--seconds 600] [--json FILE]

Recall by vector over 1,000 memories, by key, and nine recalls by vector to one durable write. For
each the peak is found by closed loops; then 70 % of it is sent evenly (open loop), each call timed
from when it was due, so that a slow answer also counts for the calls behind it. A bare gRPC echo of
the same answer at the same rate shows what client and machine take for themselves.
"""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from recalld.bench import goals
from recalld.bench.corpus import DIM, fill, serving, unit_vectors
from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import RECALL_METHOD, percentiles, raw_call
from recalld.bench.open_loop import OK, Outcomes, Request, sender_to
from recalld.bench.report import QUICK, Cell, Figure, Report, Table, command, progress, provenance
from recalld.bench.requests import REMEMBER_METHOD, by_key, by_vector, write
from recalld.index.hash_embedder import HashEmbedder

USER, SIZE = "user", 1_000
QUERY_COUNT = 256
WRITE_EVERY = 10  # in the mix, one call in so many
WRITERS = 50  # users that the mix writes to
IN_FLIGHT = (4, 16, 64)
SHARE = 0.7  # of the peak
TIMEOUT_S = 5.0
SECONDS, QUICK_SECONDS = 8.0, 2.0
PEAK_S, QUICK_PEAK_S = 2.0, 0.5

COLUMNS = (
    "call",
    "peak /s",
    "sent /s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "p99.9 ms",
    "errors",
    "sender late p99 ms",
)


def kinds() -> Iterator[tuple[str, Request]]:
    """What is sent, by name."""
    vectors = by_vector([USER], unit_vectors(QUERY_COUNT, seed=2))
    keys = by_key(USER, np.random.default_rng(4).integers(0, SIZE, QUERY_COUNT))
    fingerprint = HashEmbedder(DIM).fingerprint
    written = unit_vectors(QUERY_COUNT, seed=5)

    def mix(number: int) -> tuple[str, bytes]:
        if number % WRITE_EVERY:
            return RECALL_METHOD, vectors[number % QUERY_COUNT]
        user, at = f"writer-{number // WRITE_EVERY % WRITERS}", number % QUERY_COUNT
        return REMEMBER_METHOD, write(user, number, 1, written[at : at + 1], fingerprint)

    yield "vector", lambda number: (RECALL_METHOD, vectors[number % QUERY_COUNT])
    yield "key", lambda number: (RECALL_METHOD, keys[number % QUERY_COUNT])
    yield "mixed", mix


async def peak(address: str, request: Request, seconds: float) -> float:
    """The most calls a second that are answered."""
    async with sender_to(address, request, TIMEOUT_S) as sender:
        await sender.closed_loop(IN_FLIGHT[0], seconds / 2)
        runs = [await sender.closed_loop(many, seconds) for many in IN_FLIGHT]
    return max(run.good_per_s for run in runs)


async def steady(address: str, request: Request, rate: float, seconds: float) -> Outcomes:
    """What becomes of so many calls a second."""
    async with sender_to(address, request, TIMEOUT_S) as sender:
        await sender.closed_loop(IN_FLIGHT[0], 0.2)
        return await sender.open_loop(rate, seconds)


def run(seconds: float, peak_s: float) -> Report:
    """Every kind of call, each beside its echo."""
    figures: dict[str, Figure] = {**provenance(), "seconds": seconds}
    rows: list[list[Cell]] = []
    errors = 0
    with TemporaryDirectory(prefix="recalld-bench-") as name, progress("load", 3) as step:
        fill(Path(name), {USER: SIZE})
        with serving(Path(name)) as server:
            for kind, request in kinds():
                best = asyncio.run(peak(server.target, request, peak_s))
                outcomes = asyncio.run(steady(server.target, request, SHARE * best, seconds))
                echo = _echo(server.target, request, SHARE * best, min(seconds, SECONDS))
                rows.append([kind, f"{best:.0f}", *_cells(outcomes)])
                rows.append([f"echo at the rate of {kind}", None, *_cells(echo)])
                figures |= {f"{kind}_peak_per_s": best, **_figures(kind, outcomes)}
                figures |= _figures(f"{kind}_echo", echo)
                errors += outcomes.errors
                step()
    figures["errors"] = errors
    title = f"Open loop at {SHARE:.0%} of the peak, {seconds:g} s each"
    tables = [
        Table(title, COLUMNS, rows),
        goals.table_of("load", figures),
    ]
    return Report(figures, tables)


def _echo(address: str, request: Request, rate: float, seconds: float) -> Outcomes:
    """An echo of the answer to the second call, at the same rate."""
    method, body = request(1)
    call, close = raw_call(address, method, [body])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answer.bin"
        file.write_bytes(call(0))
        close()
        with echo_process(file) as echo:
            bodies = [request(number)[1] for number in range(1, QUERY_COUNT)]
            return asyncio.run(
                steady(echo.address, lambda n: (METHOD, bodies[n % len(bodies)]), rate, seconds)
            )


def _cells(outcomes: Outcomes) -> list[Cell]:
    latency = outcomes.answered()
    times_s = (latency.p50_s, latency.p95_s, latency.p99_s, latency.p999_s)
    late_s = percentiles(outcomes.sent_late_s).p99_s
    shown = [f"{1e3 * time_s:.2f}" for time_s in times_s]
    return [f"{outcomes.sent_per_s:.0f}", *shown, _told(outcomes), f"{1e3 * late_s:.2f}"]


def _told(outcomes: Outcomes) -> Cell:
    """How many calls were not answered, and with what status instead."""
    codes = (f"{code.name} {n}" for code, n in outcomes.codes.items() if code is not OK)
    return outcomes.errors and f"{outcomes.errors}: {', '.join(codes)}"


def _figures(kind: str, outcomes: Outcomes) -> dict[str, Figure]:
    latency = outcomes.answered()
    return {
        f"{kind}_sent_per_s": outcomes.sent_per_s,
        f"{kind}_p50_ms": 1e3 * latency.p50_s,
        f"{kind}_p95_ms": 1e3 * latency.p95_s,
        f"{kind}_p99_ms": 1e3 * latency.p99_s,
        f"{kind}_p999_ms": 1e3 * latency.p999_s,
        f"{kind}_errors": outcomes.errors,
    }


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        default, peak_s = (QUICK_SECONDS, QUICK_PEAK_S) if given.quick else (SECONDS, PEAK_S)
        return run(given.seconds or default, peak_s)

    command(__doc__, asked, QUICK, ("--seconds", {"type": float, "help": "length of each run"}))


if __name__ == "__main__":
    main()
