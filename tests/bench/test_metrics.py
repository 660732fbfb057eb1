"""Metrics against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import metrics

RANKED = ["a", "b", "c", "d", "e", "f"]


def test_recall_counts_the_share_of_gold_found():
    """Two of three gold items among the first five make a recall of two thirds."""
    assert metrics.recall_at_k(RANKED, {"a", "e", "x"}, 5) == pytest.approx(2 / 3)


def test_recall_stops_at_k():
    """An item at rank six is not among the first five."""
    assert metrics.recall_at_k(RANKED, {"f"}, 5) == 0.0


def test_hit_needs_one_item():
    """One of many gold items is a hit, none is a miss."""
    assert metrics.hit_at_k(RANKED, {"c", "x", "y"}, 5) == 1.0
    assert metrics.hit_at_k(RANKED, {"x"}, 5) == 0.0


def test_ndcg_of_ranks_one_and_three():
    """Gold at ranks 1 and 3: (1 + 1/2) over (1 + 1/log2 3)."""
    expected = 1.5 / (1 + 1 / math.log2(3))
    assert metrics.ndcg(RANKED, {"a", "c"}) == pytest.approx(expected)


def test_ndcg_of_more_gold_than_ranks_is_capped_at_ten():
    """Ten gold items at the top of eleven are an ideal ranking."""
    gold = {str(i) for i in range(11)}
    assert metrics.ndcg([str(i) for i in range(10)], gold) == pytest.approx(1.0)


def test_reciprocal_rank_of_the_first_gold_item():
    """The first gold item at rank 3 gives a third; beyond rank 10 gives nothing."""
    assert metrics.reciprocal_rank(RANKED, {"c", "d"}) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank([str(i) for i in range(12)], {"10"}) == 0.0


def test_group_recall_counts_events_not_records():
    """Two records of one event and one of another, one record found: half of the events."""
    group = {"a": "1", "b": "1", "x": "2"}
    assert metrics.group_recall_at_k(["a"], {"a", "b", "x"}, group.__getitem__, 5) == 0.5


def test_auroc_counts_pairs_and_half_of_ties():
    """Of four pairs three are in order and one is tied: 0.875."""
    assert metrics.auroc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)


def test_auroc_of_nothing_is_not_a_number():
    """Without negatives there is no pair to compare."""
    assert math.isnan(metrics.auroc([1.0], []))


def test_mean_of_nothing_is_not_a_number():
    """The mean of no question is unknown, not zero."""
    assert math.isnan(metrics.mean([]))


def test_bootstrap_of_equal_gains_has_no_width():
    """If every question gains a quarter, so does every resample."""
    gain = metrics.paired_bootstrap([0.0, 0.5, 0.25], [0.25, 0.75, 0.5], seed=3)
    assert (gain.mean, gain.low, gain.high) == (0.25, 0.25, 0.25)


def test_bootstrap_interval_of_a_coin():
    """Gains of 0 and 1 in equal number: the interval is near 0.5 +- 1.96 * 0.5 / sqrt(n)."""
    second = [0.0, 1.0] * 50
    gain = metrics.paired_bootstrap([0.0] * 100, second, seed=3)
    assert gain.mean == 0.5
    assert gain.low == pytest.approx(0.402, abs=0.02)
    assert gain.high == pytest.approx(0.598, abs=0.02)


def test_bootstrap_refuses_unpaired_series():
    """Series of different length cannot be compared question by question."""
    with pytest.raises(ValueError, match="equally long"):
        metrics.paired_bootstrap([0.0], [0.0, 1.0], seed=1)


@given(st.lists(st.integers(0, 30), unique=True, max_size=15), st.sets(st.integers(0, 30)))
def test_metrics_lie_between_zero_and_one(ranked, gold):
    """Whatever the ranking, every metric lies in [0, 1], and a hit is a recall above zero."""
    gold |= {31}
    values = [
        metrics.recall_at_k(ranked, gold, 5),
        metrics.hit_at_k(ranked, gold, 5),
        metrics.ndcg(ranked, gold),
        metrics.reciprocal_rank(ranked, gold),
    ]
    assert all(0 <= v <= 1 + 1e-12 for v in values)
    assert (values[0] > 0) == (values[1] == 1)
