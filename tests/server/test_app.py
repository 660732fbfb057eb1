"""Starting and stopping: one holder of a directory and of a port, an orderly end, same answers."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from recalld.client.testing import RunningServer, running_server
from recalld.server.config import Config
from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.migrate import FORMAT_VERSION
from recalld.v1 import admin_service_pb2 as admin_pb
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2
from tests.server.core import NOW_US, memory, remember_request, scope, timestamp
from tests.server.stubs import Stubs, refusal_of

WAIT_S = 30
DRAIN_S = Config().server.drain_s
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = (
    "recalld.v1.MemoryService",
    "recalld.v1.RecallService",
    "recalld.v1.SessionService",
    "recalld.v1.AdminService",
)
TEXTS = ["likes green tea", "is allergic to peanuts", "lives in Leeds", "喜欢喝茶", "对花生过敏"]
QUESTIONS = ["which tea", "peanut allergy", "喝什么茶", "Leeds"]


def command(data_dir: Path, listen: str) -> list[str]:
    """Command line of a server."""
    serve = [sys.executable, "-m", "recalld.server", "serve", "--embedder", "hash"]
    return [*serve, "--data-dir", str(data_dir), "--listen", listen]


def failed_start(data_dir: Path, listen: str = "127.0.0.1:0") -> str:
    """What a server says that cannot start; its exit code is 1."""
    done = subprocess.run(
        command(data_dir, listen), capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of this module's own."""
    with running_server(data_dir=tmp_path_factory.mktemp("own")) as running:
        yield running


def test_second_server_on_the_directory(server: RunningServer) -> None:
    """A second server on the same directory does not start, and says who holds it."""
    said = failed_start(server.data_dir)
    assert f"pid {server.process.pid}" in said
    assert str(server.data_dir) in said


def test_second_server_on_the_port(server: RunningServer, tmp_path: Path) -> None:
    """A second server on the same address does not start, and says that it is in use."""
    assert f"{server.target}: the address is in use" in failed_start(tmp_path, server.target)


def test_reflection(server: RunningServer) -> None:
    """Reflection lists every service of the contract."""
    with grpc.insecure_channel(server.target) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        [answer] = stub.ServerReflectionInfo(iter([request]), timeout=WAIT_S)
    listed = {service.name for service in answer.list_services_response.service}
    assert {*SERVICES, "grpc.health.v1.Health"} <= listed


def test_health(server: RunningServer) -> None:
    """A running server serves, as a whole and service by service."""
    with grpc.insecure_channel(server.target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", *SERVICES):
            request = health_pb2.HealthCheckRequest(service=name)
            assert stub.Check(request, timeout=WAIT_S).status == SERVING


def answers(stubs: Stubs) -> list[list[tuple[str, str, float]]]:
    """What the questions bring back, at one clock."""
    found = []
    for text in QUESTIONS:
        request = recall_service_pb2.RecallRequest(
            scope=scope("u"), text=text, now=timestamp(NOW_US), k=9, min_score=0.0
        )
        hits = stubs.recall.Recall(request, timeout=WAIT_S).hits
        found.append([(hit.memory.id, hit.memory.etag, hit.score) for hit in hits])
    return found


def fill(stubs: Stubs) -> None:
    """Some memories, one of them changed and one forgotten."""
    made = [memory(text, event_time=NOW_US - n) for n, text in enumerate(TEXTS)]
    results = stubs.memory.Remember(remember_request("u", *made), timeout=WAIT_S).results
    update = pb.UpdateMemoryRequest(memory=memory("lives in York"))
    update.memory.scope.user_id, update.memory.id = "u", results[2].id
    stubs.memory.UpdateMemory(update, timeout=WAIT_S)
    gone = pb.IdSet(ids=[results[4].id])
    stubs.memory.Forget(pb.ForgetRequest(scope=scope("u"), ids=gone), timeout=WAIT_S)


def test_restart_gives_the_same_answers(tmp_path: Path) -> None:
    """After a restart the same questions have the same answers; under another model, the same
    memories."""
    with running_server(data_dir=tmp_path) as first:
        with Stubs(first.target) as stubs:
            fill(stubs)
            before, state = answers(stubs), stubs.state("u")
        assert first.stop() == 0
        first.restart()
        with Stubs(first.target) as stubs:
            assert answers(stubs) == before
            assert stubs.state("u") == state
    other = {"RECALLD_EMBEDDER__HASH_DIM": "128"}
    with running_server(data_dir=tmp_path, env=other) as second:
        assert any("embedding anew" in line for line in second.log_lines())
        with Stubs(second.target) as stubs:
            now = answers(stubs)
            assert [{hit[0] for hit in hits} for hits in now] == [
                {hit[0] for hit in hits} for hits in before
            ]
            assert stubs.state("u") == state
            best = stubs.memory.GetMemory(pb.GetMemoryRequest(scope=scope("u"), id=now[0][0][0]))
            assert best.memory.content == "likes green tea"


def test_data_of_a_newer_version(tmp_path: Path) -> None:
    """Data of a newer format stop the start; both versions are named, and nothing is changed."""
    with running_server(data_dir=tmp_path) as running:
        running.stop()
    file = tmp_path / DATABASE_NAME
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'format_version'", [str(FORMAT_VERSION + 1)]
        )
    before = file.read_bytes()
    said = failed_start(tmp_path)
    assert f"version {FORMAT_VERSION + 1}" in said
    assert f"newer than {FORMAT_VERSION}" in said
    assert file.read_bytes() == before


class Watch:
    """The states that a health stream has told, until the server is gone."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.states: list[int] = []
        self.seen = threading.Condition()
        stub = health_pb2_grpc.HealthStub(channel)
        self._stream = stub.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for answer in self._stream:
                with self.seen:
                    self.states.append(answer.status)
                    self.seen.notify_all()

    def wait_for(self, state: int) -> None:
        with self.seen:
            assert self.seen.wait_for(lambda: state in self.states, WAIT_S)

    def close(self) -> list[int]:
        """Everything that was told."""
        self._stream.cancel()
        self._thread.join(WAIT_S)
        return self.states


def test_life_of_a_server(tmp_path: Path) -> None:
    """Health says no before the server is ready and once it stops; SIGTERM lets a call in flight
    finish, and the process ends with 0. It listens on a Unix socket that only its user may use."""
    socket = tmp_path / "s.sock"
    data_dir = tmp_path / "data"
    process = subprocess.Popen(
        command(data_dir, f"unix:{socket}"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    channel = grpc.insecure_channel(f"unix:{socket}")
    try:
        # A first try that fails would wait longer than the server takes to load.
        ended_s = time.monotonic() + WAIT_S
        while not socket.exists() and time.monotonic() < ended_s:
            time.sleep(0.002)
        watch = Watch(channel)
        watch.wait_for(SERVING)
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        with Stubs(f"unix:{socket}") as stubs, ThreadPoolExecutor(1) as pool:
            batch = [memory(f"m{n} " + "some words to embed " * 20) for n in range(256)]
            request = remember_request("u", *batch, id="r1")
            stubs.state("u")
            started = threading.Event()

            def send() -> pb.RememberResponse:
                call = stubs.memory.Remember.future(request, timeout=WAIT_S)
                started.set()
                answer: pb.RememberResponse = call.result()
                return answer

            pending = pool.submit(send)
            started.wait(WAIT_S)
            # What comes after it on the same connection is answered: it was let in. A call that the
            # runtime has not handed over yet is cancelled, however long ago it was sent.
            stubs.state("u")
            process.send_signal(signal.SIGTERM)
            answer = pending.result(WAIT_S)
            assert len(answer.results) == 256
            late = refusal_of(stubs.memory.Remember, remember_request("u", memory("late")))
            assert late.code == grpc.StatusCode.UNAVAILABLE
        # The open health stream does not hold it back for the whole time to drain.
        assert process.wait(DRAIN_S / 2) == 0
        states = watch.close()
        assert states[0] == NOT_SERVING
        assert states[1] == SERVING
        assert states[-1] == NOT_SERVING
    finally:
        channel.close()
        process.kill()
        process.wait(WAIT_S)
    with running_server(data_dir=data_dir) as again, Stubs(again.target) as stubs:
        assert stubs.state("u") == (256, 1)


def test_nobody_else_reads_what_it_writes(tmp_path: Path) -> None:
    """In a directory that others may enter, no file is open to them, the log included."""
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o755)
    mask = os.umask(0)
    try:
        with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
            stubs.memory.Remember(remember_request("u", memory("likes tea")))
            stubs.admin.CreateSnapshot(admin_pb.CreateSnapshotRequest())
            files = [path for path in data_dir.rglob("*") if path.is_file()]
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}
    finally:
        os.umask(mask)
    assert f"{DATABASE_NAME}.wal" in modes
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
