"""Typed errors, decoded from what a real grpc server sends."""

import grpc
import pytest

from recalld.client import Client, errors
from recalld.v1 import errors_pb2

from .conftest import FaultServer, refuse


def test_every_reason_has_a_class() -> None:
    """Each reason of the contract maps to an exception class, and no other name does."""
    reasons = {name.removeprefix("ERROR_REASON_") for name in errors_pb2.ErrorReason.keys()}  # noqa: SIM118
    assert set(errors.BY_REASON) == reasons - {"UNSPECIFIED"}


def test_details_are_decoded(fault_server: FaultServer) -> None:
    """Reason, field, request id and the grpc error arrive with the exception."""
    fault_server.script.append(
        refuse(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="query.text")
    )
    with (
        Client(fault_server.target, user_id="u") as client,
        pytest.raises(errors.InvalidField) as caught,
    ):
        client.recall("x")
    error = caught.value
    assert (error.code, error.reason, error.field) == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
        "query.text",
    )
    assert error.request_id == "r-17"
    assert isinstance(error.__cause__, grpc.RpcError)
    assert str(error) == "refused (INVALID_FIELD, field query.text)"


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND", errors.MemoryNotFound),
        (grpc.StatusCode.ABORTED, "ETAG_MISMATCH", errors.EtagMismatch),
        (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", errors.RequestIdReused),
        (grpc.StatusCode.FAILED_PRECONDITION, "EMBEDDER_MISMATCH", errors.EmbedderMismatch),
        (grpc.StatusCode.FAILED_PRECONDITION, "READ_ONLY", errors.ReadOnly),
        (grpc.StatusCode.PERMISSION_DENIED, "", errors.PermissionDenied),
        (grpc.StatusCode.UNIMPLEMENTED, "", errors.Unsupported),
        (grpc.StatusCode.NOT_FOUND, "A_REASON_OF_TOMORROW", errors.NotFound),
        (grpc.StatusCode.UNKNOWN, "", errors.RecalldError),
    ],
)
def test_reason_first_then_code(
    fault_server: FaultServer,
    code: grpc.StatusCode,
    reason: str,
    expected: type[errors.RecalldError],
) -> None:
    """The reason decides the class; without a known one the status code does."""
    fault_server.script.append(refuse(code, reason))
    with (
        Client(fault_server.target, user_id="u") as client,
        pytest.raises(errors.RecalldError) as caught,
    ):
        client.recall("x")
    assert type(caught.value) is expected


def test_broken_details_keep_code_and_message(fault_server: FaultServer) -> None:
    """Details that cannot be read do not hide the status."""

    def behave(_request: object, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata((("grpc-status-details-bin", b"\xff\xff"),))
        context.abort(grpc.StatusCode.NOT_FOUND, "gone")

    fault_server.script.append(behave)
    with (
        Client(fault_server.target, user_id="u") as client,
        pytest.raises(errors.NotFound, match="gone"),
    ):
        client.recall("x")


def test_the_field_is_said_once() -> None:
    """A message that starts with the field is not followed by the field again."""
    error = errors.InvalidField("k: is 500; the limits are 1 to 200", field="k", reason="R")
    assert str(error) == "k: is 500; the limits are 1 to 200 (R)"
    assert str(errors.InvalidField("key: is blank", field="k", reason="R")).endswith("(R, field k)")
