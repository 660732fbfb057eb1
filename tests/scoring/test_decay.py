"""Factors by age, importance and confidence."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.scoring import params
from recalld.scoring.decay import confidence_factor, decay_into, decay_table, importance_factor
from tests.scoring import naive

PARAMS = params.RankParams(0.0, 1.0)
TABLE = decay_table(PARAMS)
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
AGES = st.integers(-(10**15), 10**16)


def faded(kind: int, age_us: int, importance: int = params.MEDIUM) -> float:
    """Return one decay factor."""
    out = np.empty(1, dtype=np.float32)
    kinds = np.array([kind], dtype=np.uint8)
    levels = np.array([importance], dtype=np.uint8)
    now = 2 * 10**16
    decay_into(kinds, levels, np.array([now - age_us]), now, TABLE, out)
    return float(out[0])


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4), AGES), max_size=20))
def test_decay_equals_the_naive_formula(memories):
    """Every factor is floor + (1 - floor) * 2^(-age / half-life)."""
    now = 2 * 10**16
    kinds = np.array([m[0] for m in memories], dtype=np.uint8)
    levels = np.array([m[1] for m in memories], dtype=np.uint8)
    anchors = np.array([now - m[2] for m in memories], dtype=np.int64)
    out = np.empty(len(memories), dtype=np.float32)
    decay_into(kinds, levels, anchors, now, TABLE, out)
    table = [tuple(row) for row in TABLE]
    expected = [naive.decay(table, k, level == params.PINNED, age) for k, level, age in memories]
    assert np.allclose(out, expected, atol=1e-6)


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
    levels = importance_factor(np.arange(5, dtype=np.uint8))
    assert levels[params.LOW] < levels[params.MEDIUM] < levels[params.HIGH] < levels[params.PINNED]
    assert levels[params.PINNED] == 1
    sure = confidence_factor(
        np.array([0, 0.5, 1], np.float32), np.ones(3, dtype=np.uint8), np.zeros(3, np.uint8)
    )
    assert np.allclose(sure, [0.8, 0.9, 1.0])
    speakers = confidence_factor(
        np.ones(5, np.float32), np.arange(5, dtype=np.uint8), np.zeros(5, np.uint8)
    )
    assert speakers[params.AGENT] < speakers[params.USER] == 1


def test_an_outweighed_memory_counts_a_tenth():
    """A memory that another one outweighs keeps a tenth of its factor, never nothing."""
    sure, speaker = np.ones(2, np.float32), np.ones(2, np.uint8)
    factors = confidence_factor(sure, speaker, np.array([0, 1], np.uint8))
    assert np.allclose(factors, [1.0, 0.1])
