"""Calls without a network: a context as the runtime gives it, and what a refused call says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import grpc

from recalld.server.dispatch import Dispatcher
from recalld.server.services import SERVICES


class Aborted(Exception):
    """Raised where the runtime would end the call."""

    def __init__(self, code: grpc.StatusCode, message: str, trailers: Any) -> None:
        super().__init__(message)
        self.code_ = code
        self.message = message
        self.trailers = tuple(trailers)

    def code(self) -> grpc.StatusCode:
        return self.code_

    def details(self) -> str:
        return self.message

    def trailing_metadata(self) -> Any:
        return self.trailers


class FakeContext:
    """What handlers use of a servicer context."""

    def __init__(
        self,
        *,
        token: str | None = None,
        metadata: Iterable[tuple[str, str | bytes]] = (),
        names: Iterable[bytes] | None = None,
    ) -> None:
        given = () if token is None else (("authorization", f"Bearer {token}"),)
        self._metadata = (*given, *metadata)
        self._names = None if names is None else tuple(names)

    def invocation_metadata(self) -> Any:
        return self._metadata

    def peer_identities(self) -> Any:
        return self._names

    def time_remaining(self) -> float | None:
        return None

    async def abort(self, code: grpc.StatusCode, message: str, trailers: Any) -> NoReturn:
        raise Aborted(code, message, trailers)


class HandlersOf:
    """The raw handlers of every method, behind the dispatcher: bytes in, bytes out."""

    def __init__(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        self._handlers = list(handlers)

    def _find(self, path: str) -> Any:
        class Details:
            method = path
            invocation_metadata = ()

        found = (handler.service(Details()) for handler in self._handlers)  # type: ignore[arg-type]
        return next(one for one in found if one is not None)

    async def call(self, path: str, body: bytes, context: FakeContext) -> list[bytes]:
        """Every answer of one call.

        Raises:
            Aborted: the call failed.
        """
        handler = self._find(path)
        if handler.response_streaming:
            streamed = (handler.stream_stream or handler.unary_stream)(body, context)
            if hasattr(streamed, "__aiter__"):
                return [answer async for answer in streamed]
            return [await streamed]
        return [await handler.unary_unary(body, context)]


def paths() -> list[str]:
    """`/package.Service/Method` of every method of the contract."""
    return [
        f"/{service.full_name}/{method.name}"
        for service, _ in SERVICES
        for method in service.methods
    ]


def served(table: Callable[[Dispatcher], Iterable[Any]], dispatcher: Dispatcher) -> HandlersOf:
    """The handlers of a service table behind a dispatcher."""
    return HandlersOf(table(dispatcher))
