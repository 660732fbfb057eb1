"""The same vectors and the same questions to recalld, over gRPC, and to its peers, in process.

    python -m recalld.bench.peers.compare --python .venv-peers/bin/python [--json FILE]

`make bench-peers` makes the environment and runs it. Ten nearest of 1,000 and 10,000 clustered
vectors of one user: latency at one client, processor time, and recall@10 against exact search. Each
peer is a process of its own. recalld does more in its time than most of them (decay, confidence,
conflicts, isolation, the wire); what it is compared in here is finding by vector alone.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recalld.bench.beside import Effort, beside_echo
from recalld.bench.corpus import fill, nearest, number_of, serving, unit_vectors, vectors_of
from recalld.bench.load import RECALL_METHOD, percentiles, raw_call
from recalld.bench.peers.stores import STORES, K
from recalld.bench.report import Cell, Figure, Report, Table, command, progress, provenance
from recalld.bench.requests import by_vector
from recalld.v1.recall_service_pb2 import RecallResponse

SIZES = (1_000, 10_000)
QUERY_COUNT = 100
EFFORT = Effort(rounds=3, calls=QUERY_COUNT, duration_s=0.5)
TIMEOUT_S = 900.0
PACKAGES = ("mem0ai", "chromadb", "langgraph", "milvus-lite", "pymilvus", "hnswlib", "numpy")


@dataclass(frozen=True)
class Found:
    """One row: seconds, and the share of the ten nearest that were found."""

    name: str
    p50_s: float
    p99_s: float
    processor_s: float
    recall_at_10: float | None

    def cells(self, size: int) -> list[Cell]:
        """Cells of its row."""
        return [
            f"{size:,}",
            self.name,
            f"{1e3 * self.p50_s:.3f}",
            f"{1e3 * self.p99_s:.3f}",
            f"{1e6 * self.processor_s:.0f}",
            None if self.recall_at_10 is None else f"{self.recall_at_10:.3f}",
        ]

    def figures(self, size: int) -> dict[str, Figure]:
        """The same by name."""
        name = f"{self.name.replace(' ', '_')}_{size}"
        return {
            f"{name}_p50_ms": 1e3 * self.p50_s,
            f"{name}_p99_ms": 1e3 * self.p99_s,
            f"{name}_processor_us": 1e6 * self.processor_s,
            f"{name}_recall_at_10": self.recall_at_10,
        }


def share_found(answers: Sequence[Sequence[int]], exact: NDArray[np.int64]) -> float:
    """Share of the exact answers, int64[q, k], that the answers hold."""
    hits = sum(
        len(set(answer) & set(wanted))
        for answer, wanted in zip(answers, exact.tolist(), strict=True)
    )
    return hits / exact.size


def ours(size: int, queries: NDArray[np.float32], exact: NDArray[np.int64]) -> list[Found]:
    """Ask recalld over gRPC, and an echo of its answer: what the transport takes of that."""
    bodies = by_vector(["user"], queries, K, min_score=0.0)
    with TemporaryDirectory() as folder:
        fill(Path(folder), {"user": size})
        with serving(Path(folder)) as server:
            found = beside_echo("recalld", server, bodies, EFFORT, (1,))
            call, close = raw_call(server.target, RECALL_METHOD, bodies)
            hits = [RecallResponse.FromString(call(i)).hits for i in range(len(queries))]
            close()
    right = share_found([[number_of(hit.memory.content) for hit in some] for some in hits], exact)
    return [
        Found(name, side.best.p50_s, side.best.p99_s, min(side.processor_s[1]), share)
        for name, side, share in (
            ("recalld over gRPC", found.ours, right),
            ("bare gRPC echo", found.echo, None),
        )
    ]


def theirs(name: str, python: Path, data: Path, exact: NDArray[np.int64]) -> Found:
    """One peer.

    Raises:
        SubprocessError: it failed or took too long; what it wrote is on standard error.
    """
    result = data.with_name(f"{name}.json")
    arguments = [str(python), "-m", "recalld.bench.peers.worker", name, str(data), str(result)]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
    found = json.loads(result.read_text("utf-8"))
    latency = percentiles(found["times_s"])
    right = share_found(found["answers"], exact)
    return Found(name, latency.p50_s, latency.p99_s, found["processor_s"], right)


def versions(python: Path) -> dict[str, str]:
    """Versions of the peers in their environment."""
    program = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run(
        [str(python), "-c", program, *PACKAGES], check=True, capture_output=True, text=True
    )
    return dict(zip(PACKAGES, done.stdout.split(), strict=True))


def run(python: Path, names: Sequence[str]) -> Report:
    """Every size: ours, then each peer."""
    queries = unit_vectors(QUERY_COUNT, seed=2)
    figures: dict[str, Figure] = {**provenance()}
    rows: list[list[Cell]] = []
    failed: list[str] = []
    total = len(SIZES) * (len(names) + 1)
    with TemporaryDirectory(prefix="recalld-peers-") as folder, progress("peers", total) as step:
        for size in SIZES:
            stored = vectors_of("user", size)
            exact = nearest(stored, queries, K)
            data = Path(folder) / f"{size}.npz"
            np.savez(data, stored=stored, queries=queries)
            found = ours(size, queries, exact)
            step()
            for name in names:
                try:
                    found.append(theirs(name, python, data, exact))
                except subprocess.SubprocessError as error:
                    failed.append(f"{name} at {size:,} memories: {error}.")
                step()
            rows += [one.cells(size) for one in found]
            for one in found:
                figures |= one.figures(size)
    columns = ("memories", "store", "p50 ms", "p99 ms", "processor us", "recall@10")
    peers = ", ".join(f"{name} {version}" for name, version in versions(python).items())
    notes = [
        f"Peers: {peers}.",
        "Processor time of recalld and of the echo is the server's, that of the others their "
        "whole process's; their threads may use several cores at once.",
        *failed,
    ]
    return Report(figures, [Table("The ten nearest, one client", columns, rows)], notes)


def main() -> None:
    """Command line."""
    python = {"type": Path, "required": True, "help": "interpreter of the peers' environment"}
    only = {"nargs": "+", "choices": tuple(STORES), "default": tuple(STORES)}

    def asked(given: argparse.Namespace) -> Report:
        return run(given.python, given.only)

    command(__doc__, asked, ("--python", python), ("--only", only))


if __name__ == "__main__":
    main()
