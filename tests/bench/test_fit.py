"""Fitting of weights."""

import math

import numpy as np
import pytest

from recalld.bench import fit
from recalld.bench.fit import Mix
from recalld.bench.record_parts import CHANNEL_COUNT, Recorded
from recalld.v1.recall_service_pb2 import Channel

VECTOR, KEYWORD = Channel.CHANNEL_VECTOR - 1, Channel.CHANNEL_KEYWORD - 1
PRESENT = Mix(np.array([8.0, 8.0, 10.0, 4.0, 0.0, 0.0, 0.0, 6.0]), -6.0)


def recorded(channels, needed, *, set_name="s", factors=None, weights=PRESENT.weights):
    """A question with these channels float[m, CHANNEL_COUNT] and needed positions."""
    count = len(channels)
    return Recorded(
        set_name=set_name,
        store="store",
        category="c",
        text="q",
        documents=[],
        needed=np.array(needed, dtype=np.int64),
        needed_count=len(needed),
        firsts=np.array(needed, dtype=np.int64),
        has_first=bool(needed),
        all_counts=False,
        channels=np.array(channels, dtype=np.float64),
        factors=np.ones(count) if factors is None else np.array(factors),
        served=np.zeros(count),
        weights=np.array(weights),
        bias=-10.8,  # -6 less 0.3 times both weights of 8
    )


def drawn(seed, count, told_by):
    """Questions of which one channel alone tells the needed memory; the others are noise."""
    random = np.random.default_rng(seed)
    questions = []
    for _ in range(count):
        channels = random.uniform(0, 0.5, (20, CHANNEL_COUNT))
        needed = int(random.integers(20))
        channels[needed, told_by] += 0.4
        questions.append(recorded(channels, [needed]))
    return questions


def plain_loss(questions, weights, background, l2):
    """Cross-entropy and penalty in plain Python, one question of one set after the other."""
    total = 0.0
    for q in questions:
        scores = []
        for row, factor in zip(q.channels, q.factors, strict=True):
            logit = background
            for column, value in enumerate(row):
                ground = 0.3 if column in (0, 1) else 0.0
                logit += weights[column] * (value - ground)
            scores.append(factor / (1 + math.exp(-logit)))
        needed = [math.log(scores[i] / sum(scores)) for i in q.needed]
        total -= sum(needed) / len(needed) / len(questions)
    return total + l2 / 2 * sum((w - p) ** 2 for w, p in zip(weights, PRESENT.weights, strict=True))


def test_served_mix_reads_the_background_off_the_bias():
    """A memory at the background mean has the background's log-odds, as the server counts."""
    mix = fit.served_mix(recorded(np.zeros((1, CHANNEL_COUNT)), []))
    assert mix.background == pytest.approx(-6.0)
    at_mean = np.zeros((1, CHANNEL_COUNT))
    at_mean[0, :2] = 0.3
    assert mix.logits(recorded(at_mean, []))[0] == pytest.approx(-6.0)


def test_weights_move_to_the_channel_that_tells():
    """Channels that are noise lose nearly all weight beside the telling one; none is negative."""
    fitted = fit.fit(drawn(1, 200, KEYWORD), PRESENT, 0.001)
    noise = np.delete(fitted.weights, KEYWORD)
    assert noise.max() < fitted.weights[KEYWORD] / 4
    assert fitted.weights.min() >= 0.0


def test_fit_is_the_minimum_of_a_plain_loss():
    """No weight can be moved either way without a loss counted in plain Python growing."""
    questions = drawn(2, 25, VECTOR)
    fitted = fit.fit(questions, PRESENT, 0.05)
    rows = fit._stacked(questions)
    weights = fit._weights(rows, Mix(PRESENT.weights, fitted.background), PRESENT.weights, 0.05)
    least = plain_loss(questions, weights, fitted.background, 0.05)
    for column in range(CHANNEL_COUNT):
        for step in (-0.2, 0.2):
            moved = weights.copy()
            moved[column] = max(0.0, moved[column] + step)
            if moved[column] != weights[column]:
                assert plain_loss(questions, moved, fitted.background, 0.05) > least


def test_a_heavy_pull_keeps_the_present_weights():
    """With a large penalty nothing moves; without a needed memory nothing is fitted at all."""
    kept = fit.fit(drawn(3, 20, KEYWORD), PRESENT, 1e6)
    assert kept.weights == pytest.approx(PRESENT.weights, abs=1e-3)
    assert fit.fit([recorded(np.zeros((3, CHANNEL_COUNT)), [])], PRESENT, 0.01) is PRESENT


def test_background_makes_chances_of_bases():
    """After the fit the bases of all candidates sum to the number of needed ones."""
    questions = [*drawn(4, 50, KEYWORD), recorded(np.full((20, CHANNEL_COUNT), 0.2), [])]
    fitted = fit.fit(questions, PRESENT, 0.01)
    total = sum(float(fitted.scores(q).sum()) for q in questions)  # all factors are 1
    assert total == pytest.approx(50, abs=0.05)


def test_sets_count_alike_however_large():
    """Ten times the questions of one set change nothing but by their number."""
    first = drawn(5, 10, KEYWORD)
    second = [recorded(q.channels, q.needed.tolist(), set_name="t") for q in drawn(6, 10, VECTOR)]
    once = fit.fit([*first, *second], PRESENT, 0.01)
    repeated = fit.fit([*first * 10, *second], PRESENT, 0.01)
    assert repeated.weights == pytest.approx(once.weights, abs=1e-2)


def test_factors_take_part_in_the_score():
    """A score is base times factors, the base the logistic of the log-odds."""
    question = recorded(np.zeros((2, CHANNEL_COUNT)), [], factors=[1.0, 0.5])
    base = 1 / (1 + math.exp(6.0 + 0.3 * 16))
    assert fit.served_mix(question).scores(question) == pytest.approx([base, base / 2])
