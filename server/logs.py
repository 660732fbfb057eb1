"""Structured logs: one JSON object a line on standard error, never with memory text.

structlog escapes line breaks and control characters, so no value can forge a second line. The
message of a foreign exception may quote what a caller sent, so it is never written: its class and
the way it came are.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog

from recalld.index.errors import IndexLayerError
from recalld.server.errors import ServerError
from recalld.storage.errors import StorageError

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


OWN_ERRORS = (ServerError, StorageError, IndexLayerError)
"""Layers whose messages name files, fields and limits only."""


def fault(error: BaseException) -> list[dict[str, Any]]:
    """What may be written of an exception and of those that led to it, the last one first."""
    found: list[dict[str, Any]] = []
    current: BaseException | None = error
    while current is not None:
        frames = traceback.extract_tb(current.__traceback__)
        entry: dict[str, Any] = {
            "class": f"{type(current).__module__}.{type(current).__qualname__}",
            "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        }
        if isinstance(current, OWN_ERRORS):
            entry["message"] = str(current)
        found.append(entry)
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)
    return found


def configure(level: str) -> structlog.stdlib.BoundLogger:
    """Make the process logger that writes to standard error; returned, not global."""
    return structlog.wrap_logger(
        structlog.PrintLogger(file=sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
