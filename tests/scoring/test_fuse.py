"""Fusion against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.fuse import (
    logistic,
    normalise_keyword,
    reciprocal_ranks,
)
from tests.scoring import naive


@given(hnp.arrays(np.float32, 6, elements=st.floats(0, 100, width=32)))
def test_keyword_scale_is_monotone_and_bounded(evidence):
    """More keyword evidence never scores less, and never above 1."""
    scaled = normalise_keyword(np.sort(evidence))
    assert np.all(np.diff(scaled) >= 0)
    assert np.all((scaled >= 0) & (scaled <= 1))


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.7, 1.0]), st.booleans()), max_size=12))
def test_reciprocal_ranks_equal_the_naive_ones(items):
    """Rank 1 gives 1, equal values share the better rank, unranked ones give 0."""
    values = np.array([v for v, _ in items], dtype=np.float32)
    ranked = np.array([r for _, r in items], dtype=np.bool_)
    got = reciprocal_ranks(values, ranked)
    assert np.allclose(got, naive.rrf([v for v, _ in items], [r for _, r in items]), atol=1e-6)


def test_logistic_does_not_overflow():
    """Log-odds of any size map into 0..1."""
    assert logistic(-1e6) == 0
    assert logistic(1e6) == 1
    assert logistic(0) == 0.5
