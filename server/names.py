"""Names of calls and of recalls: unique over restarts, and cheaper than a random one for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import count


def unique_names() -> Iterator[str]:
    """Names of 32 hexadecimal digits; those of one iterator and of any other never meet."""
    prefix = uuid.uuid4().hex[:16]
    return (f"{prefix}{number:016x}" for number in count(1))
