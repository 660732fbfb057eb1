"""What a key stands for when its newest value is forgotten, purged or brought back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from recalld.client.testing import RunningServer, running_server
from recalld.v1 import admin_service_pb2, recall_service_pb2, types_pb2
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import DAY_US, condition, memory, must, remember_request, scope, timestamp
from tests.server.stubs import Stubs, refusal_of

SUPERSEDED, FORGOTTEN = types_pb2.MEMORY_STATUS_SUPERSEDED, types_pb2.MEMORY_STATUS_FORGOTTEN
FORGET, UNDO, PURGE = pb.FORGET_MODE_SOFT, pb.FORGET_MODE_UNDO, pb.FORGET_MODE_PURGE
NOW_US = time.time_ns() // 1_000_000_000 * 1_000_000


class Asker:
    """One user of the server."""

    def __init__(self, stubs: Stubs, user: str) -> None:
        self.stubs = stubs
        self.user = user

    def remember(self, *memories: types_pb2.Memory) -> Any:
        return self.stubs.memory.Remember(remember_request(self.user, *memories)).results

    def moves(self) -> tuple[str, str]:
        """Remembers Leeds, then York, under one key; their ids."""
        cities = (("lives in Leeds", 2 * DAY_US), ("lives in York", DAY_US))
        said = [memory(text, key="city", event_time=NOW_US - ago) for text, ago in cities]
        leeds, york = self.remember(*said)
        return leeds.id, york.id

    def forget(self, mode: int, **which: Any) -> Any:
        request = pb.ForgetRequest(scope=scope(self.user), mode=mode, **which)  # type: ignore[arg-type]
        return self.stubs.memory.Forget(request)

    def get(self, memory_id: str) -> types_pb2.Memory:
        request = pb.GetMemoryRequest(scope=scope(self.user), id=memory_id)
        found: types_pb2.Memory = self.stubs.memory.GetMemory(request).memory
        return found

    def value(self) -> str:
        """What the key stands for; "" = nothing."""
        request = pb.GetMemoryRequest(scope=scope(self.user), key="city")
        try:
            content: str = self.stubs.memory.GetMemory(request).memory.content
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND  # type: ignore[attr-defined]
            return ""
        return content

    def recalled(self, ago_us: int = 0) -> list[str]:
        """Contents under the key, now or as of then."""
        request = recall_service_pb2.RecallRequest(
            scope=scope(self.user), filter=must(condition(key={"values": ["city"]}))
        )
        if ago_us:
            request.as_of.CopyFrom(timestamp(NOW_US - ago_us))
        return [hit.memory.content for hit in self.stubs.recall.Recall(request).hits]

    def is_history(self, leeds: str) -> None:
        """Leeds was true until York came, names nothing, and nothing holds now."""
        left = self.get(leeds)
        assert (left.status, left.superseded_by) == (SUPERSEDED, "")
        assert left.valid_to.ToMicroseconds() == NOW_US - DAY_US
        assert (self.value(), self.recalled()) == ("", [])
        assert self.recalled(3 * DAY_US // 2) == ["lives in Leeds"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of its own: it is restarted and restored."""
    with running_server(data_dir=tmp_path_factory.mktemp("keys")) as running:
        yield running


@pytest.fixture
def asker(server: RunningServer, request: pytest.FixtureRequest) -> Iterator[Asker]:
    """A user of its own for each test."""
    with Stubs(server.target) as stubs:
        yield Asker(stubs, request.node.name)


def test_a_soft_forget_and_its_undo(asker: Asker) -> None:
    """Forgetting the newest value brings no older one back: the older was replaced and stays so.
    Undo brings the newest back as it was."""
    leeds, york = asker.moves()
    asker.forget(FORGET, ids={"ids": [york]})
    assert (asker.value(), asker.recalled()) == ("", [])
    assert asker.get(asker.get(leeds).superseded_by).status == FORGOTTEN
    asker.forget(UNDO, ids={"ids": [york]})
    assert (asker.value(), asker.recalled()) == ("lives in York", ["lives in York"])


@pytest.mark.parametrize("by", ["ids", "filter", "content", "forgotten first"])
def test_a_purge_of_the_newest_value(asker: Asker, server: RunningServer, by: str) -> None:
    """However it is purged, the older value stays history and names nothing that is gone: at once
    and after a kill. Who says the older value again is heard."""
    leeds, york = asker.moves()
    which: dict[str, Any] = {
        "filter": {"filter": must(condition(id={"values": [york]}))},
        "content": {"content": "lives in York"},
    }.get(by, {"ids": {"ids": [york]}})
    if by == "forgotten first":
        asker.forget(FORGET, **which)
    assert asker.forget(PURGE, **which).count == 1
    asker.is_history(leeds)
    if by == "ids":
        server.kill()
        server.restart()
        asker.is_history(leeds)
    [again] = asker.remember(memory("lives in Leeds", key="city"))
    assert again.outcome == pb.REMEMBER_OUTCOME_CREATED
    assert (again.id != leeds, asker.value()) == (True, "lives in Leeds")


def test_a_purge_by_key(asker: Asker) -> None:
    """A purge by key takes the key's history, too."""
    for memory_id in (asker.moves(), asker.forget(PURGE, key="city"))[0]:
        request = pb.GetMemoryRequest(scope=scope(asker.user), id=memory_id)
        assert refusal_of(asker.stubs.memory.GetMemory, request).reason == "MEMORY_NOT_FOUND"


def test_what_comes_back_from_elsewhere(asker: Asker) -> None:
    """Neither a snapshot of before the purge nor an import of what was exported then gives the key
    a value, or the older one a name of what is gone."""
    leeds, york = asker.moves()
    request = pb.ExportMemoriesRequest(scope=scope(asker.user), statuses=[1, 2])
    exported = [one.memory for one in asker.stubs.memory.ExportMemories(request)]
    create = admin_service_pb2.CreateSnapshotRequest(name="before")
    asker.stubs.admin.CreateSnapshot(create)
    asker.forget(PURGE, ids={"ids": [york]})
    asker.stubs.admin.RestoreSnapshot(admin_service_pb2.RestoreSnapshotRequest(name="before"))
    asker.is_history(leeds)
    for one in exported:
        one.stated_by = types_pb2.STATED_BY_IMPORT
    outcomes = [result.outcome for result in asker.remember(*exported)]
    assert outcomes[1] == pb.REMEMBER_OUTCOME_REJECTED_PURGED
    assert (asker.value(), asker.recalled()) == ("", [])


def test_a_chain_in_a_snapshot(asker: Asker, server: RunningServer, tmp_path: Path) -> None:
    """A snapshot brought back from elsewhere gives the oldest value the heir that the purged one
    had, and what the purged one had only outweighed is free."""
    leeds, york = asker.moves()
    [hull] = asker.remember(memory("lives in Hull", key="city"))
    word, guess = (
        asker.remember(memory(text, key="employer", stated_by=by))[0].id  # type: ignore[arg-type]
        for text, by in (("works at Acme", 1), ("works at Initech", 2))
    )
    assert asker.get(guess).superseded_by == word
    asker.stubs.admin.CreateSnapshot(admin_service_pb2.CreateSnapshotRequest(name="chain"))
    folder = server.data_dir / "snapshots" / "chain"
    folder.rename(tmp_path / "chain")  # A purge does not reach it there.
    asker.forget(PURGE, ids={"ids": [york, word]})
    (tmp_path / "chain").rename(folder)
    asker.stubs.admin.RestoreSnapshot(admin_service_pb2.RestoreSnapshotRequest(name="chain"))
    assert asker.get(leeds).superseded_by == hull.id
    assert asker.value() == "lives in Hull"
    left = asker.get(guess)
    assert (left.status, left.superseded_by, left.conflict_group) == (1, "", "")
