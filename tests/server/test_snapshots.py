"""The snapshot calls on a real server, and the schedule over a real store."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog

from recalld.client.testing import RunningServer, running_server
from recalld.server.keeping import Keeping
from recalld.server.sections import SnapshotsSection
from recalld.server.snapshots import Snapshots
from recalld.storage.errors import CopyFailed
from recalld.storage.snapshots import FOLDER_NAME
from recalld.v1 import admin_service_pb2 as admin
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2
from tests.server.core import (
    HOUR_US,
    NOW_US,
    Core,
    FixedClock,
    memory,
    remember_request,
    scope,
    timestamp,
)
from tests.server.stubs import Stubs, refusal_of
from tests.storage import kept

WAIT_S = 120
READY = admin.SnapshotState.SNAPSHOT_STATE_READY
FAILED = admin.SnapshotState.SNAPSHOT_STATE_FAILED
DAMAGED = admin.SnapshotState.SNAPSHOT_STATE_DAMAGED
TEXTS = ["likes green tea", "is allergic to peanuts", "lives in Leeds", "喜欢喝茶", "对花生过敏"]
QUESTIONS = ["which tea", "peanut allergy", "喝什么茶", "Leeds"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of this module's own: a restore takes back everybody's memories."""
    with running_server(data_dir=tmp_path_factory.mktemp("own")) as running:
        yield running


@pytest.fixture
def stubs(server: RunningServer) -> Iterator[Stubs]:
    """Stubs of it."""
    with Stubs(server.target) as made:
        yield made


def create(stubs: Stubs, name: str = "") -> admin.Snapshot:
    """Takes a snapshot."""
    request = admin.CreateSnapshotRequest(name=name)
    return stubs.admin.CreateSnapshot(request, timeout=WAIT_S).snapshot


def listed(stubs: Stubs) -> list[admin.Snapshot]:
    """All snapshots."""
    return list(stubs.admin.ListSnapshots(admin.ListSnapshotsRequest(), timeout=WAIT_S).snapshots)


def verified(stubs: Stubs, name: str) -> list[str]:
    """What is wrong with a snapshot."""
    request = admin.VerifySnapshotRequest(name=name)
    answer = stubs.admin.VerifySnapshot(request, timeout=WAIT_S)
    assert answer.ok == (not answer.violations)
    return list(answer.violations)


def restore(stubs: Stubs, name: str) -> int:
    """Restores a snapshot; gives the revision."""
    request = admin.RestoreSnapshotRequest(name=name)
    return int(stubs.admin.RestoreSnapshot(request, timeout=WAIT_S).revision)


def answers(stubs: Stubs, user: str) -> list[list[tuple[str, float]]]:
    """What the questions bring back, at one clock."""
    found = []
    for text in QUESTIONS:
        request = recall_service_pb2.RecallRequest(
            scope=scope(user), text=text, now=timestamp(NOW_US), k=9, min_score=0.0
        )
        hits = stubs.recall.Recall(request, timeout=WAIT_S).hits
        found.append([(hit.memory.id, hit.score) for hit in hits])
    return found


def test_a_restore_gives_the_same_answers(stubs: Stubs, server: RunningServer) -> None:
    """Probe recalls after a restore are those before the snapshot, also after a restart."""
    made = [memory(text, event_time=NOW_US - n) for n, text in enumerate(TEXTS)]
    stubs.memory.Remember(remember_request("u", *made), timeout=WAIT_S)
    before = answers(stubs, "u")
    snapshot = create(stubs, "probe")
    assert (snapshot.state, snapshot.memory_count) == (READY, len(TEXTS))
    later = [memory("likes black tea", event_time=NOW_US), memory("peanut butter is fine")]
    stubs.memory.Remember(remember_request("u", *later), timeout=WAIT_S)
    gone = pb.ForgetRequest(scope=scope("u"), content=TEXTS[2])
    stubs.memory.Forget(gone, timeout=WAIT_S)
    revision = stubs.state("u")[1]
    assert answers(stubs, "u") != before
    assert restore(stubs, "probe") == revision + 1
    assert answers(stubs, "u") == before
    assert stubs.state("u") == (len(TEXTS), revision + 1)
    written = stubs.memory.Remember(remember_request("w", memory("goes on")), timeout=WAIT_S)
    assert written.revision == revision + 2
    server.restart()
    assert answers(stubs, "u") == before


def test_what_the_calls_refuse(stubs: Stubs) -> None:
    """Taken, unknown and malformed names, each with its status, reason and field."""
    create(stubs, "taken")
    refusal = refusal_of(stubs.admin.CreateSnapshot, admin.CreateSnapshotRequest(name="taken"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "ALREADY_EXISTS")
    requests: list[tuple[Any, Any]] = [
        (stubs.admin.VerifySnapshot, admin.VerifySnapshotRequest),
        (stubs.admin.RestoreSnapshot, admin.RestoreSnapshotRequest),
        (stubs.admin.DeleteSnapshot, admin.DeleteSnapshotRequest),
    ]
    for call, request in requests:
        refusal = refusal_of(call, request(name="none"))
        assert (refusal.code, refusal.reason) == (
            grpc.StatusCode.NOT_FOUND,
            "SNAPSHOT_NOT_FOUND",
        )
        for name in ("", "..", "a/b", "x" * 65):
            refusal = refusal_of(call, request(name=name))
            assert (refusal.code, refusal.fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["name"])
    refusal = refusal_of(stubs.admin.CreateSnapshot, admin.CreateSnapshotRequest(name="../x"))
    assert refusal.fields == ["name"]


def test_a_name_is_made_from_the_time(stubs: Stubs) -> None:
    """Without a name a snapshot gets one, is listed, and can be removed."""
    made = create(stubs)
    assert made.name.endswith("Z") and made.name[8] == "T"
    assert made in listed(stubs)
    stubs.admin.DeleteSnapshot(admin.DeleteSnapshotRequest(name=made.name), timeout=WAIT_S)
    assert made.name not in [snapshot.name for snapshot in listed(stubs)]


def test_a_damaged_snapshot_is_refused_by_a_running_server(
    stubs: Stubs, server: RunningServer
) -> None:
    """DATA_LOSS with what is wrong and the name of an intact one; the server goes on."""
    create(stubs, "intact")
    create(stubs, "damaged")
    create(stubs, "bare")
    folder = server.data_dir / FOLDER_NAME
    (database,) = (folder / "damaged").glob("*.duckdb")
    data = bytearray(database.read_bytes())
    data[len(data) // 2] ^= 1
    database.write_bytes(data)
    (folder / "bare" / "MANIFEST.json").unlink()
    states = {one.name: (one.state, one.error.message) for one in listed(stubs)}
    assert states["intact"] == states["damaged"] == (READY, "")  # Only its bytes tell.
    assert ["SHA-256" in violation for violation in verified(stubs, "damaged")] == [True]
    refusal = refusal_of(stubs.admin.RestoreSnapshot, admin.RestoreSnapshotRequest(name="damaged"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.DATA_LOSS, "CORRUPT")
    assert "SHA-256" in refusal.message and "intact one is intact" in refusal.message
    last = listed(stubs)[-1]
    assert (last.name, last.state, "missing" in last.error.message) == ("bare", DAMAGED, True)
    stubs.memory.Remember(remember_request("u", memory("still here")), timeout=WAIT_S)
    database.write_bytes(data[:-1])
    (cut,) = [one for one in listed(stubs) if one.name == "damaged"]
    assert (cut.state, "bytes, expected" in cut.error.message) == (DAMAGED, True)
    assert (cut.size_bytes, cut.HasField("create_time")) == (len(data), True)
    for name in ("damaged", "bare"):
        shutil.rmtree(folder / name)


def test_calls_during_a_restore_are_told_to_come_back(stubs: Stubs, server: RunningServer) -> None:
    """Other calls are answered or UNAVAILABLE, never anything else, while data is exchanged."""
    create(stubs, "busy")
    stop = threading.Event()
    codes: set[Any] = set()

    def ask() -> None:
        with Stubs(server.target) as own:
            while not stop.is_set():
                try:
                    own.state("u")
                except grpc.RpcError as error:
                    codes.add(error.code())  # type: ignore[attr-defined]

    asking = threading.Thread(target=ask)
    asking.start()
    restore(stubs, "busy")
    stop.set()
    asking.join()
    assert codes <= {grpc.StatusCode.UNAVAILABLE}


async def test_snapshots_are_for_operators(core: Core) -> None:
    """Who is no admin of the tenant default may do nothing with what belongs to every tenant."""
    from recalld.server.errors import PermissionDenied

    made = Snapshots(None, "m", SnapshotsSection(), None)  # type: ignore[arg-type]
    callers = (core.caller(admin=False), replace(core.caller(), tenant="acme"))
    for handler in (made.create, made.list_all, made.verify, made.restore, made.delete):
        for call in callers:
            with pytest.raises(PermissionDenied, match="admin"):
                await handler(None, call)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def scheduled(data_dir: Path, clock: FixedClock) -> Any:
    """Snapshots of a real store, taken every hour, two kept."""
    store = await asyncio.to_thread(kept.open_store, data_dir)
    log = structlog.wrap_logger(structlog.ReturnLogger())
    keeping = Keeping(store, data_dir, kept.options(), clock, log)
    settings = SnapshotsSection(every_h=1, kept_max=2)
    made = Snapshots(keeping, "model", settings, None)  # type: ignore[arg-type]
    task = asyncio.create_task(made.run_schedule())
    try:
        yield keeping, made
    finally:
        task.cancel()
        await keeping.close()
        await asyncio.to_thread(store.close)


async def taken(keeping: Keeping, names: list[str]) -> None:
    """Waits until exactly these snapshots are there."""
    async with asyncio.timeout(WAIT_S):
        while [one.name for one in keeping.folder.listed()] != names:
            await asyncio.sleep(0.02)


async def test_the_schedule_takes_and_retires(tmp_path: Path, monkeypatch: Any) -> None:
    """One is taken when the last is old enough; named ones stay when the oldest give way."""
    monkeypatch.setattr("recalld.server.snapshots.SLEEP_S_MAX", 0.02)
    clock = FixedClock()
    first, second, third = "auto-20261201T000000Z", "auto-20261201T010000Z", "auto-20261201T020000Z"
    async with scheduled(tmp_path, clock) as (keeping, made):
        await taken(keeping, [first])
        await made._create("named", NOW_US - 1, is_scheduled=False)
        clock.time_us += HOUR_US
        await taken(keeping, [second, first, "named"])
        clock.time_us += HOUR_US
        await taken(keeping, [third, second, "named"])


async def test_a_failed_one_is_listed(core: Core, tmp_path: Path, monkeypatch: Any) -> None:
    """A snapshot of the schedule that cannot be made is in the list with its reason."""

    def fail(*_: object) -> None:
        raise CopyFailed(tmp_path / "copy", "no room")

    monkeypatch.setattr("recalld.storage.snapshots.SnapshotFolder.create", fail)
    async with scheduled(tmp_path, FixedClock()) as (_, made):
        async with asyncio.timeout(WAIT_S):
            while made._failed is None:
                await asyncio.sleep(0.02)
        answer = await made.list_all(admin.ListSnapshotsRequest(), core.caller())
    (failed,) = answer.snapshots
    assert (failed.state, "no room" in failed.error.message) == (FAILED, True)
