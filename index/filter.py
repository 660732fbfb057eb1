"""Filter: which rows may answer, decided before any channel ranks.

A `View` says what the asker may see and at which time; a `Filter` is a tree of conditions. Both
compile to one mask over a partition's columns. It never ranks, and because every channel only sees
what passes, a filter never makes an answer shorter than the matches that exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import AGENT, STRING_FIELDS, Columns
from recalld.index.conditions import (
    Condition,
    ConfidenceAtLeast,
    Filter,
    LabelIn,
    MetadataExists,
    MetadataIn,
    MetadataRange,
    NumberIn,
    StringIn,
    StringPrefix,
    TimeIn,
)
from recalld.index.errors import BadPlan
from recalld.scoring import masks
from recalld.scoring.masks import filter_into, view_into
from recalld.scoring.params import ACTIVE, CONFLICTED, STATUS_COUNT

CONDITION_COUNT_MAX = 64
DEPTH_MAX = 8
STATUSES_COUNT_MAX = 1 << STATUS_COUNT

Mask = NDArray[np.bool_]
_NUMBER_FIELDS = {
    "kind": masks.KIND,
    "status": masks.STATUS,
    "importance": masks.IMPORTANCE,
    "stated_by": masks.STATED_BY,
    "visibility": masks.VISIBILITY,
}
_TIME_FIELDS = {
    "event_time": masks.EVENT_TIME,
    "create_time": masks.CREATE_TIME,
    "update_time": masks.UPDATE_TIME,
}


# Not frozen, though nobody changes one: that would double the time to make it.
@dataclass(slots=True)
class View:
    """Who asks, and about when.

    Attributes:
        now_us: the clock.
        agent_id: the asking agent; PRIVATE rows of other agents stay hidden, "" sees none.
        admin: sees SYSTEM rows.
        all_agents: sees what any agent keeps to itself, to export or erase a whole user.
        statuses: wanted states. A row whose expire_time or valid_to has passed counts as EXPIRED.
        as_of_us: valid time asked about, 0 = now. Rows that were current then count as ACTIVE.
        known_at_us: record time asked about, 0 = now.
    """

    now_us: int
    agent_id: str = ""
    admin: bool = False
    all_agents: bool = False
    statuses: frozenset[int] = field(default=frozenset({ACTIVE, CONFLICTED}))
    as_of_us: int = 0
    known_at_us: int = 0


def exclude(columns: Columns, view: View, condition: Filter) -> NDArray[np.uint8]:
    """Decide for every row whether and why it is left out.

    Args:
        columns: the rows.
        view: who asks, and about when.
        condition: at most CONDITION_COUNT_MAX conditions, DEPTH_MAX deep.

    Returns:
        uint8[count] of recalld.scoring.masks.Excluded; 0 = the row may answer.

    Raises:
        BadPlan: when the filter is too large, or names a field that does not exist.

    Complexity: a pass over one column per condition; metadata conditions once per distinct object.
    """
    agent = columns.dictionaries[AGENT].number(view.agent_id) if view.agent_id else -1
    if view.all_agents:
        agent = masks.ALL_AGENTS
    asked = np.array(
        (view.now_us, view.as_of_us, view.known_at_us, agent, view.admin), dtype=np.int64
    )
    if view.as_of_us or view.known_at_us or ACTIVE not in view.statuses:
        excluded, looked_at = np.empty(columns.count, np.uint8), np.arange(columns.count)
    else:
        odd, looked_at = columns.odd
        excluded = odd.copy()
    if len(looked_at):
        held = columns.alive, columns.small, columns.times, columns.strings[AGENT]
        view_into(looked_at, held, asked, _wanted(view.statuses), excluded)
    if condition.must or condition.should or condition.must_not:
        check_size(condition)
        filter_into(_tree(columns, condition), excluded)
    return excluded


@lru_cache(STATUSES_COUNT_MAX)
def _wanted(statuses: frozenset[int]) -> NDArray[np.uint8]:
    """Lay out wanted states for the kernel."""
    wanted = np.zeros(STATUS_COUNT, dtype=np.uint8)
    wanted[list(statuses)] = 1
    wanted.flags.writeable = False
    return wanted


def check_size(condition: Filter, depth: int = 1) -> int:
    """Count the conditions of a tree.

    Raises:
        BadPlan: when it is deeper than DEPTH_MAX or larger than CONDITION_COUNT_MAX.
    """
    if depth > DEPTH_MAX:
        raise BadPlan(f"filter is nested deeper than {DEPTH_MAX}")
    count = 0
    for part in (*condition.must, *condition.should, *condition.must_not):
        count += check_size(part, depth + 1) if isinstance(part, Filter) else 1
    if count > CONDITION_COUNT_MAX:
        raise BadPlan(f"filter has more than {CONDITION_COUNT_MAX} conditions")
    return count


def _tree(columns: Columns, condition: Filter) -> Mask:
    """Combine the masks of a tree."""
    parts = [_test(columns, part) for part in condition.must]
    if condition.should:
        parts.append(reduce(np.logical_or, [_test(columns, part) for part in condition.should]))
    parts += [~_test(columns, part) for part in condition.must_not]
    return reduce(np.logical_and, parts) if parts else np.ones(columns.count, dtype=np.bool_)


def _test(columns: Columns, condition: Condition) -> Mask:
    """Return the mask of one condition."""
    count = columns.count
    if isinstance(condition, Filter):
        return _tree(columns, condition)
    if isinstance(condition, NumberIn):
        table = np.zeros(256, dtype=np.bool_)
        table[[value for value in condition.values if 0 <= value < 256]] = True
        return table[columns.small[_index(_NUMBER_FIELDS, condition.field), :count]]
    if isinstance(condition, StringIn | StringPrefix):
        return _strings(columns, condition)
    if isinstance(condition, TimeIn):
        times = columns.times[_index(_TIME_FIELDS, condition.field), :count]
        passes = times != 0
        if condition.from_us is not None:
            passes &= times >= condition.from_us
        if condition.to_us is not None:
            passes &= times < condition.to_us
        return passes
    if isinstance(condition, LabelIn):
        passes = np.zeros(count, dtype=np.bool_)
        passes[[row for row in map(columns.row, condition.labels) if row >= 0]] = True
        return passes
    if isinstance(condition, ConfidenceAtLeast):
        return columns.confidence[:count] >= np.float32(condition.minimum)
    return _objects(columns, _predicate(condition))


def _strings(columns: Columns, condition: StringIn | StringPrefix) -> Mask:
    """Test each distinct string once and look the rows up."""
    column = STRING_FIELDS.index(condition.field) if condition.field in STRING_FIELDS else -1
    if column < 0:
        raise BadPlan(f"no string field {condition.field!r} to filter on")
    dictionary, held = columns.dictionaries[column], columns.strings[column, : columns.count]
    if isinstance(condition, StringIn) and len(condition.values) == 1:
        return held == dictionary.number(*condition.values)
    table = np.zeros(len(dictionary.values), dtype=np.bool_)
    if isinstance(condition, StringIn):
        numbers = [dictionary.number(value) for value in condition.values]
        table[[number for number in numbers if 0 <= number < len(table)]] = True
    else:
        for number, value in enumerate(dictionary.values[: len(table)]):
            table[number] = condition.passes(value)
    return table[held]


def _objects(columns: Columns, predicate: Callable[[Mapping[str, Any]], bool]) -> Mask:
    """Test each distinct metadata object once and look the rows up."""
    table = np.fromiter(map(predicate, columns.objects.values.copy()), dtype=np.bool_)
    return table[columns.metadata[: columns.count]]


def _predicate(
    condition: MetadataIn | MetadataExists | MetadataRange,
) -> Callable[[Mapping[str, Any]], bool]:
    """Turn a metadata condition into a test of one object."""
    steps = condition.path.split(".")

    def test(value: Any) -> bool:
        for step in steps:
            if not isinstance(value, Mapping) or step not in value:
                return isinstance(condition, MetadataExists) and not condition.exists
            value = value[step]
        if isinstance(condition, MetadataExists):
            return condition.exists
        if isinstance(condition, MetadataIn):
            return any(_same(value, wanted) for wanted in condition.values)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (
            condition.gte <= value <= condition.lte
            and (condition.gt == -math.inf or value > condition.gt)
            and (condition.lt == math.inf or value < condition.lt)
        )

    return test


def _same(value: Any, wanted: str | float | bool | None) -> bool:
    """Compare JSON scalars; 1, "1" and true are three values, 1 and 1.0 are one."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return value == wanted
    return type(value) is type(wanted) and value == wanted


def _index(fields: Mapping[str, int], name: str) -> int:
    """Look up a column by name."""
    if name not in fields:
        raise BadPlan(f"no field {name!r} to filter on")
    return fields[name]
