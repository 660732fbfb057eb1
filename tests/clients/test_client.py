"""What both clients do when a server fails, is late, or goes away."""

from __future__ import annotations

import inspect
import time
from pathlib import Path

import grpc
import pytest

from recalld.client import AsyncClient, Client, NewMemory, Timeouts, errors
from recalld.v1 import memory_service_pb2, recall_service_pb2, types_pb2

from .conftest import FaultServer, Run, refuse

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


def test_both_clients_have_the_same_methods() -> None:
    """Every public method of one client exists in the other with the same parameters."""

    def methods(client_class: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in vars(client_class).items()
            if callable(member) and not name.startswith("_")
        }

    assert methods(Client) == methods(AsyncClient)


def test_unavailable_is_retried_with_one_request_id(fault_server: FaultServer, run: Run) -> None:
    """A write that meets UNAVAILABLE twice succeeds, and all attempts carry the same request id."""
    fault_server.script.extend([refuse(UNAVAILABLE, "NOT_READY")] * 2)
    assert run(fault_server.target, "remember", "text").id == "id-0"
    ids = {request.request_id for request in fault_server.requests}
    assert len(fault_server.requests) == 3
    assert len(ids) == 1
    assert len(ids.pop()) == 32
    assert fault_server.metadata[2]["grpc-previous-rpc-attempts"] == "2"


def test_two_writes_have_two_request_ids(fault_server: FaultServer, run: Run) -> None:
    """Each logical write gets its own request id, unless the caller gives one."""
    for options in ({}, {}, {"request_id": "mine"}):
        run(fault_server.target, "remember", "text", **options)
    ids = [request.request_id for request in fault_server.requests]
    assert len(set(ids)) == 3
    assert ids[2] == "mine"


def test_retries_of_unavailable_end_after_four_attempts(
    fault_server: FaultServer, run: Run
) -> None:
    """The fifth attempt never happens; the error says why the server refused."""
    fault_server.script.extend([refuse(UNAVAILABLE, "NOT_READY")] * 9)
    with pytest.raises(errors.NotReady):
        run(fault_server.target, "recall", "x", timeout=5.0)
    assert len(fault_server.requests) == 4


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.ABORTED])
def test_other_failures_are_not_retried(
    fault_server: FaultServer, run: Run, code: grpc.StatusCode
) -> None:
    """An error other than UNAVAILABLE reaches the caller after one attempt."""
    fault_server.script.append(refuse(code))
    with pytest.raises(errors.RecalldError):
        run(fault_server.target, "remember", "text")
    assert len(fault_server.requests) == 1


def test_overload_is_retried_when_the_delay_fits(fault_server: FaultServer, run: Run) -> None:
    """RESOURCE_EXHAUSTED with RetryInfo is retried after that delay, with the same request id."""
    fault_server.script.append(refuse(EXHAUSTED, "OVERLOADED", retry_after_s=0.2))
    started_s = time.monotonic()
    assert run(fault_server.target, "remember", "text").revision == 7
    assert time.monotonic() - started_s >= 0.2
    assert len({request.request_id for request in fault_server.requests}) == 1


def test_overload_beyond_the_deadline_is_raised(fault_server: FaultServer, run: Run) -> None:
    """An overload whose delay does not fit is raised at once, with the delay on the error."""
    fault_server.script.append(refuse(EXHAUSTED, "OVERLOADED", retry_after_s=30.0))
    with pytest.raises(errors.Overloaded) as caught:
        run(fault_server.target, "recall", "x")
    assert caught.value.retry_after_s == 30.0
    assert len(fault_server.requests) == 1


def test_deadline_is_kept(fault_server: FaultServer, run: Run) -> None:
    """A late answer raises DeadlineExceeded when the deadline passes, not later."""
    fault_server.script.append(lambda _request, _context: time.sleep(2.0))
    started_s = time.monotonic()
    with pytest.raises(errors.DeadlineExceeded):
        run(fault_server.target, "recall", "x", timeout=0.25)
    assert 0.2 <= time.monotonic() - started_s < 1.5


def test_deadline_follows_the_class_of_the_call(fault_server: FaultServer, run: Run) -> None:
    """Reads and writes carry their own default deadlines; `timeout` replaces them."""
    connect = {"timeouts": Timeouts(recall_s=20.0, write_s=40.0)}
    run(fault_server.target, "recall", "x", connect=connect)
    run(fault_server.target, "remember", "x", connect=connect)
    run(fault_server.target, "recall", "x", connect=connect, timeout=80.0)
    assert [round(seconds, -1) for seconds in fault_server.remaining_s] == [20.0, 40.0, 80.0]


def test_scope_and_metadata_are_sent(fault_server: FaultServer, run: Run) -> None:
    """A call carries the client's scope, what the call overrides, the token and the user agent."""
    connect = {"agent_id": "a", "token": "secret"}
    run(fault_server.target, "recall", "x", connect=connect, user_id="v", session_id="s")
    expected = types_pb2.Scope(user_id="v", agent_id="a", session_id="s")
    assert fault_server.requests[0].scope == expected
    assert fault_server.metadata[0]["authorization"] == "Bearer secret"
    assert fault_server.metadata[0]["user-agent"].startswith("recalld-python/")


def test_unknown_argument_is_a_type_error(fault_server: FaultServer, run: Run) -> None:
    """A misspelt argument raises TypeError and sends nothing."""
    for method, args in (("recall", ["x"]), ("remember", ["x"]), ("list_page", []), ("get", ["i"])):
        with pytest.raises(TypeError):
            run(fault_server.target, method, *args, kindd="fact")
    with pytest.raises(TypeError, match="belongs into each NewMemory"):
        run(fault_server.target, "remember", [NewMemory(content="x")], kind="fact")
    assert fault_server.requests == []


def test_unix_socket(tmp_path: Path, run: Run) -> None:
    """Both clients reach a server on a unix socket, with a token."""
    server = FaultServer(f"unix:{tmp_path}/s")
    try:
        assert run(server.target, "remember", "x", connect={"token": "t"}).revision == 7
    finally:
        server.stop()


def test_a_client_outlives_its_server() -> None:
    """A call to a server that is gone fails before its deadline; one after its return works."""
    server = FaultServer()
    with Client(server.target, user_id="u") as client:
        client.remember("before")
        server.stop()
        started_s = time.monotonic()
        with pytest.raises(errors.Unavailable):
            client.recall("x", timeout=30.0)
        assert time.monotonic() - started_s < 5.0
        server = FaultServer(server.target)
        try:
            assert client.remember("after").revision == 7
        finally:
            server.stop()


def test_list_reads_page_by_page(fault_server: FaultServer, run: Run) -> None:
    """`list` follows the page tokens and keeps the order."""
    make = memory_service_pb2.ListMemoriesResponse
    fault_server.pages = {
        "": make(
            memories=[types_pb2.Memory(id="a"), types_pb2.Memory(id="b")], next_page_token="t"
        ),
        "t": make(memories=[types_pb2.Memory(id="c")]),
    }
    listed = run(fault_server.target, "list", page_size=2)
    assert [memory.id for memory in listed] == ["a", "b", "c"]
    assert [request.page_size for request in fault_server.requests] == [2, 2]


def test_export_falls_back_to_paging(fault_server: FaultServer, run: Run) -> None:
    """A server without the export stream is read through the list, all statuses but forgotten."""
    make = memory_service_pb2.ListMemoriesResponse
    fault_server.pages = {"": make(memories=[types_pb2.Memory(id="a")])}
    assert [memory.id for memory in run(fault_server.target, "export")] == ["a"]
    (request,) = fault_server.requests
    assert list(request.statuses) == [1, 2, 3, 4, 5]


def test_call_not_offered_is_unsupported(fault_server: FaultServer, run: Run) -> None:
    """A call that the server does not implement raises Unsupported."""
    with pytest.raises(errors.Unsupported):
        run(fault_server.target, "server_info")


def test_raw_call_fills_the_request_id(fault_server: FaultServer, run: Run) -> None:
    """`call` takes a wire request, leaves it as it is, and sends it with a request id."""
    request = recall_service_pb2.ReportUsageRequest(recall_id="r")
    with pytest.raises(errors.Unsupported):
        run(fault_server.target, "call", "RecallService/ReportUsage", request)
    assert request.request_id == ""
    wire = memory_service_pb2.RememberRequest()
    assert run(fault_server.target, "call", "MemoryService/Remember", wire).revision == 7
    assert len(fault_server.requests[0].request_id) == 32
    with pytest.raises(ValueError, match="no unary call"):
        run(fault_server.target, "call", "MemoryService/Ingest", wire)


def test_ready_waits_for_serving(fault_server: FaultServer, run: Run) -> None:
    """`ready` is False while the server says NOT_SERVING, and True once it serves."""
    assert run(fault_server.target, "ready", 0.3) is False
    fault_server.is_serving.set()
    assert run(fault_server.target, "ready", 5.0) is True


def test_ready_without_a_server_is_false(run: Run) -> None:
    """`ready` gives up at its time limit when nothing listens."""
    server = FaultServer()
    server.stop()
    started_s = time.monotonic()
    assert run(server.target, "ready", 0.4) is False
    assert time.monotonic() - started_s < 2.0
