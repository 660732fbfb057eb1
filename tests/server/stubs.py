"""Raw calls to a running server, and what a failed one says."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from recalld.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    memory_service_pb2_grpc,
    recall_service_pb2_grpc,
    session_service_pb2_grpc,
    types_pb2,
)

TIMEOUT_S = 30
MESSAGE_BYTES_MAX = 128 * 1024 * 1024


class Stubs:
    """Stubs of every service over one channel."""

    def __init__(self, target: str) -> None:
        options = (("grpc.max_send_message_length", MESSAGE_BYTES_MAX),)
        self.channel = grpc.insecure_channel(target, options)
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(self.channel)
        self.recall = recall_service_pb2_grpc.RecallServiceStub(self.channel)
        self.session = session_service_pb2_grpc.SessionServiceStub(self.channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channel)

    def raw(self, method: str, body: bytes, *, timeout: float = TIMEOUT_S) -> bytes:
        """Sends bytes as they are to `Service/Method`."""
        call = self.channel.unary_unary(f"/recalld.v1.{method}")
        answer: bytes = call(body, timeout=timeout)
        return answer

    def state(self, user: str) -> tuple[int, int]:
        """Memories of a user, and the tenant's revision."""
        request = admin_service_pb2.GetStatsRequest(scope=types_pb2.Scope(user_id=user))
        stats = self.admin.GetStats(request, timeout=TIMEOUT_S)
        return stats.memory_count, stats.revision

    def __enter__(self) -> Stubs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.channel.close()


@dataclass
class Refusal:
    """A failed call, taken apart."""

    code: grpc.StatusCode
    message: str
    reason: str = ""
    domain: str = ""
    fields: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    retry_after_s: float | None = None


def taken_apart(error: Any) -> Refusal:
    """What a failed call says, details included."""
    refusal = Refusal(error.code(), error.details() or "")
    trailers = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers.get("grpc-status-details-bin", b""))
    for packed in status.details:
        if packed.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo.FromString(packed.value)
            refusal.reason, refusal.domain = info.reason, info.domain
        elif packed.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            found = error_details_pb2.BadRequest.FromString(packed.value).field_violations
            refusal.fields += [violation.field for violation in found]
            refusal.problems += [violation.description for violation in found]
        elif packed.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            delay = error_details_pb2.RetryInfo.FromString(packed.value).retry_delay
            refusal.retry_after_s = delay.seconds + delay.nanos / 1e9
    return refusal


def refusal_of(call: Any, *args: Any, **kwargs: Any) -> Refusal:
    """Makes a call that has to fail and takes its failure apart."""
    kwargs.setdefault("timeout", TIMEOUT_S)
    try:
        answer = call(*args, **kwargs)
    except grpc.RpcError as error:
        return taken_apart(error)
    raise AssertionError(f"the call was answered: {answer}")
