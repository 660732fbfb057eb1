"""Servers for the client's tests: one that fails on purpose, and the real one."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from recalld.client import AsyncClient, Client
from recalld.client.testing import RunningServer
from recalld.v1 import (
    memory_service_pb2,
    memory_service_pb2_grpc,
    recall_service_pb2,
    recall_service_pb2_grpc,
)

Behaviour = Callable[[Any, grpc.ServicerContext], Any]


def refuse(
    code: grpc.StatusCode, reason: str = "", *, field: str = "", retry_after_s: float | None = None
) -> Behaviour:
    """A behaviour that fails the call, with details as the contract describes them."""

    def behave(_request: Any, context: grpc.ServicerContext) -> Any:
        details = []
        if reason:
            info = error_details_pb2.ErrorInfo(
                reason=reason, domain="recalld", metadata={"request_id": "r-17"}
            )
            details.append(info)
        if field:
            violation = error_details_pb2.BadRequest.FieldViolation(field=field)
            details.append(error_details_pb2.BadRequest(field_violations=[violation]))
        if retry_after_s is not None:
            delay = duration_pb2.Duration()
            delay.FromNanoseconds(round(retry_after_s * 1e9))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        packed = []
        for detail in details:
            packed.append(any_pb2.Any())
            packed[-1].Pack(detail)
        status = status_pb2.Status(code=code.value[0], message="refused", details=packed)
        if details:
            context.set_trailing_metadata(
                (("grpc-status-details-bin", status.SerializeToString()),)
            )
        context.abort(code, "refused")

    return behave


class FaultServer(
    memory_service_pb2_grpc.MemoryServiceServicer, recall_service_pb2_grpc.RecallServiceServicer
):
    """A grpc server on loopback that carries out a script, then answers emptily.

    Attributes:
        script: Behaviours of the next calls, first to last.
        requests: Requests received.
        metadata: Metadata of each call.
        remaining_s: Deadline of each call as it arrived.
    """

    def __init__(
        self, address: str = "127.0.0.1:0", credentials: grpc.ServerCredentials | None = None
    ) -> None:
        self.script: deque[Behaviour] = deque()
        self.requests: list[Any] = []
        self.metadata: list[dict[str, Any]] = []
        self.remaining_s: list[float] = []
        self.pages: dict[str, Any] = {}
        self.is_serving = threading.Event()
        self._server = grpc.server(
            futures.ThreadPoolExecutor(4), options=(("grpc.so_reuseport", 0),)
        )
        memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(self, self._server)
        recall_service_pb2_grpc.add_RecallServiceServicer_to_server(self, self._server)
        health = grpc.unary_unary_rpc_method_handler(
            lambda _request, _context: b"\x08\x01" if self.is_serving.is_set() else b"\x08\x02"
        )
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": health}),)
        )
        if credentials is None:
            port = self._server.add_insecure_port(address)
        else:
            port = self._server.add_secure_port(address, credentials)
        self.target = address if address.startswith("unix:") else f"127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        """Ends it at once."""
        self._server.stop(None).wait()

    def Recall(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Scripted."""
        return self._answer(request, context, recall_service_pb2.RecallResponse())

    def Remember(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Scripted."""
        results = [
            memory_service_pb2.RememberResult(id=f"id-{i}", outcome=1)  # type: ignore[arg-type]
            for i, _ in enumerate(request.memories)
        ]
        answer = memory_service_pb2.RememberResponse(results=results, revision=7)
        return self._answer(request, context, answer)

    def ListMemories(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The page of `pages` that the token names."""
        return self._answer(request, context, self.pages.get(request.page_token))

    def _answer(self, request: Any, context: grpc.ServicerContext, answer: Any) -> Any:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        self.remaining_s.append(context.time_remaining())
        if self.script:
            return self.script.popleft()(request, context) or answer
        return answer


Run = Callable[..., Any]


@pytest.fixture(params=["blocking", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs one method on a fresh client of either kind and gives its answer."""

    def blocking(target: str, method: str, *args: Any, connect: Any = None, **options: Any) -> Any:
        with Client(target, **{"user_id": "u", **(connect or {})}) as client:
            answer = getattr(client, method)(*args, **options)
            return list(answer) if inspect.isgenerator(answer) else answer

    def awaited(target: str, method: str, *args: Any, connect: Any = None, **options: Any) -> Any:
        async def main() -> Any:
            async with AsyncClient(target, **{"user_id": "u", **(connect or {})}) as client:
                answer = getattr(client, method)(*args, **options)
                if inspect.isasyncgen(answer):
                    return [item async for item in answer]
                return await answer

        return asyncio.run(main())

    return blocking if request.param == "blocking" else awaited


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """A fresh server that fails on purpose."""
    server = FaultServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def real_server(shared_server: RunningServer) -> RunningServer:
    """The real server, with the model-free embedder; each test has users of its own."""
    return shared_server
