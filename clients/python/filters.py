"""Filters written as expressions: `F.key("allergy") & ~F.stated_by("agent")`.

`&`, `|` and `~` combine conditions; the result is sent as `recalld.v1.Filter`, which holds three
lists: all of `must`, at least one of `should`, none of `must_not`. An expression that does not
fit these three raises ValueError and says how to write it; nothing is ever silently widened.

Fits: any `&` of conditions, negated conditions, negated `|` groups, and at most one `|` group of
plain conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf import struct_pb2

from recalld.client import values, wiretypes
from recalld.v1 import types_pb2

CONDITION_COUNT_MAX = 32


class Expression:
    """A condition or a combination of conditions."""

    __slots__ = ()

    def __and__(self, other: Expression) -> Expression:
        """Both hold."""
        if not isinstance(other, Expression):
            return NotImplemented
        return _All((*_parts(_All, self), *_parts(_All, other)))

    def __or__(self, other: Expression) -> Expression:
        """At least one holds."""
        if not isinstance(other, Expression):
            return NotImplemented
        return _Any((*_parts(_Any, self), *_parts(_Any, other)))

    def __invert__(self) -> Expression:
        """It does not hold."""
        return self.part if isinstance(self, _Not) else _Not(self)

    def __bool__(self) -> bool:
        """Refused: `and`, `or` and `not` would drop a part without a word."""
        raise TypeError("combine filter conditions with & | ~, not with and, or, not")


@dataclass(frozen=True, slots=True)
class _Leaf(Expression):
    condition: types_pb2.Condition


@dataclass(frozen=True, slots=True)
class _Not(Expression):
    part: Expression


@dataclass(frozen=True, slots=True)
class _All(Expression):
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class _Any(Expression):
    parts: tuple[Expression, ...]


def _parts(group: type[_All] | type[_Any], part: Expression) -> tuple[Expression, ...]:
    """The members of a group of the same sort, so that a & b & c stays flat."""
    return part.parts if isinstance(part, group) else (part,)


def compile_filter(expression: Expression) -> types_pb2.Filter:
    """The wire filter of an expression.

    Raises:
        TypeError: If it is no expression, such as the bool of a comparison without brackets.
        ValueError: If the expression does not fit must / should / must_not, or has more than
            `CONDITION_COUNT_MAX` conditions.
    """
    if not isinstance(expression, Expression):
        raise TypeError(f"filter: {expression!r} is no filter expression, see F")
    result = types_pb2.Filter()
    _add_required(result, expression)
    count = len(result.must) + len(result.should) + len(result.must_not)
    if count > CONDITION_COUNT_MAX:
        raise ValueError(f"filter: {count} conditions, at most {CONDITION_COUNT_MAX}")
    return result


def _add_required(result: types_pb2.Filter, part: Expression) -> None:
    match part:
        case _Leaf(condition):
            result.must.append(condition)
        case _All(parts):
            for member in parts:
                _add_required(result, member)
        case _Any(parts):
            if result.should:
                raise ValueError(
                    "filter: only one | group fits; give several values to one condition, "
                    'such as F.kind("fact", "state"), or run two calls'
                )
            result.should.extend(_plain(member) for member in parts)
        case _Not(inner):
            _add_refused(result, inner)


def _add_refused(result: types_pb2.Filter, part: Expression) -> None:
    match part:
        case _Leaf(condition):
            result.must_not.append(condition)
        case _Any(parts):
            # not (a or b) = not a and not b
            for member in parts:
                _add_required(result, ~member)
        case _All():
            raise ValueError("filter: ~(a & b) does not fit; it means ~a | ~b: run two calls")
        case _Not(inner):
            _add_required(result, inner)


def _plain(part: Expression) -> types_pb2.Condition:
    if isinstance(part, _Leaf):
        return part.condition
    raise ValueError("filter: inside a | group only plain conditions fit, no ~ and no &")


class MetadataPath:
    """One path of `metadata`; compare it to get a condition: `F.meta("order.id") == "x"`."""

    __slots__ = ("_path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: str) -> None:
        """Names the dotted path."""
        self._path = path

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        """Equal to a string, number, bool or None."""
        return self._condition(equals=_value(value))

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        """Not equal; also holds where the path is absent."""
        return ~(self == value)

    def __ge__(self, bound: float) -> Expression:
        """A number of at least `bound`."""
        return self._condition(range=types_pb2.NumberRange(gte=bound))

    def __gt__(self, bound: float) -> Expression:
        """A number above `bound`."""
        return self._condition(range=types_pb2.NumberRange(gt=bound))

    def __le__(self, bound: float) -> Expression:
        """A number of at most `bound`."""
        return self._condition(range=types_pb2.NumberRange(lte=bound))

    def __lt__(self, bound: float) -> Expression:
        """A number below `bound`."""
        return self._condition(range=types_pb2.NumberRange(lt=bound))

    def is_in(self, candidates: Iterable[str | float | bool | None]) -> Expression:
        """Equal to one of up to 256 values."""
        listed = struct_pb2.ListValue(values=[_value(value) for value in candidates])
        return self._condition(**{"in": listed})

    def exists(self) -> Expression:
        """Present, with any value."""
        return self._condition(exists=True)

    def _condition(self, **test: Any) -> Expression:
        metadata = types_pb2.MetadataCondition(path=self._path, **test)
        return _Leaf(types_pb2.Condition(metadata=metadata))


def _value(value: object) -> struct_pb2.Value:
    match value:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            return struct_pb2.Value(bool_value=value)
        case int() | float():
            return struct_pb2.Value(number_value=value)
        case str():
            return struct_pb2.Value(string_value=value)
    raise ValueError(f"filter: metadata compares with str, number, bool or None, not {value!r}")


def _strings(field: str, texts: tuple[str, ...]) -> Expression:
    return _Leaf(wiretypes.build(types_pb2.Condition, **{field: {"values": texts}}))


def _times(field: str, after: datetime | None, before: datetime | None) -> Expression:
    bounds = {
        "from": wiretypes.timestamp("after", after),
        "to": wiretypes.timestamp("before", before),
    }
    return _Leaf(types_pb2.Condition(**{field: types_pb2.TimeRange(**bounds)}))


class F:
    """Makes conditions. Several values in one condition mean "any of"."""

    @staticmethod
    def kind(*kinds: values.Kind | str) -> Expression:
        """Any of these kinds."""
        numbers = [values.encode(values.Kind, kind, "kind") for kind in kinds]
        return _Leaf(types_pb2.Condition(kind=types_pb2.KindSet(values=numbers)))

    @staticmethod
    def stated_by(*speakers: values.StatedBy | str) -> Expression:
        """Said by any of these."""
        numbers = [values.encode(values.StatedBy, speaker, "stated_by") for speaker in speakers]
        return _Leaf(types_pb2.Condition(stated_by=types_pb2.StatedBySet(values=numbers)))

    @staticmethod
    def importance(*levels: values.Importance | str) -> Expression:
        """Any of these levels."""
        numbers = [values.encode(values.Importance, level, "importance") for level in levels]
        return _Leaf(types_pb2.Condition(importance=types_pb2.ImportanceSet(values=numbers)))

    @staticmethod
    def key(*keys: str) -> Expression:
        """Any of these keys, exactly."""
        return _strings("key", keys)

    @staticmethod
    def key_prefix(prefix: str) -> Expression:
        """Keys under this prefix."""
        return _Leaf(wiretypes.build(types_pb2.Condition, key_prefix=prefix))

    @staticmethod
    def namespace(prefix: str) -> Expression:
        """This namespace or one below it."""
        return _Leaf(wiretypes.build(types_pb2.Condition, namespace_prefix=prefix))

    @staticmethod
    def agent(*agent_ids: str) -> Expression:
        """Any of these agents; "" is the user as a whole."""
        return _strings("agent_id", agent_ids)

    @staticmethod
    def session(*session_ids: str) -> Expression:
        """Written in any of these sessions."""
        return _strings("session_id", session_ids)

    @staticmethod
    def source_session(*session_ids: str) -> Expression:
        """Said in any of these sessions, as `source` tells."""
        return _strings("source_session_id", session_ids)

    @staticmethod
    def source_uri(*uris: str) -> Expression:
        """From any of these documents."""
        return _strings("source_uri", uris)

    @staticmethod
    def id(*memory_ids: str) -> Expression:
        """Any of these memories."""
        return _strings("id", memory_ids)

    @staticmethod
    def language(*tags: str) -> Expression:
        """Any of these languages."""
        return _strings("language", tags)

    @staticmethod
    def min_confidence(lowest: float) -> Expression:
        """At least this confidence, 0 to 1."""
        return _Leaf(wiretypes.build(types_pb2.Condition, min_confidence=lowest))

    @staticmethod
    def event_time(after: datetime | None = None, before: datetime | None = None) -> Expression:
        """Happened at or after `after` and before `before`; None: no bound."""
        return _times("event_time", after, before)

    @staticmethod
    def create_time(after: datetime | None = None, before: datetime | None = None) -> Expression:
        """Stored at or after `after` and before `before`; None: no bound."""
        return _times("create_time", after, before)

    @staticmethod
    def update_time(after: datetime | None = None, before: datetime | None = None) -> Expression:
        """Changed at or after `after` and before `before`; None: no bound."""
        return _times("update_time", after, before)

    @staticmethod
    def meta(path: str) -> MetadataPath:
        """A dotted path of the metadata, to be compared."""
        return MetadataPath(path)
