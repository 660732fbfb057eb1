"""The best of some candidates, against plain Python."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring import masks, params
from recalld.scoring.decay import FACTOR_COUNT, factor_table
from recalld.scoring.params import CHANNEL_COUNT, Channel, Fusion
from recalld.scoring.rank import Candidates, Weights, promising, rank
from tests.scoring import naive
from tests.scoring.drawn import UNIT, candidates

NOW_US = 10**15
DAY_US = 86_400_000_000
TABLE = factor_table(params.RankParams(0.0, 1.0))


@st.composite
def known_candidates(draw, fusion: Fusion = Fusion.WEIGHTED) -> Candidates:
    """Draw some rows out of more, with facts of all kinds and channels that may be silent."""
    n = draw(st.integers(0, 30))
    whole = st.integers
    small = np.zeros((masks.SMALL_COUNT, n), dtype=np.uint8)
    for row, count in (
        (masks.KIND, params.KIND_COUNT),
        (masks.IMPORTANCE, params.IMPORTANCE_COUNT),
        (masks.STATED_BY, params.STATED_BY_COUNT),
        (masks.DOUBT, params.DOUBT_COUNT),
    ):
        small[row] = draw(hnp.arrays(np.uint8, n, elements=whole(0, count - 1)))
    times = np.zeros((masks.TIME_COUNT, n), dtype=np.int64)
    times[masks.CREATE_TIME] = draw(hnp.arrays(np.int64, n, elements=whole(0, 2)))
    days = draw(hnp.arrays(np.int64, n, elements=whole(-2, 100)))
    times[masks.ANCHOR_TIME] = NOW_US - days * DAY_US
    dues = st.sampled_from([0, NOW_US - 1, NOW_US, NOW_US + 1])
    times[masks.PAST_TIME] = draw(hnp.arrays(np.int64, n, elements=dues))
    sure = draw(hnp.arrays(np.float32, n, elements=UNIT))
    said = {}
    for channel in draw(st.sets(st.sampled_from(Channel))):
        raw = draw(hnp.arrays(np.float32, n, elements=st.sampled_from([0.0, 0.5, 2.0])))
        said[channel] = raw, draw(hnp.arrays(np.float32, n, elements=UNIT))
    rows = np.array(draw(st.lists(whole(0, n - 1), unique=True) if n else st.just([])), np.int64)
    labels = np.array(draw(st.permutations(range(1, n + 1))), dtype=np.int64)
    spares = draw(st.booleans()) and Channel.TIME in said
    settings = np.array([NOW_US, NOW_US, spares, masks.CREATE_TIME, fusion])
    return Candidates(rows, said, (labels, small, times, sure), (TABLE, settings))


def expected_parts(asked: Candidates, weights: Weights, row: int) -> tuple[list[float], bool]:
    """Base, factors and score of one row, and whether it is past its time."""
    _, small, times, sure = asked.facts
    kind, importance = small[masks.KIND, row], small[masks.IMPORTANCE, row]
    due = times[masks.PAST_TIME, row]
    past = due != 0 and due <= NOW_US
    if asked.rules[1][2]:
        past = past and asked.said[Channel.TIME][0][row] > 0
    fade = naive.decay(
        TABLE[:2].T.tolist(),
        kind,
        importance == params.PINNED,
        NOW_US - times[masks.ANCHOR_TIME, row],
    )
    if past and kind == params.STATE:
        fade = params.PAST_DECAY
    trust = 0.8 + 0.2 * float(sure[row])
    trust *= params.STATED_BY_FACTOR[small[masks.STATED_BY, row]]
    trust *= params.DOUBT_FACTOR[small[masks.DOUBT, row]]
    values = [
        float(asked.said[channel][1][row]) if channel in asked.said else 0.0 for channel in Channel
    ]
    base = naive.base(values, weights.channels.tolist(), weights.bias)
    factors = [fade, params.IMPORTANCE_FACTOR[importance], trust]
    return [base, *factors, base * math.prod(factors)], past


@settings(max_examples=200)
@given(known_candidates(), st.integers(0, 40), st.data())
def test_the_best_are_those_of_a_full_sort_of_naive_scores(asked, k, data):
    """Every hit has its naive parts, and nothing that is left out scores more than the last."""
    weights = Weights(
        Fusion.WEIGHTED,
        data.draw(hnp.arrays(np.float32, CHANNEL_COUNT, elements=st.floats(0, 12, width=32))),
        data.draw(st.floats(-8, 2)),
    )
    ranked = rank(asked, weights, k, 0.0)
    scores = {}
    for row in asked.rows.tolist():
        parts, past = expected_parts(asked, weights, row)
        scores[row] = parts[-1]
        places = np.flatnonzero(ranked.rows == row)
        for place in places:
            got = [ranked.base[place], *ranked.factors[:, place], ranked.scores[place]]
            assert np.allclose(got, parts, rtol=1e-5, atol=1e-7)
            assert bool(ranked.past[place]) == past
            assert ranked.labels[place] == asked.facts[0][row]
    best = sorted(scores.values(), reverse=True)[:k]
    assert len(ranked.rows) == min(k, len(scores)) == len(set(ranked.rows.tolist()))
    assert np.allclose(ranked.scores, best, rtol=1e-5, atol=1e-7)
    kept = promising(asked, weights, max(k, 1), 0.0)
    assert set(rank(asked, weights, max(k, 1), 0.0).rows.tolist()) <= set(kept.tolist())


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, math.nan]), st.integers(0, 3)), max_size=30),
    st.integers(0, 40),
    st.randoms(),
)
def test_ties_go_to_the_newer_then_to_the_larger_label(memories, k, random):
    """Equal scores come newest first, then the larger label; what is no number never comes."""
    values, created = [m[0] for m in memories], [m[1] for m in memories]
    asked = candidates({Channel.KEY: values}, created)
    rows = list(range(len(memories)))
    random.shuffle(rows)
    weights = Weights(Fusion.WEIGHTED, np.eye(CHANNEL_COUNT, dtype=np.float32)[Channel.KEY], 0.0)
    ranked = rank(asked._replace(rows=np.array(rows, np.int64)), weights, k, 0.0)
    labels = list(range(1, len(memories) + 1))
    assert ranked.rows.tolist() == naive.top(values, created, labels, k)


def test_an_infinite_bias_makes_every_base_one():
    """A pure filter has nothing to weigh: base 1, whatever the channels hold."""
    asked = candidates({Channel.KEY: [0.0, 1.0]}, factors=[0.5, 0.25])
    weights = Weights(Fusion.WEIGHTED, np.zeros(CHANNEL_COUNT, np.float32), math.inf)
    ranked = rank(asked, weights, 2, 0.0)
    assert ranked.base.tolist() == [1, 1]
    assert ranked.scores.tolist() == [0.5, 0.25]


@given(st.integers(1, 30), st.integers(1, 30), st.randoms())
def test_scores_of_zero_and_many_candidates_fill_the_answer(count, k, random):
    """A score of 0 does not end the search: what comes later and scores more still comes."""
    values = [random.choice([0.0, 0.0, 0.5, 1.0]) for _ in range(count)]
    asked = candidates({Channel.KEY: np.ones(count)}, factors=values)
    weights = Weights(Fusion.WEIGHTED, np.ones(CHANNEL_COUNT, np.float32), 0.0)
    ranked = rank(asked, weights, k, 0.0)
    order = sorted(range(count), key=lambda row: (-values[row], -row))[:k]
    assert ranked.rows.tolist() == order
    assert ranked.factors.shape == (FACTOR_COUNT, len(order))
