"""What a handler knows of the call it answers: who asks, until when, and what time it is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import grpc

from recalld.server.clock import Clock
from recalld.server.errors import DeadlinePassed, InvalidRequest, PermissionDenied
from recalld.server.limits import REQUEST_ID_BYTES_MAX
from recalld.server.permissions import DEFAULT_TENANT, Identity, Role
from recalld.server.pieces import Pieces, Turn, one_round
from recalld.server.screened import NOTHING, Screened
from recalld.server.times import parse_rfc3339

T = TypeVar("T")

CLOCK_KEY = "recalld-now"
REQUEST_ID_KEY = "x-request-id"


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class Call:
    """One call.

    Attributes:
        tenant: from the credential.
        is_admin: whether the credential has the admin role.
        request_id: of the log, not of idempotency; "" = the caller gave none.
        now_us: the clock of this call, microseconds since 1970.
        deadline_s: on the monotonic clock; inf without a deadline.
        clock: for durations.
        screened: what the filter of sensitive data did to the request.
        gone: set when the caller does not wait any more, though its deadline is not over.
        turn: waits until another piece of the call may run.
    """

    tenant: str
    is_admin: bool
    request_id: str
    now_us: int
    deadline_s: float
    clock: Clock
    screened: Screened = NOTHING
    gone: asyncio.Event = field(default_factory=asyncio.Event, compare=False)
    turn: Turn = field(default=one_round, compare=False)

    def pieces(self) -> Pieces:
        """Of long work of this call on the event loop; each task has its own."""
        return Pieces(self.clock, self.turn)

    @property
    def is_operator(self) -> bool:
        """Whether the credential is of whoever runs the server, for all tenants."""
        return self.is_admin and self.tenant == DEFAULT_TENANT

    def remaining_s(self) -> float:
        """Seconds until the caller's deadline; inf without one."""
        return self.deadline_s - self.clock.monotonic_s()

    def check_deadline(self) -> None:
        """Stop between stages when nobody waits for the answer any more.

        Raises:
            DeadlinePassed: the deadline is over, or the caller is gone.
        """
        if self.gone.is_set():
            raise DeadlinePassed("the caller does not wait for the answer any more")
        if self.remaining_s() <= 0:
            raise DeadlinePassed("the deadline passed before the answer was ready")

    async def in_time(self, pending: Future[T]) -> T:
        """What work on another thread gives; it is cancelled when nobody waits for it any more.

        Raises:
            DeadlinePassed: as `check_deadline`.
        """
        work = asyncio.wrap_future(pending)
        leaving = asyncio.create_task(self.gone.wait())
        timeout_s = None if math.isinf(self.deadline_s) else max(0.0, self.remaining_s())
        try:
            await asyncio.wait(
                (work, leaving), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not work.done():
                raise DeadlinePassed("the deadline passed before the answer was ready")
            return work.result()
        finally:
            work.cancel()
            leaving.cancel()


def open_call(
    context: grpc.aio.ServicerContext,
    identity: Identity,
    clock: Clock,
    turn: Callable[[str], Awaitable[None]],
    *,
    test_clock: bool,
) -> Call:
    """Read a call's metadata and deadline.

    Args:
        context: of the call.
        identity: whom its credential stands for.
        clock: of the server.
        turn: waits until another piece of a tenant's call may run.
        test_clock: whether callers may set the time.

    Raises:
        InvalidRequest: `recalld-now` is malformed.
        PermissionDenied: `recalld-now` is given to a server without a test clock.
    """
    request_id = ""
    now_us = 0
    for key, value in context.invocation_metadata() or ():
        if key == CLOCK_KEY:
            if not test_clock:
                raise PermissionDenied(
                    f"metadata {CLOCK_KEY}: this server does not run with a test clock"
                )
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
            now_us = parse_rfc3339(text, f"metadata {CLOCK_KEY}")
        elif key == REQUEST_ID_KEY:
            request_id = value if isinstance(value, str) else value.hex()
            if len(request_id) > REQUEST_ID_BYTES_MAX or not request_id.isprintable():
                raise InvalidRequest(
                    f"metadata {REQUEST_ID_KEY}",
                    f"must be printable, up to {REQUEST_ID_BYTES_MAX} bytes",
                )
    remaining = context.time_remaining()
    return Call(
        tenant=identity.tenant,
        is_admin=identity.role is Role.ADMIN,
        request_id=request_id,
        now_us=now_us or clock.now_us(),
        deadline_s=math.inf if remaining is None else clock.monotonic_s() + remaining,
        clock=clock,
        turn=partial(turn, identity.tenant),
    )
