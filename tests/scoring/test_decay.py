"""Factors by age, importance and confidence."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.scoring import masks, params
from recalld.scoring.best import PART_COUNT, parts_into
from recalld.scoring.decay import (
    CONFIDENCE_ROW,
    DECAY_ROW,
    FACTOR_COUNT,
    IMPORTANCE_ROW,
    factor_table,
)
from tests.scoring import naive

PARAMS = params.RankParams(0.0, 1.0)
TABLE = factor_table(PARAMS)
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
AGES = st.integers(-(10**15), 10**16)


NOW_US = 2 * 10**16


def factors_of(rows, small, times, confidence):
    """Return float32[3, len(rows)] of chosen rows."""
    facts = np.arange(len(confidence)), small, times, confidence
    rules = TABLE, np.array([NOW_US, NOW_US, 0, masks.CREATE_TIME, params.Fusion.WEIGHTED])
    out = np.empty((len(rows), PART_COUNT), dtype=np.float32)
    for place, row in enumerate(rows):
        parts_into(0.0, row, np.zeros(0, np.float32), facts, rules, out[place])
    return out[:, :FACTOR_COUNT].T


def factors(kinds, levels, ages_us, confidence=None, speakers=None, doubt=0, past_us=0):
    """Return float32[3, m] of memories, named in the order of their rows."""
    m = len(ages_us)
    small = np.zeros((masks.SMALL_COUNT, m), dtype=np.uint8)
    small[masks.KIND], small[masks.IMPORTANCE] = kinds, levels
    small[masks.STATED_BY] = 1 if speakers is None else speakers
    small[masks.DOUBT] = doubt
    sure = np.ones(m) if confidence is None else np.asarray(confidence)
    times = np.zeros((masks.TIME_COUNT, m), dtype=np.int64)
    times[masks.ANCHOR_TIME] = NOW_US - np.array(ages_us, dtype=np.int64)
    times[masks.PAST_TIME] = past_us
    return factors_of(range(m), small, times, sure.astype(np.float32))


def faded(kind: int, age_us: int, importance: int = params.MEDIUM) -> float:
    """Return one decay factor."""
    return float(factors([kind], [importance], [age_us])[DECAY_ROW, 0])


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4), AGES), max_size=20))
def test_decay_equals_the_naive_formula(memories):
    """Every factor is floor + (1 - floor) * 2^(-age / half-life)."""
    kinds, levels, ages = ([m[i] for m in memories] for i in range(3))
    table = [tuple(row) for row in TABLE[:2].T]
    expected = [naive.decay(table, k, level == params.PINNED, age) for k, level, age in memories]
    assert np.allclose(factors(kinds, levels, ages)[DECAY_ROW], expected, atol=1e-6)


def test_factors_are_those_of_the_chosen_rows():
    """Rows may come in any order and more than once."""
    small = np.zeros((masks.SMALL_COUNT, 3), dtype=np.uint8)
    small[masks.IMPORTANCE] = (params.LOW, params.HIGH, params.PINNED)
    times = np.zeros((masks.TIME_COUNT, 3), dtype=np.int64)
    rows = [2, 0, 2]
    out = factors_of(rows, small, times, np.ones(3, np.float32))
    assert np.allclose(out[IMPORTANCE_ROW], [1.0, 0.87, 1.0])


@given(st.integers(1, 8), AGES, AGES)
def test_decay_falls_with_age_between_one_and_the_floor(kind, one, other):
    """The older of two memories of a kind never has the larger factor, nor less than the floor."""
    younger, older = sorted((one, other))
    assert faded(kind, younger) >= faded(kind, older)
    assert params.DECAY[kind].floor - 1e-6 <= faded(kind, older) <= 1


def test_decay_at_the_half_life_is_half_way_to_the_floor():
    """An event of one hour ago stands half way between 1 and 0.7; a state of 3 days at 0.8."""
    assert math.isclose(faded(params.EVENT, HOUR_US), 0.85, abs_tol=1e-6)
    assert math.isclose(faded(params.STATE, 3 * DAY_US), 0.8, abs_tol=1e-6)
    assert math.isclose(faded(params.FACT, 90 * DAY_US), 0.925, abs_tol=1e-6)


def test_new_pinned_and_document_memories_do_not_decay():
    """Age 0, a time in the future, PINNED and DOCUMENT all give exactly 1."""
    assert faded(params.EVENT, 0) == 1
    assert faded(params.EVENT, -DAY_US) == 1
    assert faded(params.EVENT, 1000 * DAY_US, params.PINNED) == 1
    assert faded(params.DOCUMENT, 1000 * DAY_US) == 1


def test_importance_and_confidence_are_ordered_and_bounded():
    """More important, surer and better sourced memories get larger factors, none above 1."""
    out = factors([1] * 5, range(5), [0] * 5)[IMPORTANCE_ROW]
    assert out[params.LOW] < out[params.MEDIUM] < out[params.HIGH] < out[params.PINNED] == 1
    sure = factors([1] * 3, [1] * 3, [0] * 3, confidence=[0, 0.5, 1])[CONFIDENCE_ROW]
    assert np.allclose(sure, [0.8, 0.9, 1.0])
    speakers = factors([1] * 5, [1] * 5, [0] * 5, speakers=range(5))[CONFIDENCE_ROW]
    assert speakers[params.AGENT] < speakers[params.USER] == 1


def test_a_doubtful_memory_never_counts_nothing():
    """A later change or a mere musing leaves three tenths, a stronger speaker a tenth."""
    trust = factors([1] * 4, [1] * 4, [0] * 4, doubt=[0, 1, 2, 3])[CONFIDENCE_ROW]
    assert np.allclose(trust, [1.0, 0.3, 0.1, 0.3])


def test_only_a_state_past_its_time_is_faded_beyond_its_floor():
    """From the moment on at which it is due, a state counts a tenth; other kinds do not."""
    kinds = [params.STATE, params.STATE, params.EVENT, params.STATE]
    due = [NOW_US, NOW_US + 1, NOW_US, 0]
    out = factors(kinds, [1] * 4, [0] * 4, past_us=due)[DECAY_ROW]
    assert np.allclose(out, [0.1, 1.0, 1.0, 1.0])
