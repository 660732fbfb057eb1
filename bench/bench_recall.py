"""What a call costs, against the cheapest call there can be: a bare gRPC echo of the same answer.

`python -m recalld.bench.bench_recall [--quick] [--json FILE]` starts a real server and an echo
server, each a process of its own, and measures both in the same run with the same client. Ratios
travel from machine to machine; milliseconds do not.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np

from recalld.bench.echo import METHOD, echo_process
from recalld.bench.load import RECALL_METHOD, Latency, calls_per_second, in_a_row, recall_call
from recalld.bench.report import (
    Cell,
    Figure,
    Report,
    Table,
    provenance,
    publish,
)
from recalld.bench.target import CALL_TIMEOUT_S, Target, connect, own_server
from recalld.v1.admin_service_pb2 import EmbedderInfo, GetServerInfoRequest
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Condition, Filter, Memory, MemoryKind, Scope, StringSet, Vector

SIZES = (100, 1_000, 10_000)  # memories of one user
RATIO_SIZE = 1_000  # the size that the goals speak of
CLIENTS = 8
K = 5
CLUSTERS = 50
CLUSTER_SPREAD = 0.6  # length of the noise against that of the cluster's centre
QUERY_COUNT = 256  # different query vectors, sent in turn
SELDOM = "bare echo, one an embedding"
BATCH = 64
FILL_BATCH = 250
SEED = 7
GOAL_RATIO = 2.0  # recall by vector against the echo, round trip, at 1 client
# Text recall against its embedding plus so many echoes, called as seldom as an embedding lets one
# call: a processor that slept for 10 ms takes twice as long for anything, a bare echo too.
GOAL_TEXT_EXCESS_ECHOES = 2.0


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    calls: int  # per row, in a row
    texts: int  # different texts, each embedded once
    duration_s: float  # per row, side by side


FULL = Effort(calls=2_000, texts=300, duration_s=5.0)
QUICK = Effort(calls=300, texts=60, duration_s=1.0)


@dataclass(frozen=True)
class Row:
    """One thing measured."""

    name: str
    latency: Latency
    per_second: float | None = None  # at 8 clients


class Bench:
    """One server, filled, and the calls on it."""

    def __init__(self, address: str, target: Target, effort: Effort):
        """Nothing is called yet but GetServerInfo."""
        self.address = address
        self._target = target
        self._effort = effort
        self._random = np.random.default_rng(SEED)
        info = target.admin.GetServerInfo(GetServerInfoRequest(), timeout=CALL_TIMEOUT_S)
        self._embedder: EmbedderInfo = info.embedder
        self._centres = self._random.standard_normal((CLUSTERS, self._embedder.dimension))

    def vectors(self, count: int) -> np.ndarray:
        """Clustered vectors, float32[count, dim], as texts make them: not all equally far."""
        noise = self._random.standard_normal((count, self._embedder.dimension))
        centres = self._centres[self._random.integers(0, CLUSTERS, count)]
        return (centres + CLUSTER_SPREAD * noise).astype("<f4")

    def fill(self, size: int) -> None:
        """Stores `size` memories of the user named after the size."""
        for start in range(0, size, FILL_BATCH):
            count = min(FILL_BATCH, size - start)
            self._remember(f"user-{size}", start, self.vectors(count))

    def _remember(self, user_id: str, first: int, vectors: np.ndarray) -> None:
        request = RememberRequest(scope=Scope(user_id=user_id), request_id=uuid4().hex)
        for i, vector in enumerate(vectors, start=first):
            memory = Memory(
                kind=MemoryKind.MEMORY_KIND_FACT,
                key=f"slot.{i}",
                content=f"Note {i}: shelf {i % 97} of room {i % 13} holds item {i * 7919 % 10_007}",
            )
            request.memories.append(
                MemoryInput(
                    memory=memory,
                    vector=Vector(float32_le=vector.tobytes()),
                    vector_fingerprint=self._embedder.fingerprint,
                )
            )
        self._target.memory.Remember(request, timeout=CALL_TIMEOUT_S)

    def by_vector(self, size: int) -> list[RecallRequest]:
        """Requests with a given vector."""
        scope = Scope(user_id=f"user-{size}")
        forms = (Vector(float32_le=v.tobytes()) for v in self.vectors(QUERY_COUNT))
        return [RecallRequest(scope=scope, vector=v, k=K) for v in forms]

    def by_key(self, size: int) -> list[RecallRequest]:
        """Requests with nothing but a key to filter on."""
        scope = Scope(user_id=f"user-{size}")
        keys = (f"slot.{i}" for i in self._random.integers(0, size, QUERY_COUNT))
        conditions = (Condition(key=StringSet(values=[key])) for key in keys)
        return [RecallRequest(scope=scope, filter=Filter(must=[c]), k=K) for c in conditions]

    def by_text(self, size: int, count: int) -> list[RecallRequest]:
        """Requests with different texts of a usual length."""
        scope = Scope(user_id=f"user-{size}")
        texts = (f"Where did I put item {i * 31}, and who asked for it?" for i in range(count))
        return [RecallRequest(scope=scope, text=text, k=K) for text in texts]

    def measure(self, name: str, requests: Sequence[RecallRequest], repeat: bool = True) -> Row:
        """A row on the server; without `repeat` each request is sent once, at one client only."""
        return measure(name, self.address, RECALL_METHOD, requests, self._effort, repeat)

    def remember_rows(self) -> Iterator[Row]:
        """Writing with given vectors, one by one and in batches, each call a durable commit."""
        count = max(20, self._effort.calls // 10)
        for name, batch in (("remember, 1 memory", 1), (f"remember, batch of {BATCH}", BATCH)):
            vectors = self.vectors(batch)
            user = f"writer-{batch}"

            def write(i: int, user: str = user, vectors: np.ndarray = vectors) -> None:
                self._remember(user, i * len(vectors), vectors)

            yield Row(name, in_a_row(write, count, warm_up=3))


def measure(
    name: str,
    address: str,
    method: str,
    requests: Sequence[RecallRequest],
    effort: Effort,
    repeat: bool = True,
) -> Row:
    """Times calls in a row and, if they may repeat, side by side."""
    call, close = recall_call(address, method, requests)
    try:
        if not repeat:
            return Row(name, in_a_row(call, len(requests), warm_up=0))
        latency = in_a_row(call, effort.calls)
    finally:
        close()
    rate = calls_per_second(address, method, requests, CLIENTS, effort.duration_s)
    return Row(name, latency, rate)


@contextmanager
def _echo_of(bench: Bench, requests: Sequence[RecallRequest]) -> Iterator[str]:
    """An echo of the server's own answer to one of the requests."""
    call, close = recall_call(bench.address, RECALL_METHOD, requests)
    answer = call(0).SerializeToString()
    close()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answer.bin"
        file.write_bytes(answer)
        with echo_process(file) as echo:
            yield echo.address


def run(effort: Effort, embedder: str = "onnx") -> Report:
    """Starts both servers, fills one, measures all rows."""
    with own_server(embedder) as address, connect(address) as target:
        bench = Bench(address, target, effort)
        for size in SIZES:
            bench.fill(size)
        vectors = {size: bench.by_vector(size) for size in SIZES}
        with _echo_of(bench, vectors[RATIO_SIZE]) as echo_address:
            echo = measure("bare echo", echo_address, METHOD, vectors[RATIO_SIZE], effort)
            rows = [bench.measure(f"recall by vector, {s}", vectors[s]) for s in SIZES]
            again = measure("bare echo, again", echo_address, METHOD, vectors[RATIO_SIZE], effort)
            texts = bench.by_text(RATIO_SIZE, effort.texts)
            uncached, embed_s = _by_text(bench, texts)
            seldom = _seldom(echo_address, vectors[RATIO_SIZE], effort, embed_s)
        rows.append(bench.measure(f"recall by key, {RATIO_SIZE}", bench.by_key(RATIO_SIZE)))
        rows += [uncached, bench.measure(f"recall by text, cached, {RATIO_SIZE}", texts[:1])]
        rows += bench.remember_rows()
    return _report([echo, again, seldom, *rows], embed_s)


def _seldom(address: str, requests: Sequence[RecallRequest], effort: Effort, pause_s: float) -> Row:
    """The echo, called as seldom as recall by a new text can be."""
    call, close = recall_call(address, METHOD, requests)
    latency = in_a_row(call, effort.texts, pause_s=pause_s)
    close()
    return Row(SELDOM, latency)


def _by_text(bench: Bench, texts: Sequence[RecallRequest]) -> tuple[Row, float]:
    """Recall by texts never seen before, and the median time the server spent embedding them."""
    call, close = recall_call(bench.address, RECALL_METHOD, texts)
    embeds_s: list[float] = []

    def timed(i: int) -> None:
        embed = call(i).timings.embed
        embeds_s.append(embed.seconds + embed.nanos / 1e9)

    latency = in_a_row(timed, len(texts), warm_up=0)
    close()
    return Row(f"recall by text, uncached, {RATIO_SIZE}", latency), float(np.median(embeds_s))


def _report(rows: Sequence[Row], embed_s: float) -> Report:
    echoes = rows[:2]
    echo_s = float(np.mean([r.latency.p50_s for r in echoes]))
    echo_rate = float(np.mean([r.per_second or 0.0 for r in echoes]))
    table: list[list[Cell]] = []
    figures: dict[str, Figure] = {**provenance(), "embed_p50_ms": 1e3 * embed_s}
    for row in rows:
        times = (row.latency.p50_s, row.latency.p95_s, row.latency.p99_s)
        rate = row.per_second
        table.append(
            [
                row.name,
                *(f"{1e3 * t:.3f}" for t in times),
                f"{times[0] / echo_s:.2f}",
                None if rate is None else f"{rate:.0f}",
                None if rate is None else f"{rate / echo_rate:.2f}",
            ]
        )
        name = row.name.replace(",", "").replace(" ", "_")
        figures[f"{name}_p50_ms"] = 1e3 * times[0]
        figures[f"{name}_p99_ms"] = 1e3 * times[2]
        if rate is not None:
            figures[f"{name}_per_s"] = rate
    columns = ["call", "p50 ms", "p95 ms", "p99 ms", "x echo", f"calls/s, {CLIENTS}", "of echo"]
    by_name = {row.name: row for row in rows}
    vector = by_name[f"recall by vector, {RATIO_SIZE}"]
    text = by_name[f"recall by text, uncached, {RATIO_SIZE}"]
    ratio = vector.latency.p50_s / echo_s
    share = (vector.per_second or 0.0) / echo_rate
    seldom_s = by_name[SELDOM].latency.p50_s
    excess_s = text.latency.p50_s - embed_s - seldom_s
    allowed_s = embed_s + GOAL_TEXT_EXCESS_ECHOES * seldom_s
    back_to_back_s = embed_s + GOAL_TEXT_EXCESS_ECHOES * echo_s
    figures |= {"vector_to_echo": ratio, "vector_rate_to_echo": share}
    figures["text_excess_ms"] = 1e3 * excess_s
    notes = [
        f"recall by vector at {RATIO_SIZE}: {ratio:.2f} x the echo's round trip "
        f"(goal <= {GOAL_RATIO:.0f}), {share:.2f} of its calls a second",
        f"recall by text: p50 {1e3 * text.latency.p50_s:.2f} ms, of which embedding "
        f"{1e3 * embed_s:.2f} ms; embedding + {GOAL_TEXT_EXCESS_ECHOES:.0f} echoes is "
        f"{1e3 * allowed_s:.2f} ms with echoes as seldom as such calls "
        f"({1e3 * back_to_back_s:.2f} ms with echoes back to back); "
        f"p50 - (embedding + echo) is {1e3 * excess_s:.2f} ms",
    ]
    return Report(figures, [Table("Cost of a call", columns, table)], notes)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute instead of several")
    parser.add_argument("--embedder", default="onnx")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    publish(run(QUICK if arguments.quick else FULL, arguments.embedder), arguments.json)


if __name__ == "__main__":
    main()
