"""Exit codes, and how an error is shown.

A script may rely on the codes: 0 done (an honest "nothing recalled" is done), 1 failed, 2 wrong
usage, 3 no such memory, trace or
snapshot, 4 no server or server not ready (try again).
"""

from __future__ import annotations

import sys

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNAVAILABLE = 4


class Failure(Exception):
    """Raised when a command cannot do what it was asked; the message is for the user."""


def code_of(error: Exception) -> int | None:
    """The exit code of an expected error; None for a fault of the program itself."""
    from recalld.client import errors

    if isinstance(error, errors.NotFound):
        return NOT_FOUND
    if isinstance(error, (errors.Unavailable, errors.DeadlineExceeded)):
        return UNAVAILABLE
    if isinstance(error, (ValueError, errors.InvalidRequest)):
        return USAGE
    if isinstance(error, (errors.RecalldError, Failure, OSError)) or _is_missing_extra(error):
        return FAILED
    return None


def _is_missing_extra(error: Exception) -> bool:
    """Whether a third-party module is not installed; one of our own would be a fault of ours."""
    if not isinstance(error, ModuleNotFoundError):
        return False
    return not (error.name or "").startswith("recalld")


def message_of(error: Exception) -> str:
    """One line for the user; what a server said ends with its reason and field."""
    from recalld.client import errors

    text = str(error) or type(error).__name__
    if _is_missing_extra(error):
        return f"this command needs an extra: pip install 'recalld[server]' ({text})"
    is_refused = isinstance(error, errors.Unavailable) and not error.reason
    return f"no server answers: {text}" if is_refused else text


def print_error(message: str) -> None:
    """Writes `error: ...` to stderr."""
    print(f"error: {message}", file=sys.stderr)  # noqa: T201


def print_note(message: str) -> None:
    """Writes a remark to stderr, where it does not mix with data."""
    print(message, file=sys.stderr)  # noqa: T201
