"""Kill -9 of a real server in the middle of purges and restores, then a byte search."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from pathlib import Path

import grpc

from recalld.client.testing import running_server
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs

ROUND_COUNT = max(1, int(os.environ.get("CRASH_ROUNDS", "8")) // 4)
MEMORY_COUNT = 64
KILL_S_MAX = 0.4
WAIT_S = 120


def texts(user: str, round_number: int) -> list[str]:
    return [
        f"{user} keeps secret {round_number}-{n * 7919} to themselves" for n in range(MEMORY_COUNT)
    ]


def fill(stubs: Stubs, user: str, round_number: int) -> None:
    made = [memory(text, kind=4) for text in texts(user, round_number)]
    stubs.memory.Remember(remember_request(user, *made), timeout=WAIT_S)


def found_in(data_dir: Path, wanted: list[str]) -> list[str]:
    """Files in which any of the texts stands."""
    return [
        str(path.relative_to(data_dir))
        for path in sorted(data_dir.rglob("*"))
        if path.is_file() and any(text.encode() in path.read_bytes() for text in wanted)
    ]


def purge(target: str, user: str, done: list[pb.ForgetResponse]) -> None:
    """Purges a user; a server that goes away is no error here."""
    request = pb.ForgetRequest(scope=scope(user), all=True, mode=pb.ForgetMode.FORGET_MODE_PURGE)
    with contextlib.suppress(grpc.RpcError), Stubs(target) as stubs:
        done.append(stubs.memory.Forget(request, timeout=WAIT_S))


def test_a_purge_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    """After the next start either nothing of the user is shown and left, or all is there."""
    choose = random.Random(6)
    with running_server(data_dir=tmp_path) as server:
        for number in range(ROUND_COUNT):
            user = f"user-{number}"
            with Stubs(server.target) as stubs:
                fill(stubs, user, number)
                fill(stubs, "stays", number)
                stubs.admin.CreateSnapshot(admin.CreateSnapshotRequest(), timeout=WAIT_S)
            done: list[pb.ForgetResponse] = []
            purging = threading.Thread(target=purge, args=(server.target, user, done))
            purging.start()
            time.sleep(choose.uniform(0.0, KILL_S_MAX))
            server.kill()
            purging.join()
            server.restart()
            with Stubs(server.target) as stubs:
                count = stubs.state(user)[0]
                assert count in ((0,) if done else (0, MEMORY_COUNT))
                assert stubs.state("stays")[0] == MEMORY_COUNT * (number + 1)
                if count:
                    purge(server.target, user, done)
                assert found_in(tmp_path, texts(user, number)) == []
                assert found_in(tmp_path, texts("stays", number)) != []


def test_a_restore_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    """After the next start there is the old data or the restored, and no file of the exchange."""
    choose = random.Random(7)
    with running_server(data_dir=tmp_path) as server:
        with Stubs(server.target) as stubs:
            fill(stubs, "u", 0)
            stubs.admin.CreateSnapshot(admin.CreateSnapshotRequest(name="one"), timeout=WAIT_S)
            fill(stubs, "u", 1)
        for _ in range(ROUND_COUNT):
            with Stubs(server.target) as stubs:
                request = admin.RestoreSnapshotRequest(name="one")
                restoring = stubs.admin.RestoreSnapshot.future(request, timeout=WAIT_S)
                time.sleep(choose.uniform(0.0, KILL_S_MAX))
                server.kill()
                restoring.cancel()
            server.restart()
            with Stubs(server.target) as stubs:
                count = stubs.state("u")[0]
                assert count in (MEMORY_COUNT, 2 * MEMORY_COUNT)
                if count == MEMORY_COUNT:
                    fill(stubs, "u", 1)
            names = {path.name for path in tmp_path.iterdir()} - {"recalld.duckdb.wal"}
            assert names == {"LOCK", "recalld.duckdb", "snapshots"}
