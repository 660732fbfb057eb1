"""Processor time that a call takes from the server, against a bare echo of the same answer.

`python -m recalld.bench.bench_call [--rounds 8] [--unix] [--json FILE]` starts a real server with
the model-free embedder and echo servers, each a process of its own. In every round each kind of
call is made for a moment by several callers side by side, then the echo of its answer in the same
way; what is told is the least of the rounds, so that neighbours on the machine count little. About
a minute.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from recalld.bench.bench_recall import QUICK, Bench
from recalld.bench.echo import ANY_PORT, METHOD, echo_process
from recalld.bench.load import RECALL_METHOD
from recalld.bench.processor import spent_s
from recalld.bench.report import Figure, Report, Table, provenance, publish
from recalld.bench.target import connect
from recalld.client.testing import running_server
from recalld.v1.recall_service_pb2 import BatchRecallRequest, RecallRequest
from recalld.v1.types_pb2 import Scope

CALLERS = 8
CALLS = 400  # of one kind, in one round
SIZES = (100, 1_000, 10_000)
BATCH_METHOD = "/recalld.v1.RecallService/BatchRecall"
BATCH = 8
CALL_TIMEOUT_S = 30.0


@dataclass
class Kind:
    """One kind of call.

    Attributes:
        address, process_id: the server that is asked.
        least_s: processor seconds of one call, in the cheapest round.
    """

    name: str
    method: str
    bodies: Sequence[bytes]
    address: str
    process_id: int
    least_s: float = field(default=float("inf"))

    def measure(self) -> None:
        """One round."""
        began_s = spent_s(self.process_id)
        asyncio.run(call_many(self, CALLS))
        self.least_s = min(self.least_s, (spent_s(self.process_id) - began_s) / CALLS)


async def call_many(kind: Kind, count: int) -> bytes:
    """`count` calls by callers side by side, each with one in flight; the last answer, if any."""
    answer = b""
    numbers = iter(range(count))
    async with grpc.aio.insecure_channel(kind.address) as channel:
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(kind.method)

        async def caller() -> None:
            nonlocal answer
            for number in numbers:
                # A refusal is a kind of answer, too.
                with suppress(grpc.aio.AioRpcError):
                    body = kind.bodies[number % len(kind.bodies)]
                    answer = await stub(body, timeout=CALL_TIMEOUT_S)

        await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return answer


def requests(bench: Bench) -> Iterator[tuple[str, str, list[bytes]]]:
    """Every kind of call: name, method, bodies."""

    def encoded(asked: Sequence[RecallRequest]) -> list[bytes]:
        return [request.SerializeToString() for request in asked]

    by_key = bench.by_key(SIZES[1])
    yield "recall by key", RECALL_METHOD, encoded(by_key)
    for size in SIZES:
        yield f"recall by vector, {size}", RECALL_METHOD, encoded(bench.by_vector(size))
    yield "recall by text, cached, 1000", RECALL_METHOD, encoded(bench.by_text(SIZES[1], 1))
    yield (
        "refused: nothing asked",
        RECALL_METHOD,
        encoded([RecallRequest(scope=Scope(user_id="u"))]),
    )
    batch = BatchRecallRequest(requests=by_key[:BATCH]).SerializeToString()
    yield f"batch of {BATCH} by key", BATCH_METHOD, [batch]


def run(rounds: int, over_unix: bool) -> Report:
    """Fills a server and measures every kind of call beside its echo."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))

        def address(name: str) -> str:
            return f"unix:{folder}/{name}" if over_unix else ANY_PORT

        server = stack.enter_context(running_server(args=("--listen", address("server"))))
        target = stack.enter_context(connect(server.target))
        bench = Bench(server.target, target, QUICK)
        for size in SIZES:
            bench.fill(size)
        pairs: list[tuple[Kind, Kind]] = []
        for name, method, bodies in requests(bench):
            kind = Kind(name, method, bodies, server.target, server.process.pid)
            file = folder / f"answer-{len(pairs)}.bin"
            file.write_bytes(asyncio.run(call_many(kind, CALLERS)))
            echo = stack.enter_context(echo_process(file, address(file.stem)))
            pairs.append((kind, Kind("echo", METHOD, bodies, echo.address, echo.process_id)))
        for _ in range(rounds):
            for kind, echo_kind in pairs:
                kind.measure()
                echo_kind.measure()
    return _report(pairs)


def _report(pairs: Sequence[tuple[Kind, Kind]]) -> Report:
    figures: dict[str, Figure] = {**provenance()}
    rows = []
    for kind, echo in pairs:
        call_us, echo_us = 1e6 * kind.least_s, 1e6 * echo.least_s
        rows.append(
            [
                kind.name,
                f"{call_us:.0f}",
                f"{echo_us:.0f}",
                f"{call_us - echo_us:.0f}",
                f"{call_us / echo_us:.2f}",
            ]
        )
        name = kind.name.replace(",", "").replace(":", "").replace(" ", "_")
        figures |= {f"{name}_us": call_us, f"{name}_echo_us": echo_us}
    columns = ["call", "server us", "echo us", "beyond echo us", "x echo"]
    return Report(figures, [Table("Processor time of the server for a call", columns, rows)])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--unix", action="store_true", help="over Unix sockets, not loopback TCP")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    publish(run(arguments.rounds, arguments.unix), arguments.json)


if __name__ == "__main__":
    main()
