"""Which of two values of one slot holds."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from recalld.server.precedence import Standing, rank, standing
from recalld.storage.record import MemoryRecord, Scope, StatedBy
from tests.server.core import NOW_US

VALUE = MemoryRecord(
    1, "a" * 32, Scope("t", "u"), 1, "x", key="k", event_time_us=NOW_US, content_hash=b"x" * 16
)


def value(day: int = 0, **fields: object) -> MemoryRecord:
    """Another value of the slot, said so many microseconds later."""
    made = dataclasses.replace(VALUE, content_hash=b"y" * 16, event_time_us=NOW_US + day)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def test_speakers_are_in_the_order_of_the_contract() -> None:
    """USER before TOOL before IMPORT before AGENT."""
    order = [StatedBy.USER, StatedBy.TOOL, StatedBy.IMPORT, StatedBy.AGENT]
    ranks = [rank(value(stated_by=speaker)) for speaker in order]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == 4


@pytest.mark.parametrize(
    ("strong", "weak"),
    list(
        itertools.combinations([StatedBy.USER, StatedBy.TOOL, StatedBy.IMPORT, StatedBy.AGENT], 2)
    ),
)
def test_speaker_comes_before_time(strong: int, weak: int) -> None:
    """A stronger speaker wins whenever it spoke; a weaker one is contested if later, else past."""
    rival = value(5, stated_by=weak)
    assert standing(value(0, stated_by=strong), rival, NOW_US) is Standing.WINS
    rival = value(5, stated_by=strong)
    assert standing(value(9, stated_by=weak), rival, NOW_US) is Standing.CONTESTED
    assert standing(value(1, stated_by=weak), rival, NOW_US) is Standing.EARLIER


def test_time_comes_before_confidence() -> None:
    """Of equal speakers the later wins however unsure; at equal times the surer; else none."""
    assert standing(value(2, confidence=0.1), VALUE, NOW_US) is Standing.WINS
    assert standing(value(-2, confidence=1.0), VALUE, NOW_US) is Standing.EARLIER
    assert standing(value(confidence=0.9), VALUE, NOW_US) is Standing.EARLIER
    unsure = dataclasses.replace(VALUE, confidence=0.5)
    assert standing(value(confidence=0.9), unsure, NOW_US) is Standing.WINS
    assert standing(value(), VALUE, NOW_US) is Standing.TIED


def test_order_of_arrival_breaks_a_tie_of_what_was_said_on_arrival() -> None:
    """Two values said as they arrived, in one instant, were said one after the other."""
    first = dataclasses.replace(VALUE, create_time_us=NOW_US)
    assert standing(value(create_time_us=NOW_US), first, NOW_US) is Standing.WINS
