"""Fusion against plain Python."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.fuse import (
    fuse_into,
    logistic,
    normalise_keyword,
    normalise_vector,
    reciprocal_ranks,
    score_into,
)
from recalld.scoring.params import RankParams
from tests.scoring import naive

UNIT = st.floats(0, 1, width=32)
PARAMS = RankParams(0.75, 0.05)


@given(hnp.arrays(np.float32, st.tuples(st.just(4), st.integers(0, 8)), elements=UNIT), st.data())
def test_scores_equal_the_naive_logistic_model(normalised, data):
    """Base is the logistic of bias plus weighted evidence; score is base times all factors."""
    count = normalised.shape[1]
    weights = data.draw(hnp.arrays(np.float32, 4, elements=st.floats(0, 20, width=32)))
    bias = data.draw(st.floats(-20, 20))
    factors = data.draw(hnp.arrays(np.float32, (3, count), elements=UNIT))
    base, score, logit = (np.empty(count, dtype=np.float32) for _ in range(3))
    score_into(normalised, weights, bias, factors, base, score)
    fuse_into(normalised, weights, bias, logit)
    for i in range(count):
        expected = naive.base(normalised[:, i].tolist(), weights.tolist(), bias)
        assert math.isclose(base[i], expected, rel_tol=1e-5, abs_tol=1e-7)
        product = expected * math.prod(float(f) for f in factors[:, i])
        assert math.isclose(score[i], product, rel_tol=1e-5, abs_tol=1e-7)
        assert math.isclose(logistic(float(logit[i])), expected, rel_tol=1e-4, abs_tol=1e-6)


def test_an_infinite_bias_makes_every_base_one():
    """A pure filter has nothing to weigh: base 1, whatever the channels hold."""
    base, score = np.empty(1, np.float32), np.empty(1, np.float32)
    half = np.full((3, 1), 0.5, np.float32)
    score_into(np.zeros((4, 1), np.float32), np.zeros(4, np.float32), math.inf, half, base, score)
    assert base[0] == 1
    assert score[0] == 0.125


def test_nan_evidence_gives_a_nan_score():
    """NaN is never turned into a number."""
    base, score = np.empty(1, np.float32), np.empty(1, np.float32)
    bad = np.full((4, 1), np.nan, np.float32)
    score_into(bad, np.ones(4, np.float32), 0.0, np.ones((3, 1), np.float32), base, score)
    assert np.isnan(score[0])


def test_vector_scale_is_fixed_by_the_model():
    """Three spreads below the background is 0, the background 0.3, seven spreads above 1."""
    similarity = np.array([0.0, 0.6, 0.75, 0.85, 1.1], dtype=np.float32)
    expected = [0, 0, 0.3, 0.5, 1]
    assert np.allclose(normalise_vector(similarity, PARAMS), expected, atol=1e-6)


def test_a_secondary_query_counts_less_above_the_background_only():
    """Weight 0.5 halves what stands out and leaves what does not."""
    similarity = np.array([0.65, 0.85], dtype=np.float32)
    assert np.allclose(normalise_vector(similarity, PARAMS, 0.5), [0.1, 0.4], atol=1e-6)


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
