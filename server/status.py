"""From exception classes to gRPC statuses.

The one table, and the only place where statuses are made.

Every status carries one ErrorInfo (domain `recalld`), BadRequest where a field is at fault,
RetryInfo where a retry helps. Texts of unknown exceptions never leave the server.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import grpc
from google.protobuf import duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from recalld.index import errors as index_errors
from recalld.scoring import errors as scoring_errors
from recalld.server import errors as server_errors
from recalld.storage import errors as storage_errors
from recalld.v1 import errors_pb2

DOMAIN = "recalld"
DETAILS_KEY = "grpc-status-details-bin"
RETRY_AFTER_DEFAULT_S = 0.2

Code = grpc.StatusCode
Reason = errors_pb2.ErrorReason

TABLE: dict[type[Exception], tuple[grpc.StatusCode, int]] = {
    server_errors.ContradictoryFilter: (
        Code.INVALID_ARGUMENT,
        Reason.ERROR_REASON_CONTRADICTORY_FILTER,
    ),
    server_errors.SensitiveData: (Code.INVALID_ARGUMENT, Reason.ERROR_REASON_SENSITIVE_DATA),
    server_errors.SealKeyMissing: (
        Code.FAILED_PRECONDITION,
        Reason.ERROR_REASON_SEAL_KEY_MISSING,
    ),
    server_errors.InvalidPageToken: (Code.INVALID_ARGUMENT, Reason.ERROR_REASON_INVALID_PAGE_TOKEN),
    server_errors.InvalidRequest: (Code.INVALID_ARGUMENT, Reason.ERROR_REASON_INVALID_FIELD),
    server_errors.EtagMismatch: (Code.ABORTED, Reason.ERROR_REASON_ETAG_MISMATCH),
    server_errors.RequestIdReused: (Code.ALREADY_EXISTS, Reason.ERROR_REASON_REQUEST_ID_REUSED),
    server_errors.RevisionNotReached: (
        Code.FAILED_PRECONDITION,
        Reason.ERROR_REASON_REVISION_NOT_REACHED,
    ),
    server_errors.TraceNotFound: (Code.NOT_FOUND, Reason.ERROR_REASON_TRACE_NOT_FOUND),
    server_errors.NotReady: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
    server_errors.Overloaded: (Code.RESOURCE_EXHAUSTED, Reason.ERROR_REASON_OVERLOADED),
    server_errors.DeadlinePassed: (Code.DEADLINE_EXCEEDED, Reason.ERROR_REASON_DEADLINE_EXCEEDED),
    server_errors.NotOffered: (Code.UNIMPLEMENTED, Reason.ERROR_REASON_UNIMPLEMENTED),
    server_errors.PermissionDenied: (Code.PERMISSION_DENIED, Reason.ERROR_REASON_PERMISSION_DENIED),
    server_errors.Unauthenticated: (Code.UNAUTHENTICATED, Reason.ERROR_REASON_UNAUTHENTICATED),
    server_errors.QuotaExceeded: (Code.RESOURCE_EXHAUSTED, Reason.ERROR_REASON_QUOTA_EXCEEDED),
    storage_errors.MemoryNotFound: (Code.NOT_FOUND, Reason.ERROR_REASON_MEMORY_NOT_FOUND),
    storage_errors.MemoryExists: (Code.ALREADY_EXISTS, Reason.ERROR_REASON_ALREADY_EXISTS),
    storage_errors.StoreBusy: (Code.RESOURCE_EXHAUSTED, Reason.ERROR_REASON_OVERLOADED),
    storage_errors.StoreClosed: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
    storage_errors.SnapshotNotFound: (Code.NOT_FOUND, Reason.ERROR_REASON_SNAPSHOT_NOT_FOUND),
    storage_errors.SnapshotExists: (Code.ALREADY_EXISTS, Reason.ERROR_REASON_ALREADY_EXISTS),
    storage_errors.SnapshotDamaged: (Code.DATA_LOSS, Reason.ERROR_REASON_CORRUPT),
    storage_errors.CopyFailed: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
    storage_errors.EraseFailed: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
    storage_errors.StoreFailed: (Code.FAILED_PRECONDITION, Reason.ERROR_REASON_READ_ONLY),
    storage_errors.StoreFull: (Code.RESOURCE_EXHAUSTED, Reason.ERROR_REASON_STORAGE_FULL),
    storage_errors.StoreReadOnly: (Code.FAILED_PRECONDITION, Reason.ERROR_REASON_READ_ONLY),
    storage_errors.FileRefused: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
    storage_errors.FormatTooNew: (Code.FAILED_PRECONDITION, Reason.ERROR_REASON_FORMAT_TOO_NEW),
    storage_errors.Corrupt: (Code.DATA_LOSS, Reason.ERROR_REASON_CORRUPT),
    index_errors.EmbedderMismatch: (
        Code.FAILED_PRECONDITION,
        Reason.ERROR_REASON_EMBEDDER_MISMATCH,
    ),
    index_errors.BadVector: (Code.INVALID_ARGUMENT, Reason.ERROR_REASON_INVALID_FIELD),
    index_errors.EmbedQueueFull: (Code.RESOURCE_EXHAUSTED, Reason.ERROR_REASON_OVERLOADED),
    index_errors.EmbedderClosed: (Code.UNAVAILABLE, Reason.ERROR_REASON_NOT_READY),
}

INTERNAL_ONLY: frozenset[type[Exception]] = frozenset(
    {
        server_errors.ServerError,
        server_errors.ConfigError,
        server_errors.AddressInUse,
        storage_errors.StorageError,
        storage_errors.InvalidBatch,
        storage_errors.StaleRevision,
        storage_errors.DirectoryLocked,
        index_errors.IndexLayerError,
        index_errors.ModelMissing,
        index_errors.ModelInvalid,
        index_errors.ModelBuildFailed,
        index_errors.PairsInvalid,
        index_errors.CatalogueInvalid,
        index_errors.BadLabel,
        index_errors.BadPlan,
        scoring_errors.ScoringError,
        scoring_errors.BadScoringInput,
    }
)
"""Raised only at start-up, or faults of the server itself: a caller sees INTERNAL."""

RETRIABLE = frozenset({Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Failure:
    """A status ready to be sent."""

    code: grpc.StatusCode
    message: str
    details: bytes

    def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        """The metadata in which clients find the details."""
        return ((DETAILS_KEY, self.details),)


def lookup(error: Exception) -> tuple[grpc.StatusCode, int] | None:
    """The row of the nearest class of `error`; None when it has none."""
    for cls in type(error).__mro__:
        if cls in TABLE:
            return TABLE[cls]
    return None


def translate(error: Exception, request_id: str) -> Failure:
    """Make the status of an exception.

    Args:
        error: what was raised.
        request_id: id under which the log holds the call.

    Returns:
        The status; INTERNAL with a general text when the class has no row.
    """
    row = lookup(error)
    if row is None:
        code, reason = Code.INTERNAL, Reason.ERROR_REASON_INTERNAL
        message = f"internal error; the server's log holds it under request id {request_id}"
    else:
        code, reason = row
        message = str(error)
    metadata = {"request_id": request_id}
    if isinstance(error, server_errors.SensitiveData):
        metadata |= {"field": error.field, "sensitive_class": error.sensitive_class}
    details: list[Message] = [
        error_details_pb2.ErrorInfo(
            reason=Reason.Name(reason).removeprefix("ERROR_REASON_"),
            domain=DOMAIN,
            metadata=metadata,
        )
    ]
    if isinstance(error, server_errors.InvalidRequest):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.problem
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, server_errors.QuotaExceeded):
        used_up = error_details_pb2.QuotaFailure.Violation(
            subject=error.quota, description=error.problem
        )
        details.append(error_details_pb2.QuotaFailure(violations=[used_up]))
    if code in RETRIABLE:
        delay_s = float(getattr(error, "retry_after_s", RETRY_AFTER_DEFAULT_S))
        fraction, whole = math.modf(delay_s)
        delay = duration_pb2.Duration(seconds=int(whole), nanos=int(fraction * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return Failure(code, message, status.SerializeToString())
