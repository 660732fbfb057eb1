"""gRPC reflection behind the same door as every other method."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from recalld.server.dispatch import Dispatcher, method_of

METHOD = method_of(
    reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].methods_by_name[
        "ServerReflectionInfo"
    ]
)


class Reflection(reflection.aio.ReflectionServicer):
    """The library's servicer, for callers with a credential."""

    def __init__(self, names: Iterable[str], dispatcher: Dispatcher) -> None:
        """Answer for some services, to whom the dispatcher lets in."""
        super().__init__(names)
        self._dispatcher = dispatcher

    async def ServerReflectionInfo(
        self, request_iterator: AsyncIterable[Any], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[Any]:
        """Answer questions about the contract."""
        await self._dispatcher.require_credential(METHOD, context)
        async for answer in super().ServerReflectionInfo(request_iterator, context):
            yield answer


def add_to(server: grpc.aio.Server, names: Iterable[str], dispatcher: Dispatcher) -> None:
    """Serve reflection for these services and for itself."""
    servicer = Reflection((*names, reflection.SERVICE_NAME), dispatcher)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
