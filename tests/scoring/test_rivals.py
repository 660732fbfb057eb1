"""Bounds of factors against the factors themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.scoring import masks, params
from recalld.scoring.decay import factor_table
from recalld.scoring.rivals import make_bars, rivals_into
from tests.scoring import naive

NOW_US = 10**15
DAY_US = 86_400_000_000
PARAMS = params.RankParams(0.0, 0.1)
TABLE = factor_table(PARAMS)


@st.composite
def memories(draw):
    """Log-odds, kind, importance, speaker, doubt and age in days of one memory."""
    age = st.one_of(st.integers(-5, 4_000), st.sampled_from([0, 30, 90, 100_000]))
    return (
        draw(st.floats(-12, 12, width=32)),
        draw(st.integers(1, params.KIND_COUNT - 1)),
        draw(st.integers(1, params.IMPORTANCE_COUNT - 1)),
        draw(st.integers(1, params.STATED_BY_COUNT - 1)),
        draw(st.integers(0, params.DOUBT_COUNT - 1)),
        draw(age),
    )


def found(table, score):
    """Places that can reach a score."""
    small = np.ones((masks.SMALL_COUNT, len(table)), np.uint8)
    times = np.zeros((masks.TIME_COUNT, len(table)), np.int64)
    for i, (_, kind, importance, speaker, doubt, age) in enumerate(table):
        fields = (masks.KIND, masks.IMPORTANCE, masks.STATED_BY, masks.DOUBT)
        small[list(fields), i] = kind, importance, speaker, doubt
        times[masks.ANCHOR_TIME, i] = NOW_US - age * DAY_US
    logit = np.array([row[0] for row in table], np.float32)
    bars = make_bars(score)
    rows = np.flatnonzero(logit >= bars[-1])
    count = rivals_into(logit, small, times, NOW_US, TABLE, bars, rows)
    return rows[:count].tolist()


def best_score(memory):
    """Score of a memory of full confidence."""
    logit, kind, importance, speaker, doubt, age = memory
    kinds = [(decay.half_life_s, decay.floor) for decay in PARAMS.decay]
    fade = naive.decay(kinds, kind, importance == params.PINNED, age * DAY_US)
    factors = params.IMPORTANCE_FACTOR[importance] * params.STATED_BY_FACTOR[speaker]
    return naive.logistic(float(logit)) * fade * factors * params.DOUBT_FACTOR[doubt]


@given(st.lists(memories(), max_size=30), st.floats(0, 1))
def test_what_reaches_a_score_is_never_dropped(table, score):
    """Every memory whose score is as high is kept, in order; hardly any that is much lower is."""
    kept = found(table, score)
    scores = [best_score(memory) for memory in table]
    assert {i for i, value in enumerate(scores) if value >= score} <= set(kept)
    assert kept == sorted(kept)
    # A step of age is worth 4.4 %, one of the product of factors 1/256 of it at most.
    assert all(scores[i] * 1.05 + 0.005 >= score for i in kept)


def test_rows_that_may_not_answer_are_dropped():
    """Log-odds of minus infinity reach nothing but a score of nothing."""
    nobody = [(-np.inf, 1, 2, 1, 0, 0)]
    assert found(nobody, 1e-9) == []
    assert found(nobody, 0.0) == [0]
