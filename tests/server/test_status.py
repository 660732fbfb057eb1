"""The table from exception classes to statuses."""

from __future__ import annotations

import inspect
from types import ModuleType

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from recalld.index import errors as index_errors
from recalld.scoring import errors as scoring_errors
from recalld.server import errors as server_errors
from recalld.server import status
from recalld.storage import errors as storage_errors
from recalld.v1 import errors_pb2

MODULES = (server_errors, index_errors, storage_errors, scoring_errors)
CODES_OF_REASONS = {
    "INVALID_ARGUMENT": {
        "INVALID_FIELD",
        "CONTRADICTORY_FILTER",
        "INVALID_PAGE_TOKEN",
        "SENSITIVE_DATA",
    },
    "NOT_FOUND": {"MEMORY_NOT_FOUND", "TRACE_NOT_FOUND", "SNAPSHOT_NOT_FOUND"},
    "ALREADY_EXISTS": {"ALREADY_EXISTS", "REQUEST_ID_REUSED"},
    "ABORTED": {"ETAG_MISMATCH"},
    "UNAVAILABLE": {"NOT_READY"},
    "RESOURCE_EXHAUSTED": {"OVERLOADED", "QUOTA_EXCEEDED", "STORAGE_FULL"},
    "FAILED_PRECONDITION": {
        "EMBEDDER_MISMATCH",
        "FORMAT_TOO_NEW",
        "REVISION_NOT_REACHED",
        "READ_ONLY",
        "SEAL_KEY_MISSING",
    },
    "DATA_LOSS": {"CORRUPT"},
    "UNIMPLEMENTED": {"UNIMPLEMENTED"},
    "UNAUTHENTICATED": {"UNAUTHENTICATED"},
    "PERMISSION_DENIED": {"PERMISSION_DENIED"},
    "DEADLINE_EXCEEDED": {"DEADLINE_EXCEEDED"},
}
"""From the comments of errors.proto."""


def classes(module: ModuleType) -> list[type[Exception]]:
    """Exception classes that a module defines."""
    return [
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Exception) and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_class_is_placed_once(module: ModuleType) -> None:
    """Every exception class of a layer has a row or is declared internal, and never both."""
    for cls in classes(module):
        assert (cls in status.TABLE) != (cls in status.INTERNAL_ONLY), cls


def test_rows_are_those_of_the_contract() -> None:
    """Every row pairs a reason with the code that the contract gives to it."""
    for cls, (code, reason) in status.TABLE.items():
        name = errors_pb2.ErrorReason.Name(reason).removeprefix("ERROR_REASON_")
        assert name in CODES_OF_REASONS[code.name], cls


def details(failure: status.Failure) -> list[object]:
    """The details of a failure, unpacked."""
    assert failure.trailing_metadata() == ((status.DETAILS_KEY, failure.details),)
    kinds = (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.RetryInfo,
    )
    packed = status_pb2.Status.FromString(failure.details)
    assert (packed.code, packed.message) == (failure.code.value[0], failure.message)
    return [k.FromString(p.value) for p in packed.details for k in kinds if p.Is(k.DESCRIPTOR)]


def test_error_info() -> None:
    """Every status says its reason, the domain and the request id."""
    failure = status.translate(storage_errors.MemoryNotFound("no such memory"), "r-7")
    [info] = details(failure)
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (info.reason, info.domain) == ("MEMORY_NOT_FOUND", "recalld")
    assert info.metadata["request_id"] == "r-7"
    assert failure.code == grpc.StatusCode.NOT_FOUND


def test_bad_request_names_the_field() -> None:
    """An invalid field comes back as a BadRequest violation with what is wrong."""
    failure = status.translate(server_errors.InvalidPageToken("page_token", "is unknown"), "r")
    info, bad = details(failure)
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert info.reason == "INVALID_PAGE_TOKEN"
    assert isinstance(bad, error_details_pb2.BadRequest)
    [violation] = bad.field_violations
    assert (violation.field, violation.description) == ("page_token", "is unknown")
    assert failure.message == "page_token: is unknown"


def test_sensitive_data_is_named_by_field_and_class() -> None:
    """Field and class stand in ErrorInfo, for clients that branch on them."""
    failure = status.translate(server_errors.SensitiveData("memory.content", "phone", "so"), "r")
    info, bad = details(failure)
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert info.reason == "SENSITIVE_DATA"
    assert dict(info.metadata) == {
        "request_id": "r",
        "field": "memory.content",
        "sensitive_class": "phone",
    }
    assert isinstance(bad, error_details_pb2.BadRequest)
    assert [violation.field for violation in bad.field_violations] == ["memory.content"]


@pytest.mark.parametrize(
    ("error", "delay_s"),
    [
        (server_errors.Overloaded("full"), 0.1),
        (server_errors.NotReady("loading"), 1.0),
        (storage_errors.StoreBusy("full"), 0.2),
        (index_errors.EmbedQueueFull("full"), 0.2),
    ],
)
def test_retry_info(error: Exception, delay_s: float) -> None:
    """Where a retry helps, the status says when."""
    retry = details(status.translate(error, "r"))[-1]
    assert isinstance(retry, error_details_pb2.RetryInfo)
    delay = retry.retry_delay
    assert delay.seconds + delay.nanos / 1e9 == pytest.approx(delay_s)


@pytest.mark.parametrize("error", [KeyError("Ann's secret"), index_errors.ModelMissing("/a/b")])
def test_unknown_errors_say_nothing(error: Exception) -> None:
    """An exception without a row is INTERNAL, and nothing of its text goes out."""
    failure = status.translate(error, "r-9")
    assert failure.code == grpc.StatusCode.INTERNAL
    assert "r-9" in failure.message
    assert b"secret" not in failure.details
    assert b"/a/b" not in failure.details
    [info] = details(failure)
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert info.reason == "INTERNAL"


def test_subclasses_take_the_nearest_row() -> None:
    """A class without a row of its own takes its nearest parent's."""

    class Special(server_errors.ContradictoryFilter):
        pass

    assert status.lookup(Special("f", "p")) == status.TABLE[server_errors.ContradictoryFilter]
