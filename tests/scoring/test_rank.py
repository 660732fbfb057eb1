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
from recalld.scoring.rank import make_weights, promising, rank
from tests.scoring.drawn import candidates, drawn_candidates

ALL = frozenset(Channel)


@given(st.data(), st.sampled_from(Fusion), st.integers(0, 30))
def test_the_parts_of_every_hit_make_its_score(data, fusion, k):
    """Recomputing from the parts gives the ranked score within 1e-6, under both fusions."""
    asked = data.draw(drawn_candidates(fusion=fusion))
    ranked = rank(asked, make_weights(fusion, ALL, {}), k, 0.0)
    assert len(ranked.labels) == min(k, len(asked.rows))
    for place in range(len(ranked.labels)):
        given_parts = parts(ranked, place)
        assert math.isclose(recompute(given_parts), given_parts.score, abs_tol=1e-6)
        assert 0 <= given_parts.score <= 1 + 1e-6
        said = {channel: raw[ranked.rows[place]] for channel, (raw, _) in asked.said.items()}
        assert [said[channel] for channel in Channel] == ranked.raw[:, place].tolist()
        assert np.array_equal(-ranked.raw[:, place], ranked.evidence[:, place])


@given(st.data(), st.sampled_from(Fusion), st.integers(1, 9), st.randoms())
def test_permuting_the_candidates_changes_nothing(data, fusion, k, random):
    """The same candidates in another order give the same labels and scores, bit for bit."""
    asked = data.draw(drawn_candidates(fusion=fusion))
    rows = asked.rows.tolist()
    random.shuffle(rows)
    weights = make_weights(fusion, ALL, {})
    one = rank(asked, weights, k, 0.0)
    other = rank(asked._replace(rows=np.array(rows, np.int64)), weights, k, 0.0)
    assert one.labels.tolist() == other.labels.tolist()
    assert one.scores.tolist() == other.scores.tolist()


@given(
    drawn_candidates(max_size=60),
    st.integers(1, 5),
    st.sampled_from([0, 1 / 64, 1 / 32]),
    st.data(),
)
def test_pruning_never_drops_a_winner(asked, k, error, data):
    """Whatever is among the best k stays, though the evidence seen is off by up to the slack."""
    weights = make_weights(Fusion.WEIGHTED, ALL, {})
    best = rank(asked, weights, k, 0.0)
    errors = st.sampled_from([-error, 0.0, error])
    raw, exact = asked.said[Channel.VECTOR]
    seen = exact + data.draw(hnp.arrays(np.float32, len(exact), elements=errors))
    slack = error * float(weights.channels[Channel.VECTOR])
    rough = asked._replace(said={**asked.said, Channel.VECTOR: (raw, seen)})
    kept = promising(rough, weights, k, slack).tolist()
    assert set(best.rows.tolist()) <= set(kept)
    assert kept == sorted(kept)


def test_min_score_drops_the_tail():
    """Hits below the lowest wanted score are left out."""
    normalised = np.zeros((CHANNEL_COUNT, 2), np.float32)
    normalised[[Channel.VECTOR, Channel.RELEVANCE]] = [0.9, 0.1]
    normalised[Channel.KEYWORD] = [0.9, 0.0]
    evidence = candidates(normalised)
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
        evidence = candidates({Channel.KEYWORD: [1.0, 0.0]})
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
    evidence = candidates(normalised)
    assert rank(evidence, weights, 3, None).labels.tolist() == [1, 2]
    assert rank(evidence, weights, 3, 0.0).labels.tolist() == [1, 2, 3]


def test_what_lies_in_the_time_asked_about_is_never_cut():
    """Where the request names a time, a memory of that time comes however low its score."""
    asked = frozenset({Channel.VECTOR, Channel.TIME})
    weights = make_weights(Fusion.WEIGHTED, asked, {})
    normalised = np.zeros((CHANNEL_COUNT, 2), np.float32)
    normalised[Channel.TIME] = [1.0, 0.9]
    evidence = candidates(normalised)
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
