"""Exceptions of the scoring layer.

They never name a gRPC status; the server's status table translates them.
"""

from __future__ import annotations


class ScoringError(Exception):
    """Base of every exception of this layer; never raised itself."""


class BadScoringInput(ScoringError, ValueError):
    """Raised when parameters or arrays break a documented limit; names the field and the limit."""
