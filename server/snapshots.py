"""CreateSnapshot, ListSnapshots, VerifySnapshot, RestoreSnapshot, DeleteSnapshot, and the schedule.

A snapshot is of the whole server: every tenant, and one file that nobody takes apart. Hence the
calls need the role admin in the tenant that runs the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from google.rpc import status_pb2

from recalld.server import logs, status, times
from recalld.server.call import Call
from recalld.server.errors import InvalidRequest, PermissionDenied
from recalld.server.keeping import Keeping
from recalld.server.sections import SnapshotsSection
from recalld.storage.manifest import Manifest
from recalld.storage.restore import Restored, require_intact
from recalld.storage.snapshot_check import Listed
from recalld.storage.snapshots import NAME, Stamp
from recalld.v1 import admin_service_pb2 as pb

State = pb.SnapshotState
HOUR_US = 3_600_000_000
RETRY_S = 300.0
"""After a snapshot of the schedule could not be made."""
SLEEP_S_MAX = 3600.0
"""The clock may be set meanwhile: look again at least this often."""
SCHEDULED_PREFIX = "auto-"

Exchange = Callable[[Callable[[], Restored]], Awaitable[Restored]]


class Snapshots:
    """Handlers of the snapshot calls."""

    def __init__(
        self,
        keeping: Keeping,
        fingerprint: str,
        settings: SnapshotsSection,
        exchange: Exchange,
    ) -> None:
        """Start with none in the making.

        Args:
            keeping: the store and its snapshots.
            fingerprint: of the model that makes the vectors.
            settings: of the schedule.
            exchange: closes what is loaded, runs what it is given, and loads again.
        """
        self._keeping = keeping
        self._fingerprint = fingerprint
        self._settings = settings
        self._exchange = exchange
        self._making: tuple[str, int] | None = None
        self._failed: pb.Snapshot | None = None

    async def create(
        self, request: pb.CreateSnapshotRequest, call: Call
    ) -> pb.CreateSnapshotResponse:
        """Take a snapshot."""
        require_operator(call)
        name = request.name or _name_of(call.now_us)
        require_name(name)
        self._keeping.require_writable()
        made = await self._create(name, call.now_us, is_scheduled=False)
        return pb.CreateSnapshotResponse(snapshot=_ready(made, call.tenant))

    async def list_all(
        self, request: pb.ListSnapshotsRequest, call: Call
    ) -> pb.ListSnapshotsResponse:
        """All snapshots, the one in the making first."""
        require_operator(call)
        response = pb.ListSnapshotsResponse()
        if self._making is not None:
            name, time_us = self._making
            state = State.SNAPSHOT_STATE_CREATING
            response.snapshots.add(name=name, state=state, create_time=times.to_wire(time_us))
        if self._failed is not None:
            response.snapshots.append(self._failed)
        listed = await asyncio.to_thread(self._keeping.folder.listed)
        response.snapshots.extend(_shown(one, call) for one in listed)
        return response

    async def verify(
        self, request: pb.VerifySnapshotRequest, call: Call
    ) -> pb.VerifySnapshotResponse:
        """Everything that is wrong with a snapshot."""
        require_operator(call)
        require_name(request.name)
        async with self._keeping.turn():
            found = await asyncio.to_thread(self._keeping.folder.verify, request.name)
        return pb.VerifySnapshotResponse(ok=not found, violations=found)

    async def delete(
        self, request: pb.DeleteSnapshotRequest, call: Call
    ) -> pb.DeleteSnapshotResponse:
        """Remove a snapshot."""
        require_operator(call)
        require_name(request.name)
        self._keeping.require_writable()
        async with self._keeping.turn():
            await asyncio.to_thread(self._keeping.folder.delete, request.name)
        return pb.DeleteSnapshotResponse()

    async def restore(
        self, request: pb.RestoreSnapshotRequest, call: Call
    ) -> pb.RestoreSnapshotResponse:
        """Put a snapshot in place of the present data."""
        require_operator(call)
        require_name(request.name)
        self._keeping.require_writable()
        # Refused while everything still runs.
        async with self._keeping.turn():
            await asyncio.to_thread(require_intact, self._keeping.folder, request.name)
        done = await self._exchange(partial(self._keeping.restore, request.name))
        return pb.RestoreSnapshotResponse(revision=done.revisions.get(call.tenant, 0))

    async def run_schedule(self) -> None:
        """Take snapshots as the settings say, until cancelled."""
        clock = self._keeping.clock
        is_off = not self._settings.every_h or self._keeping.store.read_only_reason
        while not is_off:
            wait_us = await asyncio.to_thread(self._due_us) - clock.now_us()
            if wait_us > 0:
                await asyncio.sleep(min(wait_us / 1e6, SLEEP_S_MAX))
                continue
            now_us = clock.now_us()
            name = f"{SCHEDULED_PREFIX}{_name_of(now_us)}"
            try:
                await self._create(name, now_us, is_scheduled=True)
                await self._retire()
                self._failed = None
            except Exception as error:
                self._failed = _failure(name, now_us, error)
                self._keeping.log.error("snapshot failed", name=name, fault=logs.fault(error))
                await asyncio.sleep(RETRY_S)

    async def _create(self, name: str, now_us: int, *, is_scheduled: bool) -> Manifest:
        """Take a snapshot when its turn comes; what is begun goes on without its caller."""
        return await asyncio.shield(
            asyncio.ensure_future(
                self._create_in_turn(name, Stamp(now_us, self._fingerprint, is_scheduled))
            )
        )

    async def _create_in_turn(self, name: str, stamp: Stamp) -> Manifest:
        keeping = self._keeping
        async with keeping.turn():
            keeping.folder.require_free(name)
            self._making = (name, stamp.now_us)
            try:
                made = await asyncio.to_thread(keeping.folder.create, keeping.store, name, stamp)
            finally:
                self._making = None
        self._keeping.log.info("snapshot taken", name=name, size_bytes=made.size_bytes())
        return made

    async def _retire(self) -> None:
        """Remove the oldest snapshots of the schedule beyond those kept."""
        for manifest in self._scheduled()[self._settings.kept_max :]:
            async with self._keeping.turn():
                await asyncio.to_thread(self._keeping.folder.delete, manifest.name)
            self._keeping.log.info("snapshot removed", name=manifest.name)

    def _due_us(self) -> int:
        """When the next snapshot of the schedule is due."""
        newest = self._scheduled()[:1]
        every_us = int(self._settings.every_h * HOUR_US)
        return newest[0].create_time_us + every_us if newest else 0

    def _scheduled(self) -> list[Manifest]:
        """Snapshots of the schedule, newest first."""
        found = (listed.manifest for listed in self._keeping.folder.listed())
        return [manifest for manifest in found if manifest is not None and manifest.is_scheduled]


def require_operator(call: Call) -> None:
    """Refuse whoever may not touch what belongs to every tenant."""
    if not call.is_operator:
        raise PermissionDenied(
            "snapshots are of the whole server: this needs the role admin in the tenant default"
        )


def require_name(name: str) -> None:
    """Refuse what is no name of a snapshot; nothing else ever becomes part of a path."""
    if not NAME.fullmatch(name):
        raise InvalidRequest(
            "name", "must be 1 to 64 characters of A-Z a-z 0-9 . _ -, the first a letter or digit"
        )


def _name_of(time_us: int) -> str:
    """A name made from the time, to the second."""
    return datetime.fromtimestamp(time_us // 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")


def _ready(manifest: Manifest, tenant: str) -> pb.Snapshot:
    """A snapshot as a tenant is told of it."""
    return pb.Snapshot(
        name=manifest.name,
        state=State.SNAPSHOT_STATE_READY,
        create_time=times.to_wire(manifest.create_time_us),
        revision=manifest.revisions.get(tenant, 0),
        memory_count=manifest.counts.get("memories", 0),
        size_bytes=manifest.size_bytes(),
        embedder_fingerprint=manifest.fingerprint,
    )


def _shown(listed: Listed, call: Call) -> pb.Snapshot:
    """One snapshot of the list."""
    if listed.manifest is not None:
        made = _ready(listed.manifest, call.tenant)
    else:
        made = pb.Snapshot(name=listed.name)
    if listed.problem is not None:
        made.state = State.SNAPSHOT_STATE_DAMAGED
        made.error.CopyFrom(_told(listed.problem))
    return made


def _told(error: Exception) -> status_pb2.Status:
    """What is wrong with a snapshot, as a caller is told."""
    return status_pb2.Status.FromString(status.translate(error, "").details)


def _failure(name: str, time_us: int, error: Exception) -> pb.Snapshot:
    """A snapshot that is none, and why."""
    made = pb.Snapshot(name=name, state=State.SNAPSHOT_STATE_FAILED, error=_told(error))
    if time_us:
        made.create_time.CopyFrom(times.to_wire(time_us))
    return made
