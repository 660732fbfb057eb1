"""From the wire's filter to the index's, checked.

A filter that cannot be understood is an error, never a wider search.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.struct_pb2 import Value

from recalld.index import conditions as plain
from recalld.index.conditions import Condition, Filter
from recalld.index.filter import View
from recalld.server import contradictions, times, validate
from recalld.server.call import Call
from recalld.server.errors import ContradictoryFilter, InvalidRequest
from recalld.server.limits import (
    CONDITION_COUNT_MAX,
    CONDITION_VALUE_COUNT_MAX,
    NAME_BYTES_MAX,
    URI_BYTES_MAX,
)
from recalld.storage.record import Scope, Status
from recalld.v1 import recall_service_pb2, types_pb2

STRING_CONDITIONS = ("agent_id", "session_id", "source_session_id", "source_uri", "language")
NUMBER_CONDITIONS = {
    "kind": types_pb2.MemoryKind,
    "stated_by": types_pb2.StatedBy,
    "importance": types_pb2.Importance,
}
TIME_CONDITIONS = ("event_time", "create_time", "update_time")
EVERY_STATUS = frozenset(status for status in Status if status != Status.UNSPECIFIED)

EVERYTHING = Filter()
RECENT_COUNT_MAX = 1_024
RECENT_BYTES_MAX = 512
"""Longer filters are lists made for one request."""

LabelOf = Callable[[str], int | None]


def decode(message: types_pb2.Filter, field: str, label_of: LabelOf) -> Filter:
    """A checked filter.

    Args:
        message: as sent.
        field: its path, for errors.
        label_of: label of a memory id in the partition asked, None when it has none.

    Raises:
        InvalidRequest: a condition is malformed, or there are too many.
        ContradictoryFilter: it can match nothing.
    """
    total = len(message.must) + len(message.should) + len(message.must_not)
    if total > CONDITION_COUNT_MAX:
        raise InvalidRequest(field, f"has {total} conditions; the limit is {CONDITION_COUNT_MAX}")
    if not total:
        return Filter()

    def part(name: str, conditions: Iterable[types_pb2.Condition]) -> tuple[Condition, ...]:
        """The conditions of one list."""
        return tuple(
            _condition(item, f"{field}.{name}[{i}]", label_of) for i, item in enumerate(conditions)
        )

    decoded = Filter(
        part("must", message.must),
        part("should", message.should),
        part("must_not", message.must_not),
    )
    contradictions.refuse(decoded, field)
    return decoded


def view_all(scope: Scope, call: Call, *, manage: bool = False) -> View:
    """What an asker may see, of any status; or may export and erase (`access.may_manage`)."""
    return View(
        all_agents=manage and call.is_admin and not scope.agent_id,
        now_us=call.now_us,
        agent_id=scope.agent_id,
        admin=call.is_admin,
        statuses=EVERY_STATUS,
    )


def _values(message: Any, field: str) -> list[Any]:
    """Values of a set, not too many and at least one."""
    validate.count(message.values, f"{field}.values", 1, CONDITION_VALUE_COUNT_MAX)
    return list(message.values)


def of_recall(request: recall_service_pb2.RecallRequest, field: str, label_of: LabelOf) -> Filter:
    """The filter of a recall that stands at the path `field`, its checked kinds included."""
    path = f"{field}.filter" if field else "filter"
    compiled = decode(request.filter, path, label_of)
    if not request.kinds:
        return compiled
    kinds = plain.NumberIn("kind", frozenset(request.kinds))
    contradictions.refuse_with(kinds, compiled, path.removesuffix("filter") + "kinds")
    return Filter((*compiled.must, kinds), compiled.should, compiled.must_not)


class RecentFilters:
    """Filters of recent recalls, decoded: the keys and kinds that agents ask for come again.

    Bounded, least recently used first out. Those on ids are decoded anew: they mean other rows for
    each user. Thread safety: of the event loop only.
    """

    def __init__(self, kept_max: int = RECENT_COUNT_MAX) -> None:
        """Start empty."""
        self._kept_max = kept_max
        self._kept: OrderedDict[tuple[bytes, tuple[int, ...]], Filter] = OrderedDict()

    def of_recall(
        self, request: recall_service_pb2.RecallRequest, field: str, label_of: LabelOf
    ) -> Filter:
        """What `filters.of_recall` gives, and raises."""
        if not request.HasField("filter") and not request.kinds:
            return EVERYTHING
        key = request.filter.SerializeToString(), tuple(request.kinds)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        found = of_recall(request, field, label_of)
        parts = (*found.must, *found.should, *found.must_not)
        if len(key[0]) <= RECENT_BYTES_MAX and not any(isinstance(p, plain.LabelIn) for p in parts):
            self._kept[key] = found
            if len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        return found


def _condition(message: types_pb2.Condition, field: str, label_of: LabelOf) -> Condition:
    """One condition."""
    which = message.WhichOneof("test")
    if which is None:
        raise InvalidRequest(field, "must test something")
    value = getattr(message, which)
    at = f"{field}.{which}"
    if which in NUMBER_CONDITIONS:
        numbers = [validate.enum(v, NUMBER_CONDITIONS[which], at) for v in _values(value, at)]
        if 0 in numbers:
            raise InvalidRequest(at, "must not hold UNSPECIFIED")
        return plain.NumberIn(which, frozenset(numbers))
    if which == "key":
        return plain.StringIn("key", frozenset(validate.key(v, at) for v in _values(value, at)))
    if which in STRING_CONDITIONS:
        limit = URI_BYTES_MAX if which == "source_uri" else NAME_BYTES_MAX
        return plain.StringIn(
            which, frozenset(validate.name(v, at, bytes_max=limit) for v in _values(value, at))
        )
    if which == "key_prefix":
        return plain.StringPrefix("key", validate.key(value, at))
    if which == "namespace_prefix":
        return plain.StringPrefix("namespace", validate.name(value, at))
    if which in TIME_CONDITIONS:
        return _time_range(value, which, at)
    if which == "id":
        found = (label_of(validate.name(v, at, required=True)) for v in _values(value, at))
        return plain.LabelIn(frozenset(label for label in found if label is not None))
    if which == "min_confidence":
        return plain.ConfidenceAtLeast(validate.fraction(value, at))
    return _metadata(value, at)


def _time_range(message: types_pb2.TimeRange, name: str, field: str) -> plain.TimeIn:
    """A time range with at least one end, not empty."""
    start = (
        times.from_wire(getattr(message, "from"), f"{field}.from")
        if message.HasField("from")
        else None
    )
    end = times.from_wire(message.to, f"{field}.to") if message.HasField("to") else None
    if start is None and end is None:
        raise InvalidRequest(field, "needs `from`, `to` or both")
    if start is not None and end is not None and end <= start:
        raise ContradictoryFilter(field, "`to` must be after `from`")
    return plain.TimeIn(name, start, end)


def _metadata(message: types_pb2.MetadataCondition, field: str) -> Condition:
    """A test on metadata."""
    path = validate.name(message.path, f"{field}.path", required=True)
    which = message.WhichOneof("test")
    if which == "equals":
        return plain.MetadataIn(path, (_scalar(message.equals, f"{field}.equals"),))
    if which == "in":
        values = getattr(message, "in").values
        validate.count(values, f"{field}.in", 1, CONDITION_VALUE_COUNT_MAX)
        return plain.MetadataIn(
            path, tuple(_scalar(v, f"{field}.in[{i}]") for i, v in enumerate(values))
        )
    if which == "exists":
        return plain.MetadataExists(path, message.exists)
    if which == "range":
        return _number_range(path, message.range, f"{field}.range")
    raise InvalidRequest(field, "must test something: equals, in, exists or range")


def _number_range(path: str, message: types_pb2.NumberRange, field: str) -> plain.MetadataRange:
    """A range of numbers with at least one bound, not empty."""
    bounds = {
        name: getattr(message, name)
        for name in ("gte", "gt", "lte", "lt")
        if message.HasField(name)
    }
    if not bounds:
        raise InvalidRequest(field, "needs at least one bound")
    for name, bound in bounds.items():
        if not math.isfinite(bound):
            raise InvalidRequest(f"{field}.{name}", "must be a finite number")
    low = max(bounds.get("gte", -math.inf), bounds.get("gt", -math.inf))
    high = min(bounds.get("lte", math.inf), bounds.get("lt", math.inf))
    is_open = bounds.get("gt") == low or bounds.get("lt") == high
    if low > high or (low == high and is_open):
        raise ContradictoryFilter(field, "no number lies within these bounds")
    return plain.MetadataRange(path, **bounds)


def _scalar(value: Value, field: str) -> str | float | bool | None:
    """A string, number, bool or null."""
    which = value.WhichOneof("kind")
    if which == "string_value":
        return value.string_value
    if which == "number_value" and math.isfinite(value.number_value):
        return value.number_value
    if which == "bool_value":
        return value.bool_value
    if which == "null_value":
        return None
    raise InvalidRequest(field, "must be a string, a finite number, a bool or null")
