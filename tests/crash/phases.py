"""Kills of a real server, each aimed at one phase of its life.

A phase starts something, waits for the sign of it in the data directory, and kills a random moment
later. What must hold afterwards, beyond what the writers' ledger demands, it checks after the
restart.
"""

from __future__ import annotations

import contextlib
import gzip
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from recalld.client.testing import RunningServer, running_server
from recalld.storage.database_file import ASIDE_SUFFIX, DATABASE_NAME, NEW_SUFFIX, wal_path
from recalld.storage.read_only import ReadOnlyStore
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs
from tests.storage import kept
from tests.tidy.tree import ROOT

WAIT_S = 120
POLL_S = 0.0005
SIGN_S_MAX = 20.0
"""How long a sign is waited for; without one the kill is at a random moment."""
AFTER_S_MAX = 0.05
"""How long after its sign a phase is killed at the latest."""
RUN_S_MAX = 0.4
CHECKPOINT_BYTES = 16 * 1024 * 1024
FAT_COUNT = 64
FAT_TEXT = "x" * 15_000
PURGED_COUNT = 16
GOLDEN_COUNT = {"v1": 2, "v2": 2, "v3": 2, "v4": 2, "v5": 2, "v6": 2}


def wait_for(sign: Callable[[], bool]) -> bool:
    """Waits until something shows; False when it does not in time."""
    end_s = time.monotonic() + SIGN_S_MAX
    while time.monotonic() < end_s:
        with contextlib.suppress(FileNotFoundError):
            if sign():
                return True
        time.sleep(POLL_S)
    return False


def later(choose: random.Random, at_most_s: float = AFTER_S_MAX) -> None:
    """A random moment later; early moments are the likelier ones."""
    time.sleep(at_most_s * choose.random() ** 2)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextlib.contextmanager
def calling(target: str, call: Callable[[Stubs], Any]) -> Iterator[list[Any]]:
    """A call beside the block; its answer is in the list unless the server went away first."""
    answers: list[Any] = []

    def run() -> None:
        with contextlib.suppress(grpc.RpcError), Stubs(target) as stubs:
            answers.append(call(stubs))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield answers
    finally:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def writes(server: RunningServer, choose: random.Random) -> None:
    """While the writers write."""
    later(choose, RUN_S_MAX)
    server.kill()


def orderly_stop(server: RunningServer, choose: random.Random) -> None:
    """Between SIGTERM and the end of the process, calls in flight."""
    later(choose, RUN_S_MAX)
    server.process.terminate()
    later(choose, RUN_S_MAX)
    server.kill()


def checkpoint(server: RunningServer, choose: random.Random) -> None:
    """When the log is as long as a checkpoint lets it become."""
    log = wal_path(server.data_dir / DATABASE_NAME)
    with Stubs(server.target) as stubs:
        before = stubs.state("fat")[0]
    done = [before]

    def fill(stubs: Stubs) -> None:
        while True:
            made = [
                memory(f"fat {done[0] + n}", kind=4, metadata={"x": FAT_TEXT})
                for n in range(FAT_COUNT)
            ]
            stubs.memory.Remember(remember_request("fat", *made), timeout=WAIT_S)
            done[0] += FAT_COUNT

    with calling(server.target, fill):
        # The last commit before it is at most one batch away.
        wait_for(lambda: size_of(log) > CHECKPOINT_BYTES - FAT_COUNT * len(FAT_TEXT))
        later(choose)
        server.kill()
    server.restart()
    with Stubs(server.target) as stubs:
        assert stubs.state("fat")[0] in (done[0], done[0] + FAT_COUNT)
        purge_all(stubs, "fat")


def snapshot(server: RunningServer, choose: random.Random) -> None:
    """While a snapshot is copied, described and renamed."""
    folder = server.data_dir / "snapshots"

    def create(stubs: Stubs) -> Any:
        request = admin.CreateSnapshotRequest(name="killed")
        return stubs.admin.CreateSnapshot(request, timeout=WAIT_S)

    with calling(server.target, create) as answers:
        wait_for(lambda: any(folder.iterdir()))
        later(choose)
        server.kill()
    server.restart()
    assert not list(folder.glob(".*"))
    with Stubs(server.target) as stubs:
        listed = stubs.admin.ListSnapshots(admin.ListSnapshotsRequest(), timeout=WAIT_S).snapshots
        assert len(listed) == 1 if answers else len(listed) <= 1
        for one in listed:
            verify = admin.VerifySnapshotRequest(name=one.name)
            assert stubs.admin.VerifySnapshot(verify, timeout=WAIT_S).ok
            drop(stubs, one.name)


def restore(server: RunningServer, choose: random.Random) -> None:
    """While a snapshot of the present state takes the place of the present state."""
    path = server.data_dir / DATABASE_NAME
    with Stubs(server.target) as stubs:
        request = admin.CreateSnapshotRequest(name="back")
        stubs.admin.CreateSnapshot(request, timeout=WAIT_S)

    def go_back(stubs: Stubs) -> Any:
        return stubs.admin.RestoreSnapshot(
            admin.RestoreSnapshotRequest(name="back"), timeout=WAIT_S
        )

    before = path.stat().st_ino
    aside = path.with_name(path.name + ASIDE_SUFFIX)
    with calling(server.target, go_back):
        wait_for(lambda: aside.exists() or path.stat().st_ino != before)
        later(choose)
        server.kill()
    server.restart()
    assert not aside.exists()
    with Stubs(server.target) as stubs:
        drop(stubs, "back")


def purge(server: RunningServer, choose: random.Random) -> None:
    """While the bytes of a purged user are being erased."""
    texts = [f"purged {choose.getrandbits(64):x}" for _ in range(PURGED_COUNT)]
    with Stubs(server.target) as stubs:
        made = [memory(text, kind=4) for text in texts]
        stubs.memory.Remember(remember_request("gone", *made), timeout=WAIT_S)
    fresh = server.data_dir / f"{DATABASE_NAME}{NEW_SUFFIX}"
    with calling(server.target, lambda stubs: purge_all(stubs, "gone")) as answers:
        wait_for(lambda: fresh.exists() or bool(answers))
        later(choose)
        server.kill()
    server.restart()
    with Stubs(server.target) as stubs:
        count = stubs.state("gone")[0]
        assert count in ((0,) if answers else (0, PURGED_COUNT))
        if count:
            purge_all(stubs, "gone")
    for path in server.data_dir.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(text.encode() in content for text in texts)


def killed_start(data_dir: Path, sign: Callable[[], bool], choose: random.Random) -> None:
    """Starts a server on a directory and kills it a random moment after a sign."""
    options = ["--listen", "127.0.0.1:0", "--data-dir", str(data_dir), "--embedder", "hash"]
    with subprocess.Popen(
        [sys.executable, "-m", "recalld.server", "serve", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(lambda: sign() or process.poll() is not None)
        later(choose, RUN_S_MAX)
        process.kill()


def first_start(data_dir: Path, choose: random.Random) -> None:
    """While a new data directory is being made: the next start is ready, and it is empty."""
    killed_start(data_dir, lambda: (data_dir / "LOCK").exists(), choose)
    with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
        assert stubs.state("u") == (0, 0)
        stubs.memory.Remember(remember_request("u", memory("first")), timeout=WAIT_S)


def migration(data_dir: Path, choose: random.Random) -> None:
    """While data of an older format is raised: the next start has every row of it."""
    version = choose.choice(sorted(GOLDEN_COUNT))
    packed = next((ROOT / "tests/golden/formats" / version).glob("*.gz"))
    data_dir.mkdir()
    path = data_dir / DATABASE_NAME
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    killed_start(data_dir, (data_dir / "LOCK").exists, choose)
    with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
        stats = stubs.admin.GetStats(admin.GetStatsRequest(), timeout=WAIT_S)
        assert stats.data_bytes > 0
        assert server.stop() == 0
    store = ReadOnlyStore(data_dir, kept.options(), "it is only looked at")
    assert len(list(store.load())) == GOLDEN_COUNT[version]
    assert store.check() == []
    store.close()


def purge_all(stubs: Stubs, user: str) -> Any:
    request = pb.ForgetRequest(scope=scope(user), all=True, mode=pb.ForgetMode.FORGET_MODE_PURGE)
    return stubs.memory.Forget(request, timeout=WAIT_S)


def drop(stubs: Stubs, name: str) -> None:
    stubs.admin.DeleteSnapshot(admin.DeleteSnapshotRequest(name=name), timeout=WAIT_S)


WHILE_WRITING = (writes, orderly_stop, checkpoint, snapshot, purge)
"""Phases of a running server whose writers go on."""
ALONE = (restore,)
"""Phases before which writers pause: what is restored is what they were promised."""
STARTS = (first_start, migration)
"""Phases of a start, on a directory of their own."""
