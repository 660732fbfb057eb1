"""How long a purge of one user takes in a store of 100,000 memories, snapshot included.

`python -m recalld.bench.bench_purge` fills a store with random vectors, serves it, takes a
snapshot, purges a small user and a large one (half of all memories) over gRPC, and prints seconds.
The goal is a minute.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from recalld.bench.report import Figure, Report, Table, progress, provenance, publish
from recalld.bench.target import connect
from recalld.client.testing import running_server
from recalld.index.hash_embedder import HashEmbedder
from recalld.server.config import Config
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.record import MemoryRecord, Scope
from recalld.storage.store import StoredMemory, WriteBatch
from recalld.v1.admin_service_pb2 import CreateSnapshotRequest
from recalld.v1.memory_service_pb2 import ForgetMode, ForgetRequest
from recalld.v1.types_pb2 import Scope as WireScope

TENANT = "default"
LARGE_USER = "user-0"
SMALL_USER = "user-1"
SMALL_COUNT = 100
BATCH_COUNT = 4_096
CALL_TIMEOUT_S = 600.0
GOAL_S = 60.0
DAY_US = 86_400_000_000
START_US = 1_700_000_000_000_000


def run(memory_count: int) -> Report:
    """Fills a store, serves it and purges."""
    figures: dict[str, Figure] = {**provenance(), "memories": memory_count}
    with tempfile.TemporaryDirectory(prefix="recalld-purge-") as name:
        fill(Path(name), memory_count)
        with running_server(data_dir=name) as server, connect(server.target) as target:
            start = time.perf_counter()
            target.admin.CreateSnapshot(CreateSnapshotRequest(), timeout=CALL_TIMEOUT_S)
            figures["snapshot_s"] = time.perf_counter() - start
            for label, user in (("small", SMALL_USER), ("large", LARGE_USER)):
                request = ForgetRequest(
                    scope=WireScope(user_id=user), all=True, mode=ForgetMode.FORGET_MODE_PURGE
                )
                start = time.perf_counter()
                answer = target.memory.Forget(request, timeout=CALL_TIMEOUT_S)
                figures[f"{label}_purge_s"] = time.perf_counter() - start
                figures[f"{label}_rows"] = int(answer.receipt.row_count)
    measured = [key for key in figures if key not in provenance()]
    rows = [[key, f"{figures[key]:.2f}"] for key in measured]
    took = [figures["small_purge_s"], figures["large_purge_s"]]
    verdict = "met" if all(isinstance(s, float) and s <= GOAL_S for s in took) else "NOT met"
    note = f"one snapshot is rewritten by each purge; goal of {GOAL_S:.0f} s {verdict}"
    return Report(figures, [Table("Purge", ["measure", "value"], rows)], [note])


def fill(data_dir: Path, memory_count: int) -> None:
    """Half of the memories are the large user's, the others belong to users of a hundred each."""
    store = DuckDBStore(data_dir, DuckDBOptions(START_US, "bench"))
    embedder = HashEmbedder(Config().embedder.hash_dim)
    rng = np.random.default_rng(1)
    with progress("store", memory_count) as step:
        for revision, start in enumerate(range(0, memory_count, BATCH_COUNT), start=1):
            labels = range(start + 1, min(memory_count, start + BATCH_COUNT) + 1)
            vectors = rng.standard_normal((len(labels), embedder.dim)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            rows = rows_of(labels, vectors, revision, embedder.fingerprint, memory_count)
            store.write(WriteBatch(TENANT, revision, tuple(rows)))
            step(len(labels))
    store.close()


def rows_of(
    labels: range, vectors: np.ndarray, revision: int, fingerprint: str, memory_count: int
) -> Iterator[StoredMemory]:
    """Rows of one batch."""
    for label, vector in zip(labels, vectors, strict=True):
        number = 0 if label <= memory_count // 2 else 1 + (label - 1) // SMALL_COUNT
        first = memory_count // 2 // SMALL_COUNT
        user = LARGE_USER if number == 0 else f"user-{number - first}"
        record = MemoryRecord(
            label=label,
            id=f"{label:032x}",
            scope=Scope(TENANT, user),
            kind=4,
            content=f"Note {label * 7919} of what {user} said about a plan, a place and a price.",
            event_time_us=START_US + label * DAY_US // 100,
            create_time_us=START_US,
            update_time_us=START_US,
            content_hash=label.to_bytes(16, "big"),
            revision=revision,
        )
        yield StoredMemory(record, vector, fingerprint)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    publish(run(arguments.memories), arguments.json)


if __name__ == "__main__":
    main()
