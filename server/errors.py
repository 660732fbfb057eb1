"""Errors that the server itself raises.

`status.py` turns them, and those of the other layers, into gRPC statuses.
"""

from __future__ import annotations


class ServerError(Exception):
    """Base of the server's own errors."""


class InvalidRequest(ServerError):
    """Raised when a request field is missing, malformed or over its limit; names the field."""

    def __init__(self, field: str, problem: str) -> None:
        """Keep the field path (`memories[3].content`) apart from the problem."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class ContradictoryFilter(InvalidRequest):
    """Raised when a filter can match nothing whatever the data."""


class InvalidPageToken(InvalidRequest):
    """Raised when a page token is unknown or belongs to another request."""


class EtagMismatch(ServerError):
    """Raised when the caller's etag is not the memory's current one."""


class RequestIdReused(ServerError):
    """Raised when a request_id comes again with another request body."""


class RevisionNotReached(ServerError):
    """Raised when min_revision is ahead of what this server holds."""


class TraceNotFound(ServerError):
    """Raised when a recall has no kept trace, or its trace cannot tell of a memory any more."""


class NotReady(ServerError):
    """Raised while the server loads or drains; the caller may retry after `retry_after_s`."""

    retry_after_s = 1.0


class Overloaded(ServerError):
    """Raised when a bounded queue is full; nothing was done; retry after `retry_after_s`."""

    retry_after_s = 0.1


class DeadlinePassed(ServerError):
    """Raised between stages when the caller's deadline is over."""


class NotOffered(ServerError):
    """Raised by calls of the contract that this server does not offer yet."""


class PermissionDenied(ServerError):
    """Raised when the credential's role does not allow what the request asks."""


class Unauthenticated(ServerError):
    """Raised when a call has no valid credential; never says what is wrong with one."""


class QuotaExceeded(ServerError):
    """Raised when a quota of the tenant is used up; nothing was done."""

    def __init__(self, quota: str, problem: str, *, retry_after_s: float) -> None:
        """Keep the quota's setting apart, and when a retry can help."""
        super().__init__(f"{quota}: {problem}")
        self.quota = quota
        self.problem = problem
        self.retry_after_s = retry_after_s


class ConfigError(ServerError):
    """Raised when the configuration cannot be used; names the setting, its source and the limit."""


class AddressInUse(ServerError):
    """Raised when the listen address is taken or cannot be bound."""
