"""What a recall costs, beside a bare gRPC echo of the same answer in the same run.

    python -m recalld.bench.bench_recall [--quick] [--users 100000] [--json FILE]

By vector over partitions of 100 to 100,000 memories, from 1, 8 and 32 clients, under filters that
1, 10 and 100 % of the memories match, and over a thousand users; by key; by text, embedded and from
the cache; and a request that is refused. Answers by vector are held against an exact search.
`--quick` leaves out 100,000 memories, whose store takes half a minute to make.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recalld.bench import goals
from recalld.bench.beside import COLUMNS, Beside, Effort, beside_echo
from recalld.bench.corpus import GROUPS, fill, nearest, number_of, serving, unit_vectors, vectors_of
from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import RECALL_METHOD, Latency, percentiles, raw_call
from recalld.bench.report import EMBEDDER, QUICK, Figure, Report, Table, command, provenance
from recalld.bench.requests import (
    FILTERS,
    REMEMBER_METHOD,
    by_key,
    by_text,
    by_vector,
    invalid,
    write,
)
from recalld.client.testing import RunningServer, running_server
from recalld.v1.recall_service_pb2 import RecallResponse

SIZES = (100, 1_000, 10_000, 100_000)  # memories of one user
QUICK_SIZES = SIZES[:-1]
CLIENTS = (8,)
CROWDS = (1, 8, 32)  # for one of the sizes
CROWDED_SIZE = 1_000
USERS = 1_000
USER_SIZE = 10
QUERY_COUNT = 256  # different ones, sent in turn
JUDGED_COUNT = 100  # queries whose answers are held against exact search
JUDGED_K = 10
TEXT_SIZE, QUICK_TEXT_SIZE = 1_000, 200  # memories of the user who is asked by text
TEXT_COUNT, QUICK_TEXT_COUNT = 300, 60  # different texts, each embedded once
FILL_BATCH = 50
FULL_EFFORT = Effort(rounds=9, calls=150, duration_s=0.4)
QUICK_EFFORT = Effort(rounds=4, calls=60, duration_s=0.2)


def of_size(size: int) -> str:
    """The user who has so many memories."""
    return f"user-{size}"


def by_vector_rows(
    server: RunningServer, sizes: Sequence[int], effort: Effort
) -> Iterator[tuple[Beside, dict[str, float]]]:
    """Every size, and every filter on the larger ones; with the share of right answers."""
    queries = unit_vectors(QUERY_COUNT, seed=2)
    for size in sizes:
        clients = CROWDS if size == CROWDED_SIZE else CLIENTS
        for share in (None, *FILTERS) if size > CROWDED_SIZE else (None,):
            condition = FILTERS[share] if share else None
            bodies = by_vector([of_size(size)], queries, condition=condition)
            name = f"vector, {size}" + (f", filter {share}" if share else "")
            found = beside_echo(name, server, bodies, effort, clients)
            key = name.replace(",", "").replace(" ", "_")
            yield found, {f"{key}_recall_at_10": recall_at_10(server, size, queries, share or 100)}


def recall_at_10(
    server: RunningServer, size: int, queries: NDArray[np.float32], share: int
) -> float:
    """Share of the ten nearest, of those that a filter lets through, among the server's ten."""
    numbers = np.arange(size)
    if share < 100:
        numbers = numbers[numbers % GROUPS == 73 if share == 1 else numbers % 10 == 3]
    judged = queries[:JUDGED_COUNT]
    exact = numbers[nearest(vectors_of(of_size(size), size)[numbers], judged, JUDGED_K)]
    condition = FILTERS[share]
    bodies = by_vector([of_size(size)], judged, JUDGED_K, condition, min_score=0.0)
    call, close = raw_call(server.target, RECALL_METHOD, bodies)
    hits = 0
    for i, wanted in enumerate(exact):
        answer = RecallResponse.FromString(call(i))
        hits += len({number_of(hit.memory.content) for hit in answer.hits} & set(wanted.tolist()))
    close()
    return hits / exact.size


def other_rows(server: RunningServer, users: int, effort: Effort) -> Iterator[Beside]:
    """Over many users, by key, and refused."""
    queries = unit_vectors(max(QUERY_COUNT, users), seed=3)
    bodies = by_vector([f"one-of-many-{i}" for i in range(users)], queries)
    yield beside_echo(f"vector, {users} users of {USER_SIZE}", server, bodies, effort, CLIENTS)
    numbers = np.random.default_rng(4).integers(0, CROWDED_SIZE, QUERY_COUNT)
    bodies = by_key(of_size(CROWDED_SIZE), numbers)
    yield beside_echo(f"key, {CROWDED_SIZE}", server, bodies, effort, CLIENTS)
    yield beside_echo("refused", server, [invalid()], effort, CLIENTS)


def by_text_rows(
    embedder: str, quick: bool, effort: Effort
) -> tuple[Beside, list[list[str | None]], dict[str, Figure]]:
    """Texts from the cache beside an echo; fresh texts beside embedding and echo, in turns."""
    size = QUICK_TEXT_SIZE if quick else TEXT_SIZE
    user = of_size(size)
    with running_server(embedder=embedder) as server:
        bodies = [write(user, first, FILL_BATCH) for first in range(0, size, FILL_BATCH)]
        store, close = raw_call(server.target, REMEMBER_METHOD, bodies)
        for i in range(len(bodies)):
            store(i)
        close()
        texts = by_text(user, QUICK_TEXT_COUNT if quick else TEXT_COUNT)
        fresh, embed, echo, excess = fresh_texts(server, texts)
        cached = beside_echo(f"text, cached, {size}", server, texts[:1], effort, CLIENTS)
    rows: list[list[str | None]] = [
        [name, f"{1e3 * it.p50_s:.2f}", f"{1e3 * it.p95_s:.2f}", f"{1e3 * it.p99_s:.2f}"]
        for name, it in (
            (f"recall by fresh text, {size}", fresh),
            ("of it embedding", embed),
            ("bare echo, one after each", echo),
            ("recall - (embedding + echo)", excess),
        )
    ]
    figures: dict[str, Figure] = {
        "text_p50_ms": 1e3 * fresh.p50_s,
        "text_p99_ms": 1e3 * fresh.p99_s,
        "text_embed_p50_ms": 1e3 * embed.p50_s,
        "text_echo_p50_ms": 1e3 * echo.p50_s,
        "text_excess_p50_ms": 1e3 * excess.p50_s,
    }
    return cached, rows, figures


def fresh_texts(
    server: RunningServer, texts: Sequence[bytes]
) -> tuple[Latency, Latency, Latency, Latency]:
    """Whole call, the embedding in it, an echo right after it, and the call less both.

    The echo is called as seldom as an embedding lets one call: a processor that slept for 10 ms
    takes twice as long for anything.
    """
    samples: list[tuple[float, float, float]] = []
    with TemporaryDirectory() as folder:
        call, close = raw_call(server.target, RECALL_METHOD, texts)
        file = Path(folder) / "answer.bin"
        file.write_bytes(call(0))
        with echo_process(file) as bare:
            echo, close_echo = raw_call(bare.address, METHOD, texts)
            echo(0)
            for i in range(1, len(texts)):
                start = time.perf_counter()
                answer = call(i)
                between = time.perf_counter()
                echo(i)
                end = time.perf_counter()
                embed = RecallResponse.FromString(answer).timings.embed
                samples.append((between - start, embed.seconds + embed.nanos / 1e9, end - between))
            close_echo()
        close()
    whole, embeds, echoes = zip(*samples, strict=True)
    excess = [call_s - embed_s - echo_s for call_s, embed_s, echo_s in samples]
    return percentiles(whole), percentiles(embeds), percentiles(echoes), percentiles(excess)


def run(quick: bool, embedder: str, users: int) -> Report:
    """Makes a store, serves it, measures all rows; then the same by text."""
    sizes, effort = (QUICK_SIZES, QUICK_EFFORT) if quick else (SIZES, FULL_EFFORT)
    figures: dict[str, Figure] = {**provenance()}
    found: list[Beside] = []
    right: dict[str, float] = {}
    with TemporaryDirectory(prefix="recalld-bench-") as name:
        folder = Path(name)
        fill(
            folder,
            {of_size(size): size for size in sizes}
            | {f"one-of-many-{i}": USER_SIZE for i in range(users)},
        )
        with serving(folder) as server:
            for row, share in by_vector_rows(server, sizes, effort):
                found.append(row)
                right |= share
            found += other_rows(server, users, effort)
    cached, text_rows, text_figures = by_text_rows(embedder, quick, effort)
    found.append(cached)
    for row in found:
        figures |= row.figures()
    figures |= {**right, **text_figures}
    shares = ", ".join(f"{share:.4f}" for share in right.values())
    notes = [f"recall@10 against exact search, the rows by vector: {shares}"]
    tables = [
        Table("Recall beside an echo", COLUMNS, [line for row in found for line in row.rows()]),
        Table("Recall by fresh text", ("what", "p50 ms", "p95 ms", "p99 ms"), text_rows),
        goals.table_of("recall", figures),
    ]
    return Report(figures, tables, notes)


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        return run(given.quick, given.embedder, given.users)

    users = {"type": int, "default": USERS, "help": f"with {USER_SIZE} memories each"}
    command(__doc__, asked, QUICK, EMBEDDER, ("--users", users))


if __name__ == "__main__":
    main()
