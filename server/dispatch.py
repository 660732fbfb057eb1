"""From the wire to handlers and back.

Credentials, admission, parsing, metrics, logging and errors, once for every method.

Requests arrive as bytes, so that malformed ones get INVALID_ARGUMENT instead of the runtime's
INTERNAL, and so that nothing is decoded for a call that is not admitted: whoever has no credential
learns nothing, not even whether a method works. A method that is not registered here is not served.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from recalld.server import logs, queues, status, wire
from recalld.server.admission import Gate
from recalld.server.call import Call, open_call
from recalld.server.clock import Clock
from recalld.server.credentials import Credentials
from recalld.server.errors import NotOffered
from recalld.server.metrics import CALLS, Metrics
from recalld.server.names import new_name
from recalld.server.quotas import CallRate

UnaryHandler = Callable[[Any, Call], Awaitable[Message | bytes]]
StreamHandler = Callable[[Any, Call], AsyncIterator[Message]]


@dataclass(frozen=True, slots=True)
class Method:
    """What a descriptor says of a method, looked up once and not for each call.

    Attributes:
        service: full name of its service.
        name: its own.
        full_name: the one that permissions know it by.
        request_class: of its requests.
    """

    service: str
    name: str
    full_name: str
    request_class: type[Message]


def method_of(descriptor: MethodDescriptor) -> Method:
    """The method of a descriptor."""
    service, name = descriptor.containing_service.full_name, descriptor.name
    return Method(service, name, f"{service}/{name}", GetMessageClass(descriptor.input_type))


@dataclass(frozen=True, slots=True)
class Door:
    """What stands between a call and its handler, in this order.

    Attributes:
        credentials: who asks, and whether that one may call the method.
        gate: whether there is room.
        rate: whether the tenant has calls left.
    """

    credentials: Credentials
    gate: Gate
    rate: CallRate


class Dispatcher:
    """Makes gRPC handlers of plain coroutines `handler(request, call) -> response`.

    A response is a message, or the bytes of one where a handler encodes it cheaper by itself.
    """

    def __init__(
        self, *, clock: Clock, door: Door, metrics: Metrics, log: Any, test_clock: bool
    ) -> None:
        """Bind what every call needs."""
        self._clock = clock
        self._door = door
        self._metrics = metrics
        self._waited = metrics.waited.labels(CALLS).observe
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
        for item in descriptor.methods:
            handler, method = handlers.get(item.name), method_of(item)
            if handler is None:
                table[item.name] = self._not_offered(item, method)
            elif item.server_streaming:
                table[item.name] = grpc.unary_stream_rpc_method_handler(
                    self._stream(method, handler)
                )
            else:
                table[item.name] = grpc.unary_unary_rpc_method_handler(self._unary(method, handler))
        return grpc.method_handlers_generic_handler(descriptor.full_name, table)

    def _unary(self, method: Method, handler: UnaryHandler) -> Callable[..., Awaitable[bytes]]:
        """The whole life of a unary call."""
        gate = self._door.gate

        async def answer(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
            started_s = self._clock.monotonic_s()
            call: Call | None = None
            try:
                call = self._open(method, context)
                gate.enter(call.tenant)
                try:
                    await self._begin(call)
                    response = await handler(wire.parse(method.request_class, body), call)
                    data = wire.encode(response)
                finally:
                    gate.leave(call.tenant)
                self._count(method, "OK", started_s)
                return data
            except asyncio.CancelledError:
                self._count(method, "CANCELLED", started_s)
                raise
            except Exception as error:
                return await self._fail(error, method, call, context, started_s)

        return answer

    def _stream(
        self, method: Method, handler: StreamHandler
    ) -> Callable[..., AsyncIterator[bytes]]:
        """The whole life of a server-streaming call."""
        gate = self._door.gate

        async def answer(body: bytes, context: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
            started_s = self._clock.monotonic_s()
            call: Call | None = None
            try:
                call = self._open(method, context)
                gate.enter(call.tenant)
                try:
                    await self._begin(call)
                    async for response in handler(wire.parse(method.request_class, body), call):
                        yield response.SerializeToString()
                finally:
                    gate.leave(call.tenant)
                self._count(method, "OK", started_s)
            except (asyncio.CancelledError, GeneratorExit):
                self._count(method, "CANCELLED", started_s)
                raise
            except Exception as error:
                await self._fail(error, method, call, context, started_s)

        return answer

    def _not_offered(self, descriptor: MethodDescriptor, method: Method) -> grpc.RpcMethodHandler:
        """A method of the contract that answers UNIMPLEMENTED."""
        name = descriptor.full_name
        error = NotOffered(
            f"{name} is in the contract, but this server version does not offer it yet"
        )

        async def refuse(_: Any, context: grpc.aio.ServicerContext) -> bytes:
            await self.require_credential(method, context)
            return await self._fail(error, method, None, context, self._clock.monotonic_s())

        if descriptor.client_streaming:
            return grpc.stream_stream_rpc_method_handler(refuse)
        if descriptor.server_streaming:
            return grpc.unary_stream_rpc_method_handler(refuse)
        return grpc.unary_unary_rpc_method_handler(refuse)

    async def require_credential(self, method: Method, context: grpc.aio.ServicerContext) -> None:
        """End a call that may not call a method, for methods that are answered elsewhere."""
        try:
            self._open(method, context)
        except Exception as error:
            await self._fail(error, method, None, context, self._clock.monotonic_s())

    def _open(self, method: Method, context: grpc.aio.ServicerContext) -> Call:
        """The call of somebody who may make it."""
        identity = self._door.credentials.admit(method.full_name, context)
        pause = self._door.gate.pause
        return open_call(context, identity, self._clock, pause, test_clock=self._test_clock)

    async def _begin(self, call: Call) -> None:
        """Count the call, and wait for its tenant's turn."""
        self._door.rate.take(call.tenant)
        entered_s = self._clock.monotonic_s()
        await self._door.gate.turn(call.tenant)
        self._waited(self._clock.monotonic_s() - entered_s)
        call.check_deadline()

    async def _fail(
        self,
        error: Exception,
        method: Method,
        call: Call | None,
        context: grpc.aio.ServicerContext,
        started_s: float,
    ) -> bytes:
        """End the call with the status of `error`.

        Log where it came from when it is a fault of the server.
        """
        request_id = (call.request_id if call else "") or new_name()
        failure = status.translate(error, request_id)
        name = f"{method.service}.{method.name}"
        self._count(method, failure.code.name, started_s)
        queues.count_refusal(self._metrics, error)
        if failure.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.DATA_LOSS):
            self._log.error(
                "call failed",
                method=name,
                request_id=request_id,
                fault=logs.fault(error),
            )
        else:
            self._log.debug(
                "call refused",
                method=name,
                request_id=request_id,
                code=failure.code.name,
            )
        await context.abort(failure.code, failure.message, failure.trailing_metadata())
        raise AssertionError("abort always raises")

    def _count(self, method: Method, code: str, started_s: float) -> None:
        """Add a finished call to the metrics."""
        elapsed_s = self._clock.monotonic_s() - started_s
        self._metrics.count_call(method.service, method.name, code, elapsed_s)
