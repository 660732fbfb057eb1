"""From the wire to handlers: admission, parsing, errors and what the log may hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from recalld.server import logs, metrics
from recalld.server.admission import Gate
from recalld.server.call import Call
from recalld.server.credentials import Credentials
from recalld.server.dispatch import Dispatcher, Door
from recalld.server.errors import InvalidRequest
from recalld.server.quotas import CallRate
from recalld.server.sections import QuotasSection
from recalld.server.services import SERVICES
from recalld.storage.errors import Corrupt
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import FixedClock
from tests.server.stubs import Refusal, Stubs, refusal_of, taken_apart

SECRET = "allergic to peanuts"
SERVICE = "recalld.v1.MemoryService"


class Handlers:
    """Handlers that do what a test tells them."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.may_go = asyncio.Event()
        self.calls: list[Call] = []

    async def get(self, _request: pb.GetMemoryRequest, call: Call) -> Message:
        self.calls.append(call)
        if self.error is not None:
            raise self.error
        await self.may_go.wait()
        return pb.GetMemoryResponse()

    async def export(
        self, _request: pb.ExportMemoriesRequest, _call: Call
    ) -> AsyncIterator[Message]:
        yield pb.ExportMemoriesResponse()
        if self.error is not None:
            raise self.error
        yield pb.ExportMemoriesResponse()


class Served:
    """A gRPC server over a dispatcher, and a channel to it."""

    def __init__(self, gate: Gate, handlers: Handlers, channel: grpc.aio.Channel) -> None:
        self.gate = gate
        self.handlers = handlers
        self.channel = channel
        self.metrics = metrics.create()

    def call(self, method: str = "GetMemory", body: bytes = b"", **metadata: str) -> Any:
        pairs = tuple((name.replace("_", "-"), value) for name, value in metadata.items())
        multi = self.channel.unary_unary(f"/{SERVICE}/{method}")
        return multi(body, timeout=20, metadata=pairs)

    async def refusal(self, *args: Any, **kwargs: Any) -> Refusal:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.call(*args, **kwargs)
        return taken_apart(caught.value)


@contextlib.asynccontextmanager
async def serving(
    *, in_flight_max: int = 8, test_clock: bool = False, calls_per_s: float = 0.0
) -> AsyncIterator[Served]:
    """A server on a free port; its log goes to standard error."""
    gate = Gate(in_flight_max, is_open=True)
    handlers, clock = Handlers(), FixedClock()
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        served = Served(gate, handlers, channel)
        dispatcher = Dispatcher(
            clock=clock,
            door=Door(
                Credentials(clock), gate, CallRate(QuotasSection(calls_per_s=calls_per_s), clock)
            ),
            metrics=served.metrics,
            log=logs.configure("debug"),
            test_clock=test_clock,
        )
        table = {"GetMemory": handlers.get, "ExportMemories": handlers.export}
        descriptor = pb.DESCRIPTOR.services_by_name["MemoryService"]
        server.add_generic_rpc_handlers((dispatcher.service(descriptor, table),))
        await server.start()
        yield served
        handlers.may_go.set()
        await server.stop(None)


async def test_over_the_limit() -> None:
    """A call over the limit is refused at once with a delay, and those inside are answered."""
    async with serving(in_flight_max=3) as served:
        inside = [asyncio.ensure_future(served.call()) for _ in range(3)]
        while served.gate.in_flight < 3:
            await asyncio.sleep(0.005)
        refusal = await served.refusal()
        assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (refusal.reason, refusal.domain) == ("OVERLOADED", "recalld")
        assert refusal.retry_after_s == pytest.approx(0.1)
        served.handlers.may_go.set()
        assert await asyncio.gather(*inside) == [b""] * 3
        assert await served.call() == b""
        assert served.gate.in_flight == 0


async def test_over_the_quota() -> None:
    """A call over the tenant's rate is refused with its delay, and leaves its place inside."""
    async with serving(calls_per_s=2) as served:
        served.handlers.may_go.set()
        assert [await served.call() for _ in range(2)] == [b""] * 2
        refusal = await served.refusal()
        assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.reason == "QUOTA_EXCEEDED"
        assert refusal.retry_after_s is not None and 0 < refusal.retry_after_s <= 0.5
        assert served.gate.in_flight == 0


async def test_not_ready() -> None:
    """While the gate is closed every call says UNAVAILABLE and when to come again."""
    async with serving() as served:
        served.gate.is_open = False
        refusal = await served.refusal()
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_READY")
        assert refusal.retry_after_s == pytest.approx(1.0)


async def test_cancelled_calls_leave() -> None:
    """A caller that goes away makes room for the next one."""
    async with serving(in_flight_max=1) as served:
        for _ in range(3):
            call = served.call()
            while served.gate.in_flight < 1:
                await asyncio.sleep(0.005)
            call.cancel()
            while served.gate.in_flight:
                await asyncio.sleep(0.005)
        assert len(served.handlers.calls) == 3


@pytest.mark.parametrize("method", ["GetMemory", "ExportMemories"])
async def test_faults_say_nothing(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault is INTERNAL; neither the caller nor the log learns the text of its message."""
    async with serving() as served:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            served.handlers.error = ValueError(f"cannot parse {SECRET}")
            served.handlers.error.__cause__ = error
        if method == "GetMemory":
            refusal = await served.refusal(x_request_id="r-17")
        else:
            stream = served.channel.unary_stream(f"/{SERVICE}/{method}")
            call = stream(b"", timeout=20, metadata=(("x-request-id", "r-17"),))
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                assert [item async for item in call]
            refusal = taken_apart(caught.value)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
        assert "r-17" in refusal.message
        assert SECRET not in refusal.message
        await asyncio.wait_for(served.gate.idle.wait(), 5)
    log = capsys.readouterr().err
    assert SECRET not in log
    [entry] = [json.loads(line) for line in log.splitlines() if '"error"' in line]
    assert (entry["request_id"], entry["method"]) == ("r-17", f"{SERVICE}.{method}")
    assert [item["class"] for item in entry["fault"]] == [
        "builtins.ValueError",
        "builtins.KeyError",
    ]
    assert "test_dispatch.py" in entry["fault"][0]["frames"][-1]


async def test_own_faults_keep_their_message(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log holds the message of an error of our own layers, which never quotes a memory."""
    async with serving() as served:
        served.handlers.error = Corrupt(tmp_path / "data.db", "checksum differs")
        refusal = await served.refusal()
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.DATA_LOSS, "CORRUPT")
    assert "data.db: checksum differs" in capsys.readouterr().err


async def test_refusals_are_no_faults(capsys: pytest.CaptureFixture[str]) -> None:
    """A caller's mistake is told to the caller and is no error in the log."""
    async with serving() as served:
        served.handlers.error = InvalidRequest("key", "must not be blank")
        refusal = await served.refusal()
        assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
        assert (refusal.fields, refusal.problems) == (["key"], ["must not be blank"])
    assert '"error"' not in capsys.readouterr().err


async def test_bytes_that_are_no_message() -> None:
    """Bytes that do not parse are INVALID_ARGUMENT and reach no handler."""
    async with serving() as served:
        refusal = await served.refusal(body=b"\x0a\xff")
        assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields == ["request"]
        assert served.handlers.calls == []


async def test_metadata() -> None:
    """The request id is the caller's, else one made for errors; the clock is set in test mode."""
    async with serving(test_clock=True) as served:
        served.handlers.may_go.set()
        await served.call(x_request_id="r-1", recalld_now="1970-01-02T00:00:00Z")
        await served.call()
        first, second = served.handlers.calls
        assert (first.request_id, first.now_us) == ("r-1", 86_400_000_000)
        assert second.request_id == ""
        assert second.now_us == FixedClock().now_us()
        assert 15 < first.remaining_s() <= 21
        bad = await served.refusal(recalld_now="noon")
        assert bad.fields == ["metadata recalld-now"]
        long = await served.refusal(x_request_id="r" * 129)
        assert long.fields == ["metadata x-request-id"]
    async with serving() as served:
        refusal = await served.refusal(recalld_now="1970-01-02T00:00:00Z")
        assert refusal.code == grpc.StatusCode.PERMISSION_DENIED


async def test_calls_are_counted() -> None:
    """Finished calls are counted by method and code."""
    async with serving() as served:
        served.handlers.may_go.set()
        await served.call()
        await served.call()
        served.handlers.error = InvalidRequest("key", "is bad")
        await served.refusal()
        labels = {"grpc_service": SERVICE, "grpc_method": "GetMemory"}
        for code, count in (("OK", 2), ("INVALID_ARGUMENT", 1)):
            value = served.metrics.registry.get_sample_value(
                "grpc_server_handled_total", {**labels, "grpc_code": code}
            )
            assert value == count


def unfilled() -> list[Any]:
    """Methods of the contract that this version does not offer."""
    return [
        method
        for service, offered in SERVICES
        for method in service.methods
        if method.name not in offered
    ]


def test_unfilled_methods_say_so(stubs: Stubs) -> None:
    """Every method of the contract that is not offered yet says so by name, and nothing hangs."""
    for method in unfilled():
        path = f"/{method.containing_service.full_name}/{method.name}"
        if method.client_streaming:
            refusal = refusal_of(
                lambda p, **kw: [*stubs.channel.stream_stream(p)(iter(()), **kw)], path
            )
        else:
            refusal = refusal_of(stubs.channel.unary_unary(path), b"")
        assert refusal.code == grpc.StatusCode.UNIMPLEMENTED
        assert method.full_name in refusal.message
        assert refusal.reason == "UNIMPLEMENTED"


def test_unknown_methods(stubs: Stubs) -> None:
    """A method that no contract names is UNIMPLEMENTED."""
    refusal = refusal_of(stubs.channel.unary_unary("/recalld.v1.MemoryService/Guess"), b"")
    assert refusal.code == grpc.StatusCode.UNIMPLEMENTED
