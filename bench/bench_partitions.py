"""What it costs that memories are loaded on demand: the start, the first call of a user, the next.

`python -m recalld.bench.bench_partitions [--users 2000] [--memories 100] [--memory-max-mb 64]
[--json FILE]` makes a database of that many users (their memories interleaved, as users write side
by side), starts a real server on it, and measures: time until it is ready, first and further calls
of users by text, the processor time of each, and resident memory; beside a bare echo of
the same answer. 100,000 users of 100 memories take 5 GB of disk and some minutes of processor time.
"""

import argparse
import socket
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import RECALL_METHOD, Latency, in_a_row, raw_call
from recalld.bench.processor import resident_bytes, spent_s
from recalld.bench.report import Cell, Figure, Report, Table, progress, provenance, publish
from recalld.client.testing import RunningServer, running_server
from recalld.index.hash_embedder import HashEmbedder
from recalld.storage import duckdb_file
from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.record import Kind, MemoryRecord, Scope
from recalld.storage.store import StoredMemory, WriteBatch
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Scope as WireScope

DIM = 384
WORDS, VOCABULARY = 14, 8_000
CALLED = 100  # users who call; all of them fit into the default budget
NOW_US = 1_700_000_000_000_000
WARMING_POLL_S = 2.0
COPY_MEMORY_BYTES = 1 << 30
# One seed memory becomes one of each user; everything that must be unique is made of the label.
# Its vector is turned by some columns: equal ones would be stored once, and read for nothing.
COPY = f"""
INSERT INTO memories BY NAME SELECT s.* REPLACE (
    $first + u AS label, md5(($first + u)::VARCHAR) AS id, 'user-' || u AS user_id,
    s.content || ' no' || u AS content, unhex(md5(s.content || u)) AS content_hash,
    s.embedding[4 * (u % {DIM}) + 1:] || s.embedding[:4 * (u % {DIM})] AS embedding
) FROM memories s, range($users) t(u) WHERE s.label = $seed
"""


@dataclass(frozen=True)
class Row:
    """Calls of one kind, and what they cost the server."""

    name: str
    latency: Latency
    processor_s: float


def seeds(count: int, labels_from: int) -> tuple[StoredMemory, ...]:
    """Memories of the usual length, of words as rare as those of a language."""
    random = np.random.default_rng(7)
    syllables = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]
    vocabulary = ["".join(random.choice(syllables, 3)) for _ in range(VOCABULARY)]
    shares = 1 / np.arange(1, VOCABULARY + 1)
    embedder = HashEmbedder(DIM)
    made = []
    for label in range(labels_from, labels_from + count):
        words = random.choice(vocabulary, WORDS, p=shares / shares.sum())
        text = f"The user said that {' '.join(words)}."
        record = MemoryRecord(
            label=label,
            id=f"{label:032x}",
            scope=Scope("default", "seed"),
            kind=Kind.FACT,
            content=text,
            language="en",
            event_time_us=NOW_US + label,
            create_time_us=NOW_US + label,
            update_time_us=NOW_US + label,
            content_hash=label.to_bytes(16, "big"),
            revision=1,
        )
        vector = embedder.embed([text], is_query=False)[0]
        made.append(StoredMemory(record, vector, embedder.fingerprint))
    return tuple(made)


def fill(data_dir: Path, users: int, memories: int) -> None:
    """A database of so many users, each with copies of the same memories."""
    store = DuckDBStore(data_dir, DuckDBOptions(NOW_US, "bench"))
    seed_from = users * memories + 1
    store.write(WriteBatch("default", 1, seeds(memories, seed_from)))
    store.close()
    path = data_dir / DATABASE_NAME
    connection = duckdb_file.connect(path, memory_limit_bytes=COPY_MEMORY_BYTES)
    with progress("memories of each user", memories) as step:
        for number in range(memories):
            first, seed = 1 + number * users, seed_from + number
            connection.execute(COPY, {"first": first, "users": users, "seed": seed})
            step(1)
    connection.execute("DELETE FROM memories WHERE user_id = 'seed'")
    connection.execute("FORCE CHECKPOINT")
    connection.close()


def metric(port: int, name: str) -> float:
    """A value of the server's page of metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(name)))


def wait_until_warmed(port: int) -> None:
    """Wait until no more users are loaded in the background."""
    before, loaded = -1.0, 0.0
    while before < loaded:
        time.sleep(WARMING_POLL_S)
        before, loaded = loaded, metric(port, "recalld_partitions_resident ")


def measure(name: str, server: RunningServer, users: Sequence[int]) -> Row:
    """One call of each user."""
    call, close = raw_call(server.target, RECALL_METHOD, [_request(user) for user in users])
    before_s = spent_s(server.process.pid)
    latency = in_a_row(call, len(users), warm_up=0)
    each_s = (spent_s(server.process.pid) - before_s) / len(users)
    close()
    return Row(name, latency, each_s)


def echo(server: RunningServer, user: int) -> Latency:
    """The same call on a server that gives a ready answer."""
    call, close = raw_call(server.target, RECALL_METHOD, [_request(user)])
    answer = call(0)
    close()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answer.bin"
        file.write_bytes(answer)
        with echo_process(file) as ready:
            call, close = raw_call(ready.address, METHOD, [_request(user)])
            latency = in_a_row(call, CALLED)
            close()
    return latency


def _request(user: int) -> bytes:
    scope = WireScope(user_id=f"user-{user}")
    return RecallRequest(scope=scope, text=f"what of no{user}?", k=5).SerializeToString()


def run(users: int, memories: int, memory_max_mb: int) -> Report:
    """Fill, start, call."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        "RECALLD_EMBEDDER__HASH_DIM": str(DIM),
        "RECALLD_SERVER__METRICS_LISTEN": f"127.0.0.1:{port}",
        "RECALLD_SERVER__MEMORY_MAX_MB": str(memory_max_mb),
    }
    with TemporaryDirectory() as folder:
        fill(Path(folder), users, memories)
        started_s = time.perf_counter()
        with running_server(data_dir=folder, env=env) as server:
            ready = (time.perf_counter() - started_s, spent_s(server.process.pid))
            wait_until_warmed(port)
            called = np.random.default_rng(1).permutation(users)[:CALLED].tolist()
            empty_mb = resident_bytes(server.process.pid) / 1e6
            rows = [measure("first call of a user", server, called)]
            rows.append(measure("next call of that user", server, called))
            bare = echo(server, called[0])
            held = {
                "resident_mb": resident_bytes(server.process.pid) / 1e6,
                "partitions": metric(port, "recalld_partitions_resident "),
                "estimate_mb": metric(port, "recalld_partitions_resident_bytes ") / 1e6,
                "evictions": metric(port, "recalld_partition_evictions_total "),
            }
    return _report(rows, bare, ready, {"ready_mb": empty_mb, **held}, (users, memories))


def _report(
    rows: Sequence[Row],
    bare: Latency,
    ready: tuple[float, float],
    held: dict[str, float],
    size: tuple[int, int],
) -> Report:
    table: list[list[Cell]] = [
        ["bare echo", f"{1e3 * bare.p50_s:.2f}", f"{1e3 * bare.p99_s:.2f}", None]
    ]
    figures: dict[str, Figure] = {**provenance(), **held, "users": size[0], "memories": size[1]}
    figures |= {"ready_s": ready[0], "ready_processor_s": ready[1]}
    for row in rows:
        numbers = [1e3 * t for t in (row.latency.p50_s, row.latency.p99_s, row.processor_s)]
        table.append([row.name, *(f"{number:.2f}" for number in numbers)])
        name = row.name.replace(" ", "_")
        figures |= {f"{name}_p50_ms": numbers[0], f"{name}_processor_ms": numbers[2]}
    notes = [
        f"{size[0]} users of {size[1]} memories: ready after {ready[0]:.1f} s, of which the "
        f"server's processor time {ready[1]:.1f} s (1.5 s without any memories)",
        ", ".join(f"{name} {value:.0f}" for name, value in held.items()),
    ]
    columns = ["call", "p50 ms", "p99 ms", "processor ms"]
    return Report(figures, [Table("Recall by text, model-free embedder", columns, table)], notes)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--memories", type=int, default=100)
    parser.add_argument("--memory-max-mb", type=int, default=64)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    publish(run(given.users, given.memories, given.memory_max_mb), given.json)


if __name__ == "__main__":
    main()
