"""Conditions: what a filter is made of, as plain values.

They hold no data and test nothing; recalld.index.filter compiles them over columns. Strings are
compared exactly; the caller normalises (NFC) both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NumberIn:
    """One of `kind`, `status`, `importance`, `stated_by`, `visibility` is any of `values`."""

    field: str
    values: frozenset[int]


@dataclass(frozen=True, slots=True)
class StringIn:
    """One of STRING_FIELDS is exactly any of `values`; "" matches rows without one."""

    field: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class StringPrefix:
    """A string begins with `prefix`; a namespace must equal it or lie below it, path by path."""

    field: str
    prefix: str

    def passes(self, value: str) -> bool:
        """Whether a string of the field passes."""
        if self.field != "namespace":
            return value.startswith(self.prefix)
        path = self.prefix.rstrip("/")
        return not path or value == path or value.startswith(path + "/")


@dataclass(frozen=True, slots=True)
class TimeIn:
    """`event_time`, `create_time` or `update_time` is set and in [from_us, to_us)."""

    field: str
    from_us: int | None = None
    to_us: int | None = None


@dataclass(frozen=True, slots=True)
class LabelIn:
    """The row has any of these labels."""

    labels: frozenset[int]


@dataclass(frozen=True, slots=True)
class ConfidenceAtLeast:
    """Confidence is at least `minimum`, compared as float32."""

    minimum: float


@dataclass(frozen=True, slots=True)
class MetadataIn:
    """The value at the dotted `path` is one of `values`, of the same JSON type."""

    path: str
    values: tuple[str | float | bool | None, ...]


@dataclass(frozen=True, slots=True)
class MetadataExists:
    """The dotted `path` leads to a value (null counts as one), or, if not `exists`, to none."""

    path: str
    exists: bool = True


@dataclass(frozen=True, slots=True)
class MetadataRange:
    """The value at `path` is a number within all given bounds."""

    path: str
    gte: float = -math.inf
    gt: float = -math.inf
    lte: float = math.inf
    lt: float = math.inf


@dataclass(frozen=True, slots=True)
class Filter:
    """All of `must`, at least one of `should` (if there are any), none of `must_not`."""

    must: tuple[Condition, ...] = ()
    should: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()


Condition = (
    NumberIn
    | StringIn
    | StringPrefix
    | TimeIn
    | LabelIn
    | ConfidenceAtLeast
    | MetadataIn
    | MetadataExists
    | MetadataRange
    | Filter
)
