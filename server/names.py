"""Names of calls and of recalls: unique over restarts, and cheaper than a UUID for each."""

from __future__ import annotations

import random

_generator = random.Random()
"""Seeded by the system. Not a counter: its numbers would tell a tenant what others call."""


def new_name() -> str:
    """A name of 32 hexadecimal digits that no other call bears. It is no secret."""
    return f"{_generator.getrandbits(128):032x}"
