"""How long texts wait, from how long they took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.pace import Pace


def test_knows_nothing_at_first() -> None:
    """Before the first run nobody has to wait."""
    assert Pace().wait_s(1_000) == 0.0


@given(per_text_s=st.floats(0.001, 10), counts=st.lists(st.integers(1, 8), min_size=1))
def test_steady_runs(per_text_s: float, counts: list[int]) -> None:
    """Texts that always take the same time are expected to go on so."""
    pace, now_s = Pace(), 5.0
    pace.count(sum(counts), now_s)
    for count in counts:
        now_s += count * per_text_s
        pace.ran(count, now_s)
    assert pace.wait_s(3) == pytest.approx(3 * per_text_s)


def test_an_empty_queue_does_not_count() -> None:
    """Time in which nothing waited makes no run slower."""
    pace = Pace()
    pace.count(1, 10.0)
    pace.count(-1, 0.0)
    pace.ran(1, 11.0)
    pace.count(1, 500.0)
    pace.ran(1, 501.0)
    assert pace.wait_s(1) == pytest.approx(1.0)


def test_one_slow_run() -> None:
    """One slow run moves the expectation by a fifth."""
    pace = Pace()
    pace.count(9, 0.0)
    pace.ran(1, 1.0)
    pace.ran(1, 12.0)
    assert pace.wait_s(1) == pytest.approx(3.0)
