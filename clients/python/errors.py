"""Exceptions of the client: one class per reason that the server gives.

A failed call raises a subclass of `RecalldError`, decoded from the `google.rpc.Status` in the
trailing metadata; the grpc error it came from is its `__cause__`. Nothing here decides whether
to retry (see retry.py), and no exception carries the request or its content.

Catch by status (`NotFound`, `Unavailable`) or by reason (`MemoryNotFound`, `NotReady`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

ERROR_DOMAIN = "recalld"
DETAILS_METADATA_KEY = "grpc-status-details-bin"


class RecalldError(Exception):
    """A call failed.

    Attributes:
        code: gRPC status code name, for example `NOT_FOUND`.
        reason: Name of `recalld.v1.ErrorReason` without its prefix; empty when the failure did
            not come from a recalld server (for example when none is listening).
        message: The server's message.
        field: Path of the field at fault, for example `memories[0].content`; empty: none named.
        retry_after_s: Seconds to wait before another try; None: the server did not say.
        request_id: Id under which the server logged the call; empty: not sent.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        field: str = "",
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        """Keeps the parts; `str()` shows the message with reason and field."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.field = field
        self.retry_after_s = retry_after_s
        self.request_id = request_id

    def __str__(self) -> str:
        """Message, then reason or code in brackets, and the field where the message has it not."""
        is_named = self.message.startswith(f"{self.field}:")
        where = f", field {self.field}" if self.field and not is_named else ""
        return f"{self.message} ({self.reason or self.code}{where})"


class InvalidRequest(RecalldError):
    """Raised when the server refuses the request itself; repeating it cannot help."""


class InvalidField(InvalidRequest):
    """Raised when a field is missing, malformed or over its limit; `field` names it."""


class ContradictoryFilter(InvalidRequest):
    """Raised when the filter can match nothing."""


class InvalidPageToken(InvalidRequest):
    """Raised when a page token is unknown or belongs to another request."""


class SensitiveData(InvalidRequest):
    """Raised when the text holds data that the server's policy rejects."""


class NotFound(RecalldError):
    """Raised when what was named does not exist, or belongs to somebody else."""


class MemoryNotFound(NotFound):
    """Raised when there is no such memory for this user."""


class TraceNotFound(NotFound):
    """Raised when a recall trace was not kept."""


class SessionNotFound(NotFound):
    """Raised when there is no such session."""


class SnapshotNotFound(NotFound):
    """Raised when there is no such snapshot."""


class AlreadyExists(RecalldError):
    """Raised when the name is taken."""


class RequestIdReused(AlreadyExists):
    """Raised when a request_id was used before with another request body."""


class EtagMismatch(RecalldError):
    """Raised when the etag is not the current one: read the memory again, then retry."""


class Unavailable(RecalldError):
    """Raised when no server answers at the target, after the retries of the call."""


class NotReady(Unavailable):
    """Raised when the server is loading or draining."""


class ResourceExhausted(RecalldError):
    """Raised when a limit stands in the way, for example the size of a message."""


class Overloaded(ResourceExhausted):
    """Raised when a queue of the server is full; nothing was done."""


class QuotaExceeded(ResourceExhausted):
    """Raised when a quota of the tenant is used up."""


class StorageFull(ResourceExhausted):
    """Raised when the server's disk is full; it writes again by itself once there is room."""


class FailedPrecondition(RecalldError):
    """Raised when the server's state does not allow the call."""


class EmbedderMismatch(FailedPrecondition):
    """Raised when a vector was made by another model than the server's."""


class FormatTooNew(FailedPrecondition):
    """Raised when the data was written by a newer version."""


class RevisionNotReached(FailedPrecondition):
    """Raised when `min_revision` is ahead of what the server holds."""


class ReadOnly(FailedPrecondition):
    """Raised when the server refuses writes until its store is reopened."""


class SealKeyMissing(FailedPrecondition):
    """Raised when the server has no key for sealed data, or not the one it was sealed with."""


class Corrupt(RecalldError):
    """Raised when stored data failed a checksum or invariant."""


class Unsupported(RecalldError):
    """Raised when this server does not offer the call."""


class Unauthenticated(RecalldError):
    """Raised when the token is missing or not valid."""


class PermissionDenied(RecalldError):
    """Raised when the token's role does not allow the call."""


class DeadlineExceeded(RecalldError):
    """Raised when the deadline passed; a write may or may not have been done."""


class Cancelled(RecalldError):
    """Raised when the call was cancelled on the way."""


class Internal(RecalldError):
    """Raised when the server failed; `request_id` finds it in its log."""


BY_REASON: Mapping[str, type[RecalldError]] = {
    "INVALID_FIELD": InvalidField,
    "CONTRADICTORY_FILTER": ContradictoryFilter,
    "INVALID_PAGE_TOKEN": InvalidPageToken,
    "SENSITIVE_DATA": SensitiveData,
    "MEMORY_NOT_FOUND": MemoryNotFound,
    "TRACE_NOT_FOUND": TraceNotFound,
    "SESSION_NOT_FOUND": SessionNotFound,
    "SNAPSHOT_NOT_FOUND": SnapshotNotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "REQUEST_ID_REUSED": RequestIdReused,
    "ETAG_MISMATCH": EtagMismatch,
    "NOT_READY": NotReady,
    "OVERLOADED": Overloaded,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "STORAGE_FULL": StorageFull,
    "EMBEDDER_MISMATCH": EmbedderMismatch,
    "FORMAT_TOO_NEW": FormatTooNew,
    "REVISION_NOT_REACHED": RevisionNotReached,
    "READ_ONLY": ReadOnly,
    "CORRUPT": Corrupt,
    "SEAL_KEY_MISSING": SealKeyMissing,
    "UNIMPLEMENTED": Unsupported,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "INTERNAL": Internal,
}

# For failures without a reason: those of the channel itself, of proxies, and of newer servers.
BY_CODE: Mapping[str, type[RecalldError]] = {
    "INVALID_ARGUMENT": InvalidRequest,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ABORTED": EtagMismatch,
    "UNAVAILABLE": Unavailable,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "FAILED_PRECONDITION": FailedPrecondition,
    "DATA_LOSS": Corrupt,
    "UNIMPLEMENTED": Unsupported,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "CANCELLED": Cancelled,
    "INTERNAL": Internal,
}


def from_rpc(error: grpc.RpcError) -> RecalldError:
    """The typed exception of a grpc error, sync or aio. Raise it `from` the grpc error."""
    call: Any = error
    code: str = call.code().name
    metadata = dict(call.trailing_metadata() or ())
    reason, field, request_id, retry_after_s = "", "", "", None
    for detail in _details(metadata.get(DETAILS_METADATA_KEY)):
        if isinstance(detail, error_details_pb2.ErrorInfo) and detail.domain == ERROR_DOMAIN:
            reason = detail.reason
            request_id = detail.metadata.get("request_id", "")
        elif isinstance(detail, error_details_pb2.BadRequest) and detail.field_violations:
            field = detail.field_violations[0].field
        elif isinstance(detail, error_details_pb2.RetryInfo):
            retry_after_s = detail.retry_delay.ToTimedelta().total_seconds()
    error_class = BY_REASON.get(reason) or BY_CODE.get(code, RecalldError)
    return error_class(
        call.details() or code,
        code=code,
        reason=reason,
        field=field,
        retry_after_s=retry_after_s,
        request_id=request_id,
    )


def _details(raw: str | bytes | None) -> list[object]:
    """The known details of a serialised `google.rpc.Status`; nothing if it cannot be read."""
    if not isinstance(raw, bytes):
        return []
    known = (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.RetryInfo,
    )
    try:
        return [
            message_class.FromString(packed.value)
            for packed in status_pb2.Status.FromString(raw).details
            for message_class in known
            if packed.Is(message_class.DESCRIPTOR)
        ]
    except DecodeError:
        # The status code and message still tell the caller what happened.
        return []
