"""A real server that runs out of descriptors, and one that hangs."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from recalld.client.testing import RunningServer, running_server
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import recall_service_pb2 as recall_pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs, refusal_of

Code = grpc.StatusCode
WAIT_S = 60
HANG_S = 0.5
POLL_S = 0.1
RECALL = recall_pb.RecallRequest(scope=scope("u"), text="green tea")

needs_linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


def recalled(stubs: Stubs) -> list[str]:
    return [hit.memory.content for hit in stubs.recall.Recall(RECALL, timeout=WAIT_S).hits]


@needs_linux
def test_without_descriptors_writing_waits(server: RunningServer) -> None:
    """With no descriptor left recalls go on, a write or a snapshot that needs one is refused with
    nothing done, new connections are not served, and all of them are again once there are some."""
    process_id = server.process.pid
    with Stubs(server.target) as stubs:
        stubs.memory.Remember(remember_request("u", memory("green tea")), timeout=WAIT_S)
        one = admin.CreateSnapshotRequest(name="one")
        usual = resource.prlimit(process_id, resource.RLIMIT_NOFILE)
        highest = max(map(int, os.listdir(f"/proc/{process_id}/fd")))
        resource.prlimit(process_id, resource.RLIMIT_NOFILE, (highest + 1, usual[1]))
        taken = []
        while len(os.listdir(f"/proc/{process_id}/fd")) <= highest:
            taken.append(grpc.insecure_channel(server.target, [("n", len(taken))]))
            taken[-1].subscribe(lambda _: None, try_to_connect=True)
            time.sleep(POLL_S)
        assert refusal_of(stubs.admin.CreateSnapshot, one).code == Code.UNAVAILABLE
        assert recalled(stubs) == ["green tea"]
        resource.prlimit(process_id, resource.RLIMIT_NOFILE, usual)
        stubs.admin.CreateSnapshot(one, timeout=WAIT_S)
        stubs.memory.Remember(remember_request("u", memory("black tea")), timeout=WAIT_S)
        for channel in taken:
            channel.close()
    with Stubs(server.target) as stubs:
        assert stubs.state("u")[0] == 2
        assert recalled(stubs)[0] == "green tea"


def test_a_hang_ends_with_the_deadline(server: RunningServer) -> None:
    """While all threads of a server stand still its callers wait no longer than their deadline,
    its health check fails, and afterwards it goes on as if nothing had been."""
    with Stubs(server.target) as stubs:
        stubs.memory.Remember(remember_request("u", memory("green tea")), timeout=WAIT_S)
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            lost = remember_request("u", memory("black tea"), id="r1")
            health = health_pb2_grpc.HealthStub(stubs.channel).Check
            for call, request in (
                (stubs.recall.Recall, RECALL),
                (stubs.memory.Remember, lost),
                (health, health_pb2.HealthCheckRequest()),
            ):
                with pytest.raises(grpc.RpcError) as failed:
                    call(request, timeout=HANG_S)
                assert failed.value.code() == Code.DEADLINE_EXCEEDED
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        assert recalled(stubs)[0] == "green tea"
        stubs.memory.Remember(lost, timeout=WAIT_S)
        assert stubs.state("u")[0] == 2
