"""The snapshot calls, for both clients: what they give back and how they are made.

Snapshots are of the whole server and need the admin role. The calls get the deadline of admin
calls: a snapshot of a million memories takes longer than the default allows.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from recalld.client import decode, wiretypes
from recalld.client.calls import Call, CallFactory
from recalld.v1 import admin_service_pb2 as admin_pb2

ReplyT = TypeVar("ReplyT")


class SnapshotState(StrEnum):
    """Whether a snapshot can be restored."""

    UNSPECIFIED = "unspecified"
    CREATING = "creating"
    READY = "ready"
    FAILED = "failed"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the whole server.

    Attributes:
        name: Its name.
        state: READY ones can be verified and restored; of DAMAGED ones the manifest or the size of
            a file tells already that they cannot.
        create_time: When it was taken; None when its manifest cannot be read.
        revision: Of the caller's tenant.
        memory_count: Memories in it, of every tenant.
        size_bytes: On disk.
        embedder_fingerprint: Model of its vectors.
        problem: Why it failed, or what is damaged; empty when nothing is.
    """

    name: str
    state: SnapshotState
    create_time: datetime | None
    revision: int
    memory_count: int
    size_bytes: int
    embedder_fingerprint: str
    problem: str = ""


def snapshot_of(message: admin_pb2.Snapshot) -> Snapshot:
    """A snapshot from the wire."""
    prefix = "SNAPSHOT_STATE_"
    known = dict(admin_pb2.SnapshotState.items())
    states = {number: SnapshotState[name.removeprefix(prefix)] for name, number in known.items()}
    return Snapshot(
        name=message.name,
        state=states.get(message.state, SnapshotState.UNSPECIFIED),
        create_time=wiretypes.to_datetime(message, "create_time"),
        revision=message.revision,
        memory_count=message.memory_count,
        size_bytes=message.size_bytes,
        embedder_fingerprint=message.embedder_fingerprint,
        problem=message.error.message,
    )


class SnapshotRequests:
    """Makes the calls."""

    def __init__(self, calls: CallFactory) -> None:
        """Keeps what makes calls of requests."""
        self._calls = calls

    def create(self, name: str, timeout: float | None) -> Call[Snapshot]:
        """CreateSnapshot."""
        request = wiretypes.build(admin_pb2.CreateSnapshotRequest, name=name)
        return self._call("CreateSnapshot", request, timeout, lambda r: snapshot_of(r.snapshot))

    def list_all(self, timeout: float | None) -> Call[tuple[Snapshot, ...]]:
        """ListSnapshots."""
        request = admin_pb2.ListSnapshotsRequest()
        return self._call(
            "ListSnapshots", request, timeout, lambda r: tuple(map(snapshot_of, r.snapshots))
        )

    def verify(self, name: str, timeout: float | None) -> Call[tuple[str, ...]]:
        """VerifySnapshot; the reply is everything that is wrong."""
        request = wiretypes.build(admin_pb2.VerifySnapshotRequest, name=name)
        return self._call("VerifySnapshot", request, timeout, lambda r: tuple(r.violations))

    def restore(self, name: str, timeout: float | None) -> Call[int]:
        """RestoreSnapshot; the reply is the revision after it."""
        request = wiretypes.build(admin_pb2.RestoreSnapshotRequest, name=name)
        return self._call("RestoreSnapshot", request, timeout, decode.revision)

    def delete(self, name: str, timeout: float | None) -> Call[None]:
        """DeleteSnapshot."""
        request = wiretypes.build(admin_pb2.DeleteSnapshotRequest, name=name)
        return self._call("DeleteSnapshot", request, timeout, lambda _: None)

    def _call(self, method: str, request: Any, timeout: float | None, read: Any) -> Call[Any]:
        made = self._calls.raw(f"AdminService/{method}", request, timeout)
        return Call(made.method, made.request, made.timeout_s, read)


class SnapshotMethods:
    """Snapshot calls of the blocking client."""

    _calls: CallFactory

    def create_snapshot(self, name: str = "", timeout: float | None = None) -> Snapshot:
        """Takes a snapshot of the whole server while it serves; without a name one is made.

        Raises:
            AlreadyExists: If the name is taken.
        """
        return self._run(SnapshotRequests(self._calls).create(name, timeout))

    def snapshots(self, timeout: float | None = None) -> tuple[Snapshot, ...]:
        """All snapshots, newest first."""
        return self._run(SnapshotRequests(self._calls).list_all(timeout))

    def verify_snapshot(self, name: str, timeout: float | None = None) -> tuple[str, ...]:
        """Everything that is wrong with a snapshot; empty when it can be restored.

        Raises:
            SnapshotNotFound: If there is none of this name.
        """
        return self._run(SnapshotRequests(self._calls).verify(name, timeout))

    def restore_snapshot(self, name: str, timeout: float | None = None) -> int:
        """Puts a snapshot in place of the present data of the whole server.

        Purged memories stay purged; other calls are refused as unavailable meanwhile.

        Returns:
            The revision of the caller's tenant after it.

        Raises:
            SnapshotNotFound: If there is none of this name.
            Corrupt: If it is damaged; the message offers the newest intact one.
        """
        return self._run(SnapshotRequests(self._calls).restore(name, timeout))

    def delete_snapshot(self, name: str, timeout: float | None = None) -> None:
        """Removes a snapshot.

        Raises:
            SnapshotNotFound: If there is none of this name.
        """
        self._run(SnapshotRequests(self._calls).delete(name, timeout))

    def _run(self, call: Call[ReplyT]) -> ReplyT:
        """Runs a call; the client's."""
        raise NotImplementedError


class AsyncSnapshotMethods:
    """Snapshot calls of the asyncio client; see `SnapshotMethods`."""

    _calls: CallFactory

    async def create_snapshot(self, name: str = "", timeout: float | None = None) -> Snapshot:
        """Takes a snapshot of the whole server; see `Client.create_snapshot`."""
        return await self._run(SnapshotRequests(self._calls).create(name, timeout))

    async def snapshots(self, timeout: float | None = None) -> tuple[Snapshot, ...]:
        """All snapshots, newest first; see `Client.snapshots`."""
        return await self._run(SnapshotRequests(self._calls).list_all(timeout))

    async def verify_snapshot(self, name: str, timeout: float | None = None) -> tuple[str, ...]:
        """Everything that is wrong with a snapshot; see `Client.verify_snapshot`."""
        return await self._run(SnapshotRequests(self._calls).verify(name, timeout))

    async def restore_snapshot(self, name: str, timeout: float | None = None) -> int:
        """Puts a snapshot in place of the present data; see `Client.restore_snapshot`."""
        return await self._run(SnapshotRequests(self._calls).restore(name, timeout))

    async def delete_snapshot(self, name: str, timeout: float | None = None) -> None:
        """Removes a snapshot; see `Client.delete_snapshot`."""
        await self._run(SnapshotRequests(self._calls).delete(name, timeout))

    def _run(self, call: Call[ReplyT]) -> Coroutine[Any, Any, ReplyT]:
        """Runs a call; the client's."""
        raise NotImplementedError
