"""The server under evaluation: its calls, its clock, and words for what the sets say in numbers.

A thin layer over the generated stubs: nothing here ranks, judges or retries by itself; the retry
policy is gRPC's own, for calls that a full queue turned away (nothing was done then).
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import cast

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from recalld.client.testing import RunningServer, running_server
from recalld.v1.admin_service_pb2_grpc import AdminServiceStub
from recalld.v1.memory_service_pb2_grpc import MemoryServiceStub
from recalld.v1.recall_service_pb2_grpc import RecallServiceStub
from recalld.v1.types_pb2 import Importance, MemoryKind, StatedBy

CALL_TIMEOUT_S = 120.0
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
CLOCK_METADATA = "recalld-now"
# The middle of each band is what a level means as a number; between the bands lie the bounds.
IMPORTANCE_LOW_BELOW = 0.35
IMPORTANCE_MEDIUM_BELOW = 0.75

_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "5s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"],
            },
        }
    ]
}


@dataclass(frozen=True)
class Target:
    """Stubs of one server. Thread safety: all calls may be made from any thread."""

    memory: MemoryServiceStub
    recall: RecallServiceStub
    admin: AdminServiceStub


@contextmanager
def connect(address: str) -> Iterator[Target]:
    """Stubs on `address`; the channel closes with the context."""
    options = [
        ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ]
    with grpc.insecure_channel(address, options=options) as channel:
        yield Target(
            MemoryServiceStub(channel), RecallServiceStub(channel), AdminServiceStub(channel)
        )


NOTHING_REFUSED = MappingProxyType(
    {
        f"RECALLD_SENSITIVE__{name}": "redact"
        for name in ("RESIDENT_ID", "BANK_CARD", "API_KEY", "PASSWORD")
    }
)
"""A set is replayed whole: what a server would refuse as sensitive is replaced instead."""


@contextmanager
def own_server(embedder: str, data_dir: Path | None = None) -> Iterator[str]:
    """A real server of its own process with a settable clock, on a temporary directory if none.

    Yields:
        Its address.
    """
    with server_process(embedder, data_dir) as server:
        yield server.target


def server_process(
    embedder: str, data_dir: Path | None = None
) -> AbstractContextManager[RunningServer]:
    """The same with a hold on the process, which can then be killed."""
    return running_server(
        data_dir=data_dir, args=("--test-clock",), embedder=embedder, env=NOTHING_REFUSED
    )


def clock(now: datetime) -> tuple[tuple[str, str], ...]:
    """Request metadata that sets the server's clock; needs a server with a settable clock."""
    return ((CLOCK_METADATA, now.astimezone(UTC).isoformat().replace("+00:00", "Z")),)


def timestamp(time: datetime) -> Timestamp:
    """The instant as protobuf's Timestamp."""
    stamp = Timestamp()
    stamp.FromDatetime(time.astimezone(UTC))
    return stamp


def parse_time(text: str) -> datetime:
    """An instant from ISO 8601; without an offset it is UTC.

    Raises:
        ValueError: no such time.
    """
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def kind_of(name: str) -> MemoryKind:
    """`fact` and so on.

    Raises:
        ValueError: there is no such kind.
    """
    return cast("MemoryKind", MemoryKind.Value(f"MEMORY_KIND_{name.upper()}"))


def stated_by_of(name: str) -> StatedBy:
    """`user`, `agent`, `tool` or `import`.

    Raises:
        ValueError: there is no such speaker.
    """
    return cast("StatedBy", StatedBy.Value(f"STATED_BY_{name.upper()}"))


def importance_of(value: str | float) -> Importance:
    """A level by name, or by a number in [0, 1].

    Raises:
        ValueError: there is no such level.
    """
    if isinstance(value, str):
        return cast("Importance", Importance.Value(f"IMPORTANCE_{value.upper()}"))
    if value < IMPORTANCE_LOW_BELOW:
        return Importance.IMPORTANCE_LOW
    if value < IMPORTANCE_MEDIUM_BELOW:
        return Importance.IMPORTANCE_MEDIUM
    return Importance.IMPORTANCE_HIGH
