"""Timing of calls."""

import pytest

from recalld.bench import load


def test_percentiles_by_linear_interpolation():
    """Of 1 to 101 ms the median is 51 and the 95th percentile 96."""
    latency = load.percentiles([i / 1000 for i in range(1, 102)])
    assert latency.p50_s == pytest.approx(0.051)
    assert latency.p95_s == pytest.approx(0.096)
    assert latency.p99_s == pytest.approx(0.100)
    assert latency.count == 101


def test_percentiles_of_nothing_are_refused():
    """Without a sample there is no percentile."""
    with pytest.raises(ValueError, match="no sample"):
        load.percentiles([])


def test_calls_in_a_row_never_repeat_a_number():
    """Warm-up and timed calls count on, so that a call can be made different each time."""
    seen = []
    latency = load.in_a_row(seen.append, 5, warm_up=2)
    assert seen == list(range(7))
    assert latency.count == 5
