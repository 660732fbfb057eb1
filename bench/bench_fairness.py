"""What a flood of one tenant costs the others: their latency beside a quiet server's.

`python -m recalld.bench.bench_fairness [--quick] [--json FILE]` starts a real server that asks for
credentials and measures the calls of one tenant beside the flood of another tenant, and beside the
same flood in its own name, which is what it would cost without turns; right before each, alone. In
between them calls of a bare echo, a process of its own, are measured: how much slower these become
is what the machine's processors have to do with it, for the flood takes one of them.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.flood import KINDS, flood_process
from recalld.bench.load import CALL_TIMEOUT_S, RECALL_METHOD, Latency, percentiles
from recalld.bench.report import EMBEDDER, QUICK, Figure, Report, Table, command, provenance
from recalld.client.testing import running_server
from recalld.server import token_file
from recalld.server.permissions import Role
from recalld.server.token_file import Grant
from recalld.storage.fsio import Files
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.memory_service_pb2_grpc import MemoryServiceStub
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Memory, Scope

MEMORIES = 500  # of each user
FILL_BATCH = 250
WARM_UP = 5
PAUSE_S = 0.005  # between calls of the quiet tenant
CALLS, QUICK_CALLS = 200, 100
QUIET, FLOODING = "quiet", "flood"
ECHO_BYTES = 1_000  # of an answer, about a recall's
COLUMNS = (
    "call",
    "flood",
    *("alone p50 ms", "p99 ms", "beside p50 ms", "p99 ms", "p99 x alone"),
    *("echo alone p50 ms", "p99 ms", "beside p50 ms", "p99 ms", "echo p99 x alone"),
)
GOAL_RATIO = 1.2  # p99 beside the flood against p99 alone


@dataclass(frozen=True)
class Bench:
    """A filled server and a token for each of two tenants, and an echo beside it."""

    address: str
    echo: str
    tokens: dict[str, str]

    def fill(self) -> None:
        """The same two users for both tenants: the flood costs the same in either name."""
        for token in self.tokens.values():
            with grpc.insecure_channel(self.address) as channel:
                stub = MemoryServiceStub(channel)
                for start in range(0, MEMORIES, FILL_BATCH):
                    memories = [
                        MemoryInput(
                            memory=Memory(key=f"slot.{i}", content=f"Note {i}: shelf {i % 97}")
                        )
                        for i in range(start, start + FILL_BATCH)
                    ]
                    for user in (QUIET, FLOODING):
                        request = RememberRequest(scope=Scope(user_id=user), memories=memories)
                        stub.Remember(request, timeout=CALL_TIMEOUT_S, metadata=bearer(token))

    def measure(self, kind: str, calls: int, numbers: Iterator[int]) -> tuple[Latency, Latency]:
        """Latency of the quiet tenant's recalls, by key or fresh text, and of echoes in turns."""
        metadata = bearer(self.tokens[QUIET])
        times_s: tuple[list[float], list[float]] = ([], [])
        with (
            grpc.insecure_channel(self.address) as ours,
            grpc.insecure_channel(self.echo) as theirs,
        ):
            asked: grpc.UnaryUnaryMultiCallable[bytes, bytes] = ours.unary_unary(RECALL_METHOD)
            echoed: grpc.UnaryUnaryMultiCallable[bytes, bytes] = theirs.unary_unary(METHOD)
            for made in range(WARM_UP + calls):
                body = recall(kind, next(numbers)).SerializeToString()
                for samples_s, stub in zip(times_s, (asked, echoed), strict=True):
                    time.sleep(PAUSE_S)
                    began_s = time.perf_counter()
                    stub(body, timeout=CALL_TIMEOUT_S, metadata=metadata)
                    if made >= WARM_UP:
                        samples_s.append(time.perf_counter() - began_s)
        return percentiles(times_s[0]), percentiles(times_s[1])


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Metadata of a call with this token."""
    return (("authorization", f"Bearer {token}"),)


def recall(kind: str, number: int) -> RecallRequest:
    """One recall of the quiet tenant."""
    request = RecallRequest(scope=Scope(user_id=QUIET), k=5)
    if kind == "text":
        request.text = f"Which shelf holds note {number}?"
    else:
        request.filter.must.add().key.values.append(f"slot.{number % MEMORIES}")
    return request


@contextmanager
def prepared(embedder: str) -> Iterator[Bench]:
    """A server that asks for credentials, with tokens made as `recalld token create` does."""
    with TemporaryDirectory() as folder:
        path, now = Path(folder) / "tokens.json", datetime.now(UTC)
        tokens = {
            tenant: token_file.create(path, Grant(tenant, Role.WRITER), now, Files())[1]
            for tenant in (QUIET, FLOODING)
        }
        environment = {"RECALLD_AUTH__REQUIRED": "true"}
        answer = Path(folder) / "answer"
        answer.write_bytes(bytes(ECHO_BYTES))
        with (
            echo_process(answer) as echo,
            running_server(data_dir=folder, env=environment, embedder=embedder) as server,
        ):
            bench = Bench(server.target, echo.address, tokens)
            bench.fill()
            yield bench


def run(calls: int, embedder: str) -> Report:
    """Measures every kind of recall beside every kind of flood."""
    figures: dict[str, Figure] = {**provenance()}
    rows = []
    numbers = count()
    with prepared(embedder) as bench:
        for kind, flood, tenant in product(("filter", "text"), KINDS, (FLOODING, QUIET)):
            alone = bench.measure(kind, calls, numbers)
            with flood_process(bench.address, flood, bench.tokens[tenant]):
                beside = bench.measure(kind, calls, numbers)
            whose = "its own" if tenant == QUIET else "another tenant's"
            rows.append([f"recall by {kind}", f"{flood}, {whose}", *_cells(beside, alone)])
            name = f"{kind}_beside_{flood}_of_{tenant}"
            figures[f"{name}_p99_ms"] = 1e3 * beside[0].p99_s
            figures[f"{name}_p99_to_alone"] = beside[0].p99_s / alone[0].p99_s
            figures[f"{name}_echo_p99_to_alone"] = beside[1].p99_s / alone[1].p99_s
    note = f"goal: p99 beside another tenant's flood <= {GOAL_RATIO} x alone"
    return Report(figures, [Table("A flood of one tenant, and the others", COLUMNS, rows)], [note])


def _cells(beside: tuple[Latency, Latency], alone: tuple[Latency, Latency]) -> list[str]:
    """Figures of one row: of the recalls, then of the echoes."""
    cells = []
    for flooded, quiet in zip(beside, alone, strict=True):
        times_s = (quiet.p50_s, quiet.p99_s, flooded.p50_s, flooded.p99_s)
        cells += [*(f"{1e3 * time_s:.2f}" for time_s in times_s)]
        cells.append(f"{flooded.p99_s / quiet.p99_s:.2f}")
    return cells


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        return run(QUICK_CALLS if given.quick else CALLS, given.embedder)

    command(__doc__, asked, QUICK, EMBEDDER)


if __name__ == "__main__":
    main()
