"""Filters that can match nothing, whatever is stored: an error, never an empty answer.

It looks at what a filter says, never at data, and finds the plain cases: a condition that is both
demanded and excluded, sets, prefixes and times that have to hold together and have nothing in
common. It never refuses a filter that some memory could pass.
"""

from __future__ import annotations

from itertools import combinations

from recalld.index.conditions import (
    Condition,
    Filter,
    LabelIn,
    NumberIn,
    StringIn,
    StringPrefix,
    TimeIn,
)
from recalld.server.errors import ContradictoryFilter


def refuse(filter_: Filter, field: str) -> None:
    """Refuse a filter that nothing can pass.

    Args:
        filter_: decoded.
        field: its path, for the error.

    Raises:
        ContradictoryFilter: naming the later of the conditions at odds.
    """
    for (_, first), (j, second) in combinations(enumerate(filter_.must), 2):
        if _disjoint(first, second):
            raise ContradictoryFilter(
                f"{field}.must[{j}]", "has nothing in common with another condition that must hold"
            )
    for j, banned in enumerate(filter_.must_not):
        if any(_within(wanted, banned) for wanted in filter_.must):
            raise ContradictoryFilter(
                f"{field}.must_not[{j}]", "excludes everything that `must` demands"
            )
    if filter_.should and all(
        any(_within(wanted, banned) for banned in filter_.must_not) for wanted in filter_.should
    ):
        raise ContradictoryFilter(f"{field}.should", "is excluded by `must_not` altogether")


def refuse_with(wanted: NumberIn, filter_: Filter, field: str) -> None:
    """Refuse a condition from outside a filter that cannot hold together with it.

    Raises:
        ContradictoryFilter: naming `field`, where the condition stands.
    """
    if any(_disjoint(wanted, other) for other in filter_.must):
        raise ContradictoryFilter(field, "has nothing in common with `filter.must`")
    if any(_within(wanted, banned) for banned in filter_.must_not):
        raise ContradictoryFilter(field, "is excluded by `filter.must_not` altogether")


def _disjoint(first: Condition, second: Condition) -> bool:
    """Whether no memory can pass both."""
    if isinstance(first, NumberIn | StringIn) and isinstance(second, NumberIn | StringIn):
        return first.field == second.field and first.values.isdisjoint(second.values)
    if isinstance(first, StringPrefix):
        first, second = second, first
    if isinstance(second, StringPrefix) and isinstance(first, StringIn | StringPrefix):
        return first.field == second.field and _none_passes(first, second)
    if isinstance(first, TimeIn) and isinstance(second, TimeIn) and first.field == second.field:
        starts = [t.from_us for t in (first, second) if t.from_us is not None]
        ends = [t.to_us for t in (first, second) if t.to_us is not None]
        return bool(starts and ends) and max(starts) >= min(ends)
    return False


def _none_passes(strings: StringIn | StringPrefix, wanted: StringPrefix) -> bool:
    """Whether no string of one field passes both."""
    if isinstance(strings, StringIn):
        return not any(map(wanted.passes, strings.values))
    return not (wanted.passes(strings.prefix) or strings.passes(wanted.prefix))


def _within(wanted: Condition, banned: Condition) -> bool:
    """Whether everything that passes the one is excluded by the other."""
    if isinstance(wanted, NumberIn | StringIn) and isinstance(banned, NumberIn | StringIn):
        return wanted.field == banned.field and wanted.values <= banned.values
    if isinstance(wanted, StringIn) and isinstance(banned, StringPrefix):
        return wanted.field == banned.field and all(map(banned.passes, wanted.values))
    # Ids that name no memory are left out of both sets, so equal sets need not be equal ids.
    return wanted == banned and not isinstance(wanted, LabelIn)
