"""Calls that concern everybody's data: whoever does not run the server is refused."""

from __future__ import annotations

from google.protobuf.message import Message

from recalld.v1 import admin_service_pb2 as pb

OPERATOR_CALLS: tuple[tuple[str, Message], ...] = (
    ("CreateSnapshot", pb.CreateSnapshotRequest(name="all")),
    ("ListSnapshots", pb.ListSnapshotsRequest()),
    ("VerifySnapshot", pb.VerifySnapshotRequest(name="all")),
    ("RestoreSnapshot", pb.RestoreSnapshotRequest(name="all")),
    ("DeleteSnapshot", pb.DeleteSnapshotRequest(name="all")),
)
