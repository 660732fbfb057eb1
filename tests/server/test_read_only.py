"""A real server on data that cannot be written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import grpc

from recalld.client.testing import running_server
from recalld.server.services import CAPABILITIES, WRITES
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs, refusal_of
from tests.storage.faults import small_disk

Code = grpc.StatusCode
WAIT_S = 60
POLL_S = 0.1


def writes(stubs: Stubs, memory_id: str) -> dict[str, tuple[Any, Any]]:
    """Every call that writes, ready to be made."""
    where = scope("u")
    changed = memory("changed")
    changed.id = memory_id
    changed.scope.CopyFrom(where)
    purge = pb.ForgetRequest(scope=where, all=True, mode=pb.ForgetMode.FORGET_MODE_PURGE)
    report = recall_pb.ReportUsageRequest(scope=where, recall_id="r", used=[memory_id])
    return {
        "Remember": (stubs.memory.Remember, remember_request("u", memory("new"))),
        "UpdateMemory": (stubs.memory.UpdateMemory, pb.UpdateMemoryRequest(memory=changed)),
        "Forget": (stubs.memory.Forget, purge),
        "ReportUsage": (stubs.recall.ReportUsage, report),
        "CreateSnapshot": (stubs.admin.CreateSnapshot, admin.CreateSnapshotRequest()),
        "DeleteSnapshot": (stubs.admin.DeleteSnapshot, admin.DeleteSnapshotRequest(name="one")),
        "RestoreSnapshot": (stubs.admin.RestoreSnapshot, admin.RestoreSnapshotRequest(name="one")),
    }


def test_a_read_only_volume(tmp_path: Path) -> None:
    """Recall works, writes answer READ_ONLY with the cause, and log and server info tell of it.

    The model is another one than before, too: its vectors are made and not kept.
    """
    with small_disk(tmp_path / "disk") as disk:
        with running_server(data_dir=disk.path) as server:
            with Stubs(server.target) as stubs:
                answer = stubs.memory.Remember(
                    remember_request("u", memory("likes green tea")), timeout=WAIT_S
                )
                one = admin.CreateSnapshotRequest(name="one")
                stubs.admin.CreateSnapshot(one, timeout=WAIT_S)
            server.kill()
        disk.remount("ro")
        other = {"RECALLD_EMBEDDER__HASH_DIM": "128"}
        with running_server(data_dir=disk.path, env=other) as server:
            said = [line for line in server.log_lines() if "serving read-only" in line]
            assert "Read-only file system" in said[0]
            with Stubs(server.target) as stubs:
                request = recall_pb.RecallRequest(scope=scope("u"), text="green tea")
                (hit,) = stubs.recall.Recall(request, timeout=WAIT_S).hits
                assert hit.memory.content == "likes green tea"
                info = stubs.admin.GetServerInfo(admin.GetServerInfoRequest(), timeout=WAIT_S)
                assert {*info.capabilities} == {*CAPABILITIES} - WRITES
                for name, (call, wanted) in writes(stubs, answer.results[0].id).items():
                    refusal = refusal_of(call, wanted)
                    assert (name, refusal.code, refusal.reason) == (
                        name,
                        grpc.StatusCode.FAILED_PRECONDITION,
                        "READ_ONLY",
                    )
                    assert "Read-only file system" in refusal.message
            assert server.stop() == 0
        disk.remount("rw")
        with running_server(data_dir=disk.path) as server, Stubs(server.target) as stubs:
            stubs.memory.Remember(remember_request("u", memory("new")), timeout=WAIT_S)
            assert stubs.state("u")[0] == 2


def test_writes_are_those_of_the_contract() -> None:
    """Every call that a read-only server refuses is one that works otherwise."""
    assert {*CAPABILITIES} >= WRITES


def test_a_full_disk(tmp_path: Path) -> None:
    """A disk that fills under the server costs nothing acknowledged: writes are refused as that,
    recalls go on, and writes succeed again once there is room, without a restart and after one."""
    with (
        small_disk(tmp_path / "disk") as disk,
        running_server(data_dir=disk.path) as server,
        Stubs(server.target) as stubs,
    ):
        stubs.memory.Remember(remember_request("u", memory("green tea", kind=4)), timeout=WAIT_S)
        disk.fill()
        count = 1
        refusal = None
        while refusal is None:
            batch = [memory(f"m{count + n} " + "x" * 2_000, kind=4) for n in range(64)]
            wanted = remember_request("u", *batch)
            try:
                stubs.memory.Remember(wanted, timeout=WAIT_S)
                count += 64
            except grpc.RpcError:
                refusal = refusal_of(stubs.memory.Remember, wanted)
        assert (refusal.code, refusal.reason) == (Code.RESOURCE_EXHAUSTED, "STORAGE_FULL")
        assert "No space left on device" in refusal.message
        recall = recall_pb.RecallRequest(scope=scope("u"), text="green tea")
        assert stubs.recall.Recall(recall, timeout=WAIT_S).hits[0].memory.content == "green tea"
        assert stubs.state("u")[0] == count
        server.kill()
        server.restart()
        assert stubs.state("u")[0] == count
        assert refusal_of(stubs.memory.Remember, wanted).reason == "STORAGE_FULL"
        disk.free()
        until_written(stubs, remember_request("u", memory("again", kind=4)))
        assert stubs.state("u")[0] == count + 1
        server.kill()
        server.restart()
        assert stubs.state("u")[0] == count + 1


def until_written(stubs: Stubs, request: pb.RememberRequest) -> None:
    """Sends a request until it is no longer refused for lack of room."""
    while True:
        try:
            stubs.memory.Remember(request, timeout=WAIT_S)
        except grpc.RpcError as error:
            assert error.code() == Code.RESOURCE_EXHAUSTED
            time.sleep(POLL_S)
        else:
            return
