"""What a handler knows of the call it answers: who asks, until when, and what time it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import grpc

from recalld.server.clock import Clock
from recalld.server.errors import DeadlinePassed, InvalidRequest, PermissionDenied
from recalld.server.limits import REQUEST_ID_BYTES_MAX
from recalld.server.permissions import DEFAULT_TENANT, Identity, Role
from recalld.server.times import parse_rfc3339

CLOCK_KEY = "recalld-now"
REQUEST_ID_KEY = "x-request-id"


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        tenant: from the credential.
        is_admin: whether the credential has the admin role.
        request_id: of the log, not of idempotency; "" = the caller gave none.
        now_us: the clock of this call, microseconds since 1970.
        deadline_s: on the monotonic clock; inf without a deadline.
        clock: for durations.
    """

    tenant: str
    is_admin: bool
    request_id: str
    now_us: int
    deadline_s: float
    clock: Clock

    @property
    def is_operator(self) -> bool:
        """Whether the credential is of whoever runs the server, for all tenants."""
        return self.is_admin and self.tenant == DEFAULT_TENANT

    def remaining_s(self) -> float:
        """Seconds until the caller's deadline; inf without one."""
        return self.deadline_s - self.clock.monotonic_s()

    def check_deadline(self) -> None:
        """Stop between stages when nobody waits for the answer any more."""
        if self.remaining_s() <= 0:
            raise DeadlinePassed("the deadline passed before the answer was ready")


def open_call(
    context: grpc.aio.ServicerContext, identity: Identity, clock: Clock, *, test_clock: bool
) -> Call:
    """Read a call's metadata and deadline.

    Args:
        context: of the call.
        identity: whom its credential stands for.
        clock: of the server.
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
    )
