"""Work that goes on beside recalls: snapshots, purges, and writes until the log is folded in.

Each runs in a thread, one piece after the other, as long as the recalls are measured. It measures
nothing itself.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import Event

import grpc

from recalld.bench.corpus import DIM, unit_vectors
from recalld.bench.requests import write
from recalld.bench.target import CALL_TIMEOUT_S, Target
from recalld.client.testing import RunningServer
from recalld.index.hash_embedder import HashEmbedder
from recalld.storage.database_file import DATABASE_NAME
from recalld.v1.admin_service_pb2 import CreateSnapshotRequest
from recalld.v1.memory_service_pb2 import ForgetMode, ForgetRequest, RememberRequest
from recalld.v1.types_pb2 import Scope

PURGED_USERS, PURGED_SIZE = 20, 500  # users that are there to be purged
BATCH, METADATA_BYTES = 64, 15_000  # a batch takes a megabyte of the log, which is folded in at 16
USERS = 8
RETRY_S = 0.05

Work = Callable[[int], object]
"""Does the n-th piece of work."""


def purged_users() -> dict[str, int]:
    """Users that `works` purges, with their memories; to be stored before."""
    return {f"purged-{number}": PURGED_SIZE for number in range(PURGED_USERS)}


def works(server: RunningServer, target: Target) -> Iterator[tuple[str, Work]]:
    """Every kind of work, by name."""
    log = server.data_dir / f"{DATABASE_NAME}.wal"
    vectors, fingerprint = unit_vectors(BATCH, seed=8), HashEmbedder(DIM).fingerprint

    def checkpoint(number: int) -> object:
        size_bytes = -1
        for at in count(number * 100):
            body = write(f"beside-{at % USERS}", at * BATCH, BATCH, vectors, fingerprint)
            request = RememberRequest.FromString(body)
            for item in request.memories:
                item.memory.metadata["bulk"] = "x" * METADATA_BYTES
            target.memory.Remember(request, timeout=CALL_TIMEOUT_S)
            before_bytes, size_bytes = size_bytes, log.stat().st_size if log.exists() else 0
            if size_bytes < before_bytes:
                break
        return size_bytes

    yield "checkpoints", checkpoint

    def snapshot(_: int) -> object:
        return target.admin.CreateSnapshot(CreateSnapshotRequest(), timeout=CALL_TIMEOUT_S)

    yield "snapshots", snapshot

    def purge(number: int) -> object:
        request = ForgetRequest(
            scope=Scope(user_id=f"purged-{number % PURGED_USERS}"),
            all=True,
            mode=ForgetMode.FORGET_MODE_PURGE,
        )
        return target.memory.Forget(request, timeout=CALL_TIMEOUT_S)

    yield "purges", purge


@contextmanager
def beside(work: Work) -> Iterator[Callable[[], int]]:
    """Does the work over and over until the context ends, then waits for the piece in hand.

    A busy server may turn a call away; the piece is then begun anew.

    Yields:
        How many pieces are done so far.
    """
    done = 0
    stop = Event()

    def loop() -> None:
        nonlocal done
        while not stop.is_set():
            try:
                work(done)
                done += 1
            except grpc.RpcError:
                stop.wait(RETRY_S)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(loop)
        try:
            yield lambda: done
        finally:
            stop.set()
        running.result()
