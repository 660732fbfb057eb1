"""What can disturb recalls: snapshots, purges, and writes with the checkpoints of their log.

Each work tells when what was going on, and what the server spent on it meanwhile. Writes tell three
things apart: batches at a steady pace, the one batch behind which the server moved its log into the
database (a checkpoint, seen by the log's size), and batches as fast as they are answered, which
make recalls queue for the server's Python whatever the database does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import grpc

from recalld.bench.corpus import DIM, unit_vectors
from recalld.bench.processor import spent_s
from recalld.bench.requests import REMEMBER_METHOD, write
from recalld.index.hash_embedder import HashEmbedder
from recalld.storage.database_file import DATABASE_NAME, size_bytes, wal_path
from recalld.v1.admin_service_pb2 import CreateSnapshotRequest
from recalld.v1.memory_service_pb2 import ForgetMode, ForgetRequest
from recalld.v1.types_pb2 import Scope

SNAPSHOT, CHECKPOINTS = "snapshot", "checkpoints"
PACED, FLOOD = "paced writes", "flood of writes"
SMALL, LARGE = "purge of a small user", "purge of the large user"
BATCH = 64
BATCHES_PER_S = 10.0
PACED_BATCHES = 25
FULL_BYTES = 14_500_000  # some batches before the log's size at which a checkpoint is made
BATCHES_MAX = 200  # of one round: half as many again as fill the log
TIMEOUT_S = 300.0
SNAPSHOT_METHOD = "/recalld.v1.AdminService/CreateSnapshot"
FORGET_METHOD = "/recalld.v1.MemoryService/Forget"


@dataclass(frozen=True)
class Span:
    """Something that went on.

    Attributes:
        name: of the work.
        start_s, end_s: `time.perf_counter()`.
        spent_s: processor time of the server meanwhile, recalls included.
    """

    name: str
    start_s: float
    end_s: float
    spent_s: float

    def has(self, due_s: float, end_s: float) -> bool:
        """Whether a call that was due and ended then was under way meanwhile."""
        return due_s < self.end_s and end_s > self.start_s


@dataclass(frozen=True)
class Served:
    """The server that is disturbed: its connection, process and data directory."""

    channel: grpc.aio.Channel
    process_id: int
    data_dir: Path

    async def call(self, name: str, method: str, body: bytes) -> Span:
        """One call, as a piece of work."""
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(method)
        start_s, before_s = time.perf_counter(), spent_s(self.process_id)
        await stub(body, timeout=TIMEOUT_S)
        return Span(name, start_s, time.perf_counter(), spent_s(self.process_id) - before_s)

    def log_bytes(self) -> int:
        """Size of the database's log."""
        return size_bytes(wal_path(self.data_dir / DATABASE_NAME))


Work = Callable[[Served], Awaitable[list[Span]]]


def snapshot(number: int) -> Work:
    """A snapshot of everything."""
    body = CreateSnapshotRequest(name=f"snapshot-{number}").SerializeToString()

    async def work(served: Served) -> list[Span]:
        return [await served.call(SNAPSHOT, SNAPSHOT_METHOD, body)]

    return work


def purge(name: str, user_id: str) -> Work:
    """A purge of all of a user."""
    scope, mode = Scope(user_id=user_id), ForgetMode.FORGET_MODE_PURGE
    body = ForgetRequest(scope=scope, all=True, mode=mode).SerializeToString()

    async def work(served: Served) -> list[Span]:
        return [await served.call(name, FORGET_METHOD, body)]

    return work


def writes(number: int) -> Work:
    """Batches with given vectors: some paced, a flood until the log is nearly full, a checkpoint.

    Begins behind a checkpoint and ends with one.
    """
    user_id, fingerprint = f"written-{number}", HashEmbedder(DIM).fingerprint
    vectors = unit_vectors(BATCHES_MAX * BATCH, seed=5).reshape(BATCHES_MAX, BATCH, DIM)
    # Made before anything is timed: this process sends the recalls, too.
    bodies = [
        write(user_id, place * BATCH, BATCH, vectors[place], fingerprint)
        for place in range(BATCHES_MAX)
    ]

    async def work(served: Served) -> list[Span]:
        left = iter(bodies)

        async def batch(name: str) -> Span:
            body = next(left, None)
            assert body is not None, "no checkpoint was seen"
            return await served.call(name, REMEMBER_METHOD, body)

        spans = [await _paced(batch(PACED)) for _ in range(PACED_BATCHES)]
        while served.log_bytes() < FULL_BYTES:
            spans.append(await batch(FLOOD))
        is_made = False
        while not is_made:
            before_bytes = served.log_bytes()
            last = await _paced(batch(CHECKPOINTS))
            is_made = served.log_bytes() < before_bytes
        return [*spans, last]

    return work


async def _paced(batch: Awaitable[Span]) -> Span:
    """A batch and the pause behind it, so that they begin at a steady pace."""
    due_s = time.perf_counter() + 1 / BATCHES_PER_S
    span = await batch
    await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
    return span
