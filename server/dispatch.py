"""From the wire to handlers and back.

Parsing, admission, metrics, logging and errors, once for every method.

Requests arrive as bytes, so that malformed ones get INVALID_ARGUMENT instead of the runtime's
INTERNAL, and so that nothing is decoded for a call that is not admitted. A method that is not
registered here is not served.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from recalld.server import logs, status, wire
from recalld.server.call import Call, open_call
from recalld.server.clock import Clock
from recalld.server.errors import NotOffered, NotReady, Overloaded
from recalld.server.metrics import Metrics

UnaryHandler = Callable[[Any, Call], Awaitable[Message]]
StreamHandler = Callable[[Any, Call], AsyncIterator[Message]]


@dataclass
class Gate:
    """Whether calls are let in, and how many are inside.

    Attributes:
        in_flight_max: more are refused.
        is_open: false while loading and draining.
        in_flight: calls inside.
        idle: set while nobody is inside.
    """

    in_flight_max: int
    is_open: bool = False
    in_flight: int = field(default=0, init=False)
    idle: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        """Start with nobody inside."""
        self.idle.set()

    def enter(self) -> None:
        """Let one call in.

        Raises:
            NotReady: loading or draining.
            Overloaded: too many calls are inside.
        """
        if not self.is_open:
            raise NotReady("the server is loading or shutting down")
        if self.in_flight >= self.in_flight_max:
            raise Overloaded(f"{self.in_flight_max} calls are in flight already")
        self.in_flight += 1
        self.idle.clear()

    def leave(self) -> None:
        """One call is done."""
        self.in_flight -= 1
        if not self.in_flight:
            self.idle.set()


class Dispatcher:
    """Makes gRPC handlers of plain coroutines `handler(request, call) -> response`."""

    def __init__(
        self, *, clock: Clock, gate: Gate, metrics: Metrics, log: Any, test_clock: bool
    ) -> None:
        """Bind what every call needs."""
        self._clock = clock
        self._gate = gate
        self._metrics = metrics
        self._log = log
        self._test_clock = test_clock

    def service(
        self, descriptor: ServiceDescriptor, handlers: dict[str, Any]
    ) -> grpc.GenericRpcHandler:
        """Handlers of one service; methods without one answer UNIMPLEMENTED with a clear text.

        Args:
            descriptor: the service.
            handlers: method name -> coroutine function, or async generator function for server
                streams.
        """
        unknown = handlers.keys() - {method.name for method in descriptor.methods}
        assert not unknown, f"no such methods in {descriptor.full_name}: {unknown}"
        table = {}
        for method in descriptor.methods:
            handler = handlers.get(method.name)
            if handler is None:
                table[method.name] = self._not_offered(method)
            elif method.server_streaming:
                table[method.name] = grpc.unary_stream_rpc_method_handler(
                    self._stream(method, handler)
                )
            else:
                table[method.name] = grpc.unary_unary_rpc_method_handler(
                    self._unary(method, handler)
                )
        return grpc.method_handlers_generic_handler(descriptor.full_name, table)

    def _unary(
        self, method: MethodDescriptor, handler: UnaryHandler
    ) -> Callable[..., Awaitable[bytes]]:
        """The whole life of a unary call."""
        request_class = GetMessageClass(method.input_type)

        async def answer(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
            started_s = self._clock.monotonic_s()
            call: Call | None = None
            try:
                self._gate.enter()
            except (NotReady, Overloaded) as error:
                return await self._fail(error, method, None, context, started_s)
            try:
                call = open_call(context, self._clock, test_clock=self._test_clock)
                response = await handler(wire.parse(request_class, body), call)
                data = response.SerializeToString()
                self._count(method, "OK", started_s)
                return data
            except asyncio.CancelledError:
                self._count(method, "CANCELLED", started_s)
                raise
            except Exception as error:
                return await self._fail(error, method, call, context, started_s)
            finally:
                self._gate.leave()

        return answer

    def _stream(
        self, method: MethodDescriptor, handler: StreamHandler
    ) -> Callable[..., AsyncIterator[bytes]]:
        """The whole life of a server-streaming call."""
        request_class = GetMessageClass(method.input_type)

        async def answer(body: bytes, context: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
            started_s = self._clock.monotonic_s()
            call: Call | None = None
            try:
                self._gate.enter()
            except (NotReady, Overloaded) as error:
                await self._fail(error, method, None, context, started_s)
            try:
                call = open_call(context, self._clock, test_clock=self._test_clock)
                async for response in handler(wire.parse(request_class, body), call):
                    yield response.SerializeToString()
                self._count(method, "OK", started_s)
            except (asyncio.CancelledError, GeneratorExit):
                self._count(method, "CANCELLED", started_s)
                raise
            except Exception as error:
                await self._fail(error, method, call, context, started_s)
            finally:
                self._gate.leave()

        return answer

    def _not_offered(self, method: MethodDescriptor) -> grpc.RpcMethodHandler:
        """A method of the contract that answers UNIMPLEMENTED."""
        error = NotOffered(
            f"{method.full_name} is in the contract, but this server version does not offer it yet"
        )

        async def refuse(_: Any, context: grpc.aio.ServicerContext) -> bytes:
            return await self._fail(error, method, None, context, self._clock.monotonic_s())

        if method.client_streaming:
            return grpc.stream_stream_rpc_method_handler(refuse)
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(refuse)
        return grpc.unary_unary_rpc_method_handler(refuse)

    async def _fail(
        self,
        error: Exception,
        method: MethodDescriptor,
        call: Call | None,
        context: grpc.aio.ServicerContext,
        started_s: float,
    ) -> bytes:
        """End the call with the status of `error`.

        Log where it came from when it is a fault of the server.
        """
        # Made only when there is something to tell: a random id costs more than a small recall.
        request_id = (call.request_id if call else "") or uuid.uuid4().hex
        failure = status.translate(error, request_id)
        self._count(method, failure.code.name, started_s)
        if failure.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.DATA_LOSS):
            self._log.error(
                "call failed",
                method=method.full_name,
                request_id=request_id,
                fault=logs.fault(error),
            )
        else:
            self._log.debug(
                "call refused",
                method=method.full_name,
                request_id=request_id,
                code=failure.code.name,
            )
        await context.abort(failure.code, failure.message, failure.trailing_metadata())
        raise AssertionError("abort always raises")

    def _count(self, method: MethodDescriptor, code: str, started_s: float) -> None:
        """Add a finished call to the metrics."""
        self._metrics.count_call(
            method.containing_service.full_name,
            method.name,
            code,
            self._clock.monotonic_s() - started_s,
        )
