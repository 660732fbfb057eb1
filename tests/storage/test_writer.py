"""Group commit: grouping, order, bounds, failure and closing."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recalld.storage.errors import Corrupt, StoreBusy, StoreClosed, StoreFailed, StoreFull
from recalld.storage.store import WriteBatch
from recalld.storage.writer import GroupWriter
from tests.storage.samples import memory

WAIT_S = 10


class Gate:
    """A commit that waits at a gate and records the revisions of each group."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.groups: list[list[int]] = []
        self.error: Exception | None = None

    def __call__(self, batches: Sequence[WriteBatch]) -> None:
        self.entered.set()
        assert self.open.wait(WAIT_S)
        self.groups.append([batch.revision for batch in batches])
        if self.error is not None:
            raise self.error


class Sick:
    """A recovery that notes its calls; `lacking` is raised for as long as it is set."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.lacking: OSError | None = None
        self.broken: Exception | None = None

    def mend(self) -> None:
        self.calls.append("mend")
        if self.broken is not None:
            raise self.broken

    def require_room(self) -> None:
        self.calls.append("room")
        if self.lacking is not None:
            raise self.lacking


@pytest.fixture
def sick() -> Sick:
    return Sick()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def writer(gate: Gate, sick: Sick) -> Iterator[GroupWriter]:
    made = GroupWriter(gate, sick, group_row_count_max=4, queue_row_count_max=8)
    yield made
    gate.open.set()
    made.close()


def batch(revision: int, rows: int = 1) -> WriteBatch:
    return WriteBatch("acme", revision, tuple(memory(n + 1, revision) for n in range(rows)))


def test_what_waits_is_committed_together(gate: Gate, writer: GroupWriter) -> None:
    """Batches that arrive during a commit form the next group, in order, up to the row limit."""
    first = writer.submit(batch(1))
    assert gate.entered.wait(WAIT_S)
    rest = [writer.submit(batch(revision)) for revision in range(2, 8)]
    assert not first.done()
    assert writer.waiting_row_count == 7
    gate.open.set()
    for future in [first, *rest]:
        assert future.result(WAIT_S) is None
    assert gate.groups == [[1], [2, 3, 4, 5], [6, 7]]
    assert writer.waiting_row_count == 0


def test_a_full_queue_refuses_and_recovers(gate: Gate, writer: GroupWriter) -> None:
    """Rows beyond the bound are refused at once with nothing queued; later ones are accepted."""
    held = [writer.submit(batch(1, rows=3)), writer.submit(batch(2, rows=5))]
    with pytest.raises(StoreBusy, match="8"):
        writer.submit(batch(3))
    gate.open.set()
    for future in held:
        future.result(WAIT_S)
    writer.submit(batch(4)).result(WAIT_S)
    assert [revision for group in gate.groups for revision in group] == [1, 2, 4]


def test_one_batch_above_the_bound_passes_when_nothing_waits(
    gate: Gate, writer: GroupWriter
) -> None:
    """A batch larger than the whole queue is not refused for ever."""
    gate.open.set()
    writer.submit(batch(1, rows=20)).result(WAIT_S)


def test_a_job_runs_alone_and_in_order(gate: Gate, writer: GroupWriter) -> None:
    """A job runs after what was queued before it and before what came after."""
    seen: list[list[list[int]]] = []
    writer.submit(batch(1))
    assert gate.entered.wait(WAIT_S)
    writer.submit(batch(2))
    job = writer.run(lambda: seen.append(list(gate.groups)) or "done")
    last = writer.submit(batch(3))
    gate.open.set()
    assert job.result(WAIT_S) == "done"
    last.result(WAIT_S)
    assert seen == [[[1], [2]]]
    assert gate.groups == [[1], [2], [3]]


def test_a_failure_fails_all_that_waits_and_all_that_comes(gate: Gate, writer: GroupWriter) -> None:
    """After one failed commit nothing is committed any more, and everyone is told why."""
    gate.error = OSError("disk gone")
    waiting = [writer.submit(batch(revision)) for revision in range(1, 7)]
    gate.open.set()
    for future in waiting:
        with pytest.raises(StoreFailed, match="disk gone"):
            future.result(WAIT_S)
    assert len(gate.groups) == 1
    for call in (lambda: writer.submit(batch(9)), lambda: writer.run(print)):
        with pytest.raises(StoreFailed) as failed:
            call()
        assert isinstance(failed.value.__cause__, OSError)


def test_a_failed_job_is_a_failed_write(gate: Gate, writer: GroupWriter) -> None:
    """A job's exception reaches its caller as StoreFailed and ends all writing."""
    with pytest.raises(StoreFailed, match="zero"):
        writer.run(lambda: 1 // 0).result(WAIT_S)
    with pytest.raises(StoreFailed):
        writer.submit(batch(1))


def test_closing_finishes_what_is_queued(gate: Gate, writer: GroupWriter) -> None:
    """Close waits for every queued batch, then refuses new ones."""
    futures = [writer.submit(batch(revision)) for revision in range(1, 7)]
    gate.open.set()
    writer.close()
    assert all(future.done() and future.exception() is None for future in futures)
    with pytest.raises(StoreClosed):
        writer.submit(batch(7))
    writer.close()


NO_ROOM = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refused(writer: GroupWriter, revision: int) -> StoreFailed:
    """Why a batch is not taken, at once or by its future."""
    with pytest.raises(StoreFailed) as failed:
        writer.submit(batch(revision)).result(WAIT_S)
    return failed.value


def test_writing_begins_again_when_there_is_room(
    gate: Gate, sick: Sick, writer: GroupWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a full disk each batch is refused as that, until one finds room and is committed."""
    monkeypatch.setattr(StoreFull, "retry_after_s", 0.0)
    gate.open.set()
    gate.error = sick.lacking = NO_ROOM
    assert isinstance(refused(writer, 1), StoreFull)
    assert isinstance(refused(writer, 2), StoreFull)
    gate.error = sick.lacking = None
    writer.submit(batch(3)).result(WAIT_S)
    writer.submit(batch(4)).result(WAIT_S)
    assert gate.groups == [[1], [3], [4]]
    assert sick.calls == ["mend", "room", "room"]


def test_room_is_not_looked_for_by_every_batch(
    gate: Gate, sick: Sick, writer: GroupWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks batches are refused without a look."""
    monkeypatch.setattr(StoreFull, "retry_after_s", 1e9)
    gate.open.set()
    gate.error = sick.lacking = NO_ROOM
    for revision in range(1, 6):
        assert isinstance(refused(writer, revision), StoreFull)
    assert sick.calls == ["mend", "room"]


def test_what_cannot_be_mended_yet_is_mended_later(
    gate: Gate, sick: Sick, writer: GroupWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where going back fails for lack of room, it is tried again before anything is written."""
    monkeypatch.setattr(StoreFull, "retry_after_s", 0.0)
    gate.open.set()
    gate.error = sick.broken = NO_ROOM
    assert isinstance(refused(writer, 1), StoreFull)
    gate.error = sick.broken = None
    writer.submit(batch(2)).result(WAIT_S)
    assert sick.calls == ["mend", "mend", "room"]


def test_what_cannot_be_mended_at_all_ends_writing(
    gate: Gate, sick: Sick, writer: GroupWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it cannot go back to what was acknowledged, nothing is written until it is reopened."""
    monkeypatch.setattr(StoreFull, "retry_after_s", 0.0)
    gate.open.set()
    gate.error, sick.broken = NO_ROOM, Corrupt(Path("db"), "more than was acknowledged")
    for revision in (1, 2):
        failed = refused(writer, revision)
        assert not isinstance(failed, StoreFull)
        assert "more than was acknowledged" in str(failed)
    assert sick.calls == ["mend"]
