"""Ranking: weights, parts and pruning."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.errors import BadScoringInput
from recalld.scoring.explain import parts, recompute
from recalld.scoring.params import (
    CHANNEL_COUNT,
    SIMILAR,
    STATEMENTS,
    WORDS_ALONE,
    Channel,
    Fusion,
    Mix,
    RankParams,
)
from recalld.scoring.rank import Evidence, make_weights, may_win, rank, within_reach

ALL = frozenset(Channel)
FACTOR = st.floats(0.25, 1, width=32)


@st.composite
def evidences(draw, max_size=25):
    """Draw candidates with tied and untied evidence."""
    m = draw(st.integers(0, max_size))
    unit = st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0]) | st.floats(0, 1, width=32)
    return Evidence(
        np.arange(1, m + 1),
        draw(hnp.arrays(np.int64, m, elements=st.integers(0, 3))),
        draw(hnp.arrays(np.float32, (CHANNEL_COUNT, m), elements=unit)),
        draw(hnp.arrays(np.float32, (CHANNEL_COUNT, m), elements=unit)),
        draw(hnp.arrays(np.float32, (3, m), elements=FACTOR)),
    )


@given(evidences(), st.sampled_from(Fusion), st.integers(0, 30))
def test_the_parts_of_every_hit_make_its_score(evidence, fusion, k):
    """Recomputing from the parts gives the ranked score within 1e-6, under both fusions."""
    ranked = rank(evidence, make_weights(fusion, ALL, {}), k, 0.0)
    assert len(ranked.labels) == min(k, len(evidence.labels))
    for place in range(len(ranked.labels)):
        given_parts = parts(ranked, place)
        assert math.isclose(recompute(given_parts), given_parts.score, abs_tol=1e-6)
        assert 0 <= given_parts.score <= 1 + 1e-6


@given(evidences(), st.sampled_from(Fusion), st.integers(1, 9), st.randoms())
def test_permuting_the_candidates_changes_nothing(evidence, fusion, k, random):
    """The same candidates in another order give the same labels and scores, bit for bit."""
    order = list(range(len(evidence.labels)))
    random.shuffle(order)
    shuffled = Evidence(
        evidence.labels[order],
        evidence.create_us[order],
        np.ascontiguousarray(evidence.raw[:, order]),
        np.ascontiguousarray(evidence.normalised[:, order]),
        np.ascontiguousarray(evidence.factors[:, order]),
    )
    weights = make_weights(fusion, ALL, {})
    one, other = rank(evidence, weights, k, 0.0), rank(shuffled, weights, k, 0.0)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.scores.tolist() == other.scores.tolist()


@given(evidences(max_size=60), st.integers(1, 5), st.sampled_from([0, 1 / 64, 1 / 32]), st.data())
def test_pruning_never_drops_a_winner(evidence, k, error, data):
    """Whatever is among the best k stays, though the evidence seen is off by up to the slack."""
    weights = make_weights(Fusion.WEIGHTED, ALL, {})
    best = rank(evidence, weights, k, 0.0)
    errors = st.sampled_from([-error, 0.0, error])
    seen = evidence.normalised.copy()
    seen[Channel.VECTOR] += data.draw(hnp.arrays(np.float32, seen.shape[1], elements=errors))
    slack = error * float(weights.channels[Channel.VECTOR])
    kept = may_win(seen, weights, evidence.factors, k, slack)
    assert set(best.labels.tolist()) <= set(evidence.labels[kept].tolist())
    kept = within_reach(seen, weights, k, slack, 0.25**3)
    assert set(best.labels.tolist()) <= set(evidence.labels[kept].tolist())


def test_min_score_drops_the_tail():
    """Hits below the lowest wanted score are left out."""
    normalised = np.zeros((CHANNEL_COUNT, 2), np.float32)
    normalised[[Channel.VECTOR, Channel.RELEVANCE]] = [0.9, 0.1]
    normalised[Channel.KEYWORD] = [0.9, 0.0]
    evidence = Evidence(
        np.array([1, 2]),
        np.zeros(2, np.int64),
        np.zeros_like(normalised),
        normalised,
        np.ones((3, 2), np.float32),
    )
    weights = make_weights(Fusion.WEIGHTED, ALL, {})
    assert rank(evidence, weights, 2, 0.5).labels.tolist() == [1]


def test_the_background_keeps_its_base_whatever_the_vector_weighs():
    """A memory at the background mean has the same log-odds under every multiplier."""
    for multiplier in (0.0, 0.5, 1.0, 3.0):
        weights = make_weights(Fusion.WEIGHTED, ALL, {Channel.VECTOR: multiplier})
        vectors = weights.channels[Channel.VECTOR] + weights.channels[Channel.RELEVANCE]
        logit = weights.bias + 0.3 * float(vectors) + 0.5 * float(weights.channels[Channel.TIME])
        assert math.isclose(logit, STATEMENTS.background, abs_tol=1e-5)


def test_the_cut_is_that_of_the_channels_asked():
    """Relevance, similarity and words alone each have a cut of their own."""
    words = frozenset({Channel.KEYWORD, Channel.IDENTIFIER, Channel.KEY})
    for asked, mix in (
        (ALL, STATEMENTS),
        (words | {Channel.VECTOR}, SIMILAR),
        (words, WORDS_ALONE),
    ):
        weights = make_weights(Fusion.WEIGHTED, asked, {})
        assert weights.cut == mix.cut
        evidence = Evidence(
            np.array([1, 2]),
            np.array([1, 1]),
            np.zeros((CHANNEL_COUNT, 2), np.float32),
            np.zeros((CHANNEL_COUNT, 2), np.float32),
            np.ones((3, 2), np.float32),
        )
        evidence.normalised[Channel.KEYWORD] = [1.0, 0.0]
        full = 1 / (1 + math.exp(-(weights.bias + mix.weights[Channel.KEYWORD])))
        none = 1 / (1 + math.exp(-weights.bias))
        lowest = max(mix.cut, 0.04 * full)
        expected = [label for label, score in ((1, full), (2, none)) if score >= lowest]
        assert rank(evidence, weights, 2, None).labels.tolist() == expected


def test_a_weak_tail_is_dropped_beside_a_sure_answer():
    """Without a least score, hits of less than a twenty-fifth of the best one's score stay out."""
    weights = make_weights(Fusion.WEIGHTED, ALL, {})
    normalised = np.zeros((CHANNEL_COUNT, 3), np.float32)
    # Logits beyond the bias that give the scores 0.9, 0.9 / 20 and 0.9 / 30.
    for i, score in enumerate((0.9, 0.9 / 20, 0.9 / 30)):
        logit = math.log(score / (1 - score)) - weights.bias
        normalised[Channel.VECTOR, i] = logit / weights.channels[Channel.VECTOR]
    evidence = Evidence(
        np.array([1, 2, 3]),
        np.array([1, 1, 1]),
        np.zeros_like(normalised),
        normalised,
        np.ones((3, 3), np.float32),
    )
    assert rank(evidence, weights, 3, None).labels.tolist() == [1, 2]
    assert rank(evidence, weights, 3, 0.0).labels.tolist() == [1, 2, 3]


def test_what_lies_in_the_time_asked_about_is_never_cut():
    """Where the request names a time, a memory of that time comes however low its score."""
    asked = frozenset({Channel.VECTOR, Channel.TIME})
    weights = make_weights(Fusion.WEIGHTED, asked, {})
    normalised = np.zeros((CHANNEL_COUNT, 2), np.float32)
    normalised[Channel.TIME] = [1.0, 0.9]
    evidence = Evidence(
        np.array([1, 2]),
        np.array([1, 1]),
        np.zeros_like(normalised),
        normalised,
        np.ones((3, 2), np.float32),
    )
    assert rank(evidence, weights, 2, None).labels.tolist() == [1]
    assert rank(evidence, weights, 2, 0.5).labels.tolist() == []


def test_rrf_weights_sum_to_one():
    """RRF scores are at most 1, whatever channels are asked."""
    weights = make_weights(Fusion.RRF, ALL, {Channel.KEYWORD: 3.0})
    assert math.isclose(float(weights.channels.sum()), 1.0, abs_tol=1e-6)


def test_a_weight_out_of_range_is_refused():
    """Negative, huge and NaN multipliers raise."""
    for multiplier in (-1.0, 11.0, math.nan):
        with pytest.raises(BadScoringInput):
            make_weights(Fusion.WEIGHTED, ALL, {Channel.KEY: multiplier})


def test_parameters_out_of_range_are_refused():
    """A model without spread, or with a mean that no cosine has, raises."""
    with pytest.raises(BadScoringInput):
        RankParams(0.7, 0.0)
    with pytest.raises(BadScoringInput):
        RankParams(math.nan, 0.1)
    with pytest.raises(BadScoringInput):
        Mix((1.0, -1.0, *[0.0] * (CHANNEL_COUNT - 2)), 0.0, 0.0)
    with pytest.raises(BadScoringInput):
        Mix((1.0,), 0.0, 0.0)
    with pytest.raises(BadScoringInput):
        Mix((1.0,) * CHANNEL_COUNT, 0.0, 1.5)
