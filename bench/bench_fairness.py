"""What a flood of one tenant costs the others: their latency beside a quiet server's.

`python -m recalld.bench.bench_fairness [--quick] [--json FILE]` starts a real server that asks for
credentials and measures the calls of one tenant three times: alone, beside the flood of another
tenant, and beside the same flood in its own name, which is what it would cost without turns. The
flood takes a processor of its own; where there are only two, it slows the measuring client, too, in
both cases alike.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from recalld.bench.flood import KINDS, flood_process
from recalld.bench.load import CALL_TIMEOUT_S, RECALL_METHOD, Latency, in_a_row
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
CALLS, QUICK_CALLS = 200, 60
QUIET, FLOODING = "quiet", "flood"
GOAL_RATIO = 1.2  # p99 beside the flood against p99 alone


@dataclass(frozen=True)
class Bench:
    """A filled server and a token for each of two tenants."""

    address: str
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

    def measure(self, kind: str, calls: int, numbers: Iterator[int]) -> Latency:
        """Latency of the quiet tenant's recalls, by key or by texts never seen before."""
        metadata = bearer(self.tokens[QUIET])
        with grpc.insecure_channel(self.address) as channel:
            stub: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(RECALL_METHOD)

            def call(_: int) -> object:
                body = recall(kind, next(numbers)).SerializeToString()
                return stub(body, timeout=CALL_TIMEOUT_S, metadata=metadata)

            return in_a_row(call, calls, WARM_UP, PAUSE_S)


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
        with running_server(data_dir=folder, env=environment, embedder=embedder) as server:
            bench = Bench(server.target, tokens)
            bench.fill()
            yield bench


def run(calls: int, embedder: str) -> Report:
    """Measures every kind of recall beside every kind of flood."""
    figures: dict[str, Figure] = {**provenance()}
    rows = []
    numbers = count()
    with prepared(embedder) as bench:
        for kind in ("filter", "text"):
            alone = bench.measure(kind, calls, numbers)
            rows.append([f"recall by {kind}", "none", *_cells(alone, alone)])
            figures[f"{kind}_alone_p99_ms"] = 1e3 * alone.p99_s
            for flood in KINDS:
                for tenant, whose in ((FLOODING, "another tenant's"), (QUIET, "its own")):
                    with flood_process(bench.address, flood, bench.tokens[tenant]):
                        beside = bench.measure(kind, calls, numbers)
                    rows.append([f"recall by {kind}", f"{flood}, {whose}", *_cells(beside, alone)])
                    figures[f"{kind}_beside_{flood}_of_{tenant}_p99_ms"] = 1e3 * beside.p99_s
    columns = ["call", "flood", "p50 ms", "p95 ms", "p99 ms", "p99 x alone"]
    note = f"goal: p99 beside another tenant's flood <= {GOAL_RATIO} x alone"
    return Report(figures, [Table("A flood of one tenant, and the others", columns, rows)], [note])


def _cells(latency: Latency, alone: Latency) -> list[str]:
    """Figures of one row."""
    times = (latency.p50_s, latency.p95_s, latency.p99_s)
    return [*(f"{1e3 * t:.2f}" for t in times), f"{latency.p99_s / alone.p99_s:.2f}"]


def main() -> None:
    """Command line."""

    def asked(given: argparse.Namespace) -> Report:
        return run(QUICK_CALLS if given.quick else CALLS, given.embedder)

    command(__doc__, asked, QUICK, EMBEDDER)


if __name__ == "__main__":
    main()
