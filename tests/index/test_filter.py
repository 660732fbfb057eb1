"""Which rows may answer, against plain Python."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.columns import Columns, IndexRow
from recalld.index.conditions import (
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
from recalld.index.filter import CONDITION_COUNT_MAX, DEPTH_MAX, View, check_size, exclude
from recalld.scoring.masks import Excluded
from tests.scoring import naive

TIME = st.integers(0, 6)
NAMESPACE = st.sampled_from(["", "a", "a/b", "a/b/c", "ab"])
SCALAR = st.sampled_from([None, True, False, 1, 1.0, 0, 2.5, "1", "x", ""])
METADATA = st.dictionaries(
    st.sampled_from(["p", "q"]), SCALAR | st.fixed_dictionaries({"r": SCALAR}), max_size=2
)


@st.composite
def rows(draw, label=1):
    """Draw one row."""
    small = st.integers
    return IndexRow(
        label,
        "text",
        draw(small(1, 8)),
        key=draw(st.sampled_from(["", "k", "key", "key.x", "键"])),
        status=draw(small(0, 6)),
        importance=draw(small(1, 4)),
        stated_by=draw(small(1, 4)),
        visibility=draw(small(1, 3)),
        confidence=draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        event_time_us=draw(TIME),
        create_time_us=draw(TIME),
        update_time_us=draw(TIME),
        valid_from_us=draw(TIME),
        valid_to_us=draw(TIME),
        expire_time_us=draw(TIME),
        doubt=draw(small(0, 3)),
        superseded_from_us=draw(TIME),
        superseded_time_us=draw(TIME),
        agent_id=draw(st.sampled_from(["", "a1", "a2"])),
        namespace=draw(NAMESPACE),
        metadata=draw(METADATA),
    )


tables = st.lists(rows(), max_size=12).map(
    lambda drawn: [
        IndexRow(**{**{f: getattr(r, f) for f in r.__slots__}, "label": n})
        for n, r in enumerate(drawn, 1)
    ]
)
PATH = st.sampled_from(["p", "q", "p.r", "p.r.s", ""])
BOUND = st.sampled_from([-math.inf, 0.0, 1.0, 2.5])
CONDITIONS = st.one_of(
    st.builds(
        NumberIn,
        st.sampled_from(["kind", "status", "importance", "stated_by", "visibility"]),
        st.frozensets(st.integers(0, 9), max_size=4),
    ),
    st.builds(
        StringIn,
        st.sampled_from(["key", "agent_id", "namespace"]),
        st.frozensets(st.sampled_from(["", "k", "key", "a1", "a", "absent"]), max_size=3),
    ),
    st.builds(StringPrefix, st.just("key"), st.sampled_from(["", "k", "key.", "键", "z"])),
    st.builds(StringPrefix, st.just("namespace"), st.sampled_from(["", "a", "a/", "a/b", "b"])),
    st.builds(
        TimeIn,
        st.sampled_from(["event_time", "create_time", "update_time"]),
        st.none() | TIME,
        st.none() | TIME,
    ),
    st.builds(LabelIn, st.frozensets(st.integers(0, 14), max_size=4)),
    st.builds(ConfidenceAtLeast, st.sampled_from([0.0, 0.25, 0.6, 1.0])),
    st.builds(MetadataIn, PATH, st.lists(SCALAR, max_size=3).map(tuple)),
    st.builds(MetadataExists, PATH, st.booleans()),
    st.builds(MetadataRange, PATH, BOUND, BOUND, BOUND.map(lambda b: -b), BOUND.map(lambda b: -b)),
)
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.builds(
        Filter,
        st.lists(inner, max_size=2).map(tuple),
        st.lists(inner, max_size=2).map(tuple),
        st.lists(inner, max_size=2).map(tuple),
    ),
    max_leaves=6,
).map(lambda c: c if isinstance(c, Filter) else Filter(must=(c,)))
VIEWS = st.builds(
    View,
    now_us=st.integers(1, 6),
    agent_id=st.sampled_from(["", "a1", "stranger"]),
    admin=st.booleans(),
    statuses=st.frozensets(st.integers(1, 6)),
    as_of_us=TIME,
    known_at_us=TIME,
)


@given(tables, VIEWS, FILTERS)
def test_every_row_is_left_out_for_the_naive_reason(table, view, condition):
    """View and filter leave out the rows, for the reasons, that plain Python does."""
    columns = Columns.empty().appended(table)
    got = [Excluded(number).name for number in exclude(columns, view, condition)]
    for row, reason in zip(table, got, strict=True):
        expected = naive.visible(row, view)
        if not expected and not naive.matches(row, condition):
            expected = "FILTER"
        assert reason == (expected or "NO")


def test_removed_rows_are_left_out_first():
    """A removed row is REMOVED, whatever else it is."""
    columns = Columns.empty().appended([IndexRow(1, "", 1, status=6), IndexRow(2, "", 1)])
    columns = columns.removed([0])
    assert exclude(columns, View(now_us=1), Filter()).tolist() == [Excluded.REMOVED, Excluded.NO]


def test_as_of_shows_what_was_current_then():
    """A superseded home shows up as of a time before its successor, and the successor does not."""
    old = IndexRow(
        1, "", 1, event_time_us=10, status=2, superseded_from_us=50, superseded_time_us=60
    )
    new = IndexRow(2, "", 1, event_time_us=50)
    columns = Columns.empty().appended([old, new])
    assert exclude(columns, View(now_us=90, as_of_us=30), Filter()).tolist() == [
        Excluded.NO,
        Excluded.NOT_VALID_THEN,
    ]
    assert exclude(columns, View(now_us=90), Filter()).tolist() == [
        Excluded.SUPERSEDED,
        Excluded.NO,
    ]


def test_known_at_goes_by_the_time_of_learning():
    """What was replaced from 50 on, and learned at 70, was current knowledge at 60."""
    row = IndexRow(1, "", 1, event_time_us=10, create_time_us=10, status=2)
    row = dataclasses.replace(row, superseded_from_us=50, superseded_time_us=70)
    columns = Columns.empty().appended([row])
    assert exclude(columns, View(now_us=90, known_at_us=60), Filter()).tolist() == [Excluded.NO]
    gone = exclude(columns, View(now_us=90, known_at_us=80), Filter())
    assert gone.tolist() == [Excluded.SUPERSEDED]


def test_unknown_fields_and_oversized_filters_are_refused():
    """A field that does not exist, too many conditions and too deep nesting raise."""
    columns = Columns.empty().appended([IndexRow(1, "", 1)])
    for wrong in (NumberIn("age", frozenset()), StringPrefix("text", ""), TimeIn("valid_to")):
        with pytest.raises(BadPlan):
            exclude(columns, View(now_us=1), Filter(must=(wrong,)))
    many = tuple(ConfidenceAtLeast(0.5) for _ in range(CONDITION_COUNT_MAX + 1))
    with pytest.raises(BadPlan):
        check_size(Filter(should=many))
    deep = Filter()
    for _ in range(DEPTH_MAX):
        deep = Filter(must=(deep,))
    with pytest.raises(BadPlan):
        check_size(deep)


def test_a_condition_on_a_string_nobody_has_matches_nothing():
    """Values that no row holds match no row, and their negation all."""
    columns = Columns.empty().appended([IndexRow(1, "", 1), IndexRow(2, "", 1)])
    absent = StringIn("agent_id", frozenset({"nobody"}))
    left_out = exclude(columns, View(now_us=1), Filter(must=(absent,)))
    assert np.all(left_out == Excluded.FILTER)
    assert np.all(exclude(columns, View(now_us=1), Filter(must_not=(absent,))) == 0)
