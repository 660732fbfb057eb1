"""Fits the weights of the logistic score to recorded questions.

Two steps. The weights: cross-entropy of putting each needed memory first, by the score as served
(base times factors), with a penalty on leaving the present weights; weights are never below zero.
The background: likelihood of "is needed" over all candidates, so that a base is a probability.
Every set counts alike, however many questions it has. Plain numpy; never talks to a server.
Invariant: without a question the present weights come back.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.bench.record_parts import CHANNEL_COUNT, Recorded
from recalld.scoring.params import BACKGROUND_VECTOR
from recalld.v1.recall_service_pb2 import Channel

# Steps that are enough for either problem: both are convex but for the bend of the logistic.
STEPS_MAX = 50
STEP_MIN = 1e-6
VECTOR_COLUMNS = (Channel.CHANNEL_VECTOR - 1, Channel.CHANNEL_RELEVANCE - 1)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mix:
    """Weights by column, and the log-odds of a memory at the background."""

    weights: Floats
    background: float

    def logits(self, question: Recorded) -> Floats:
        """Log-odds of every candidate."""
        return features(question) @ self.weights + self.background

    def scores(self, question: Recorded) -> Floats:
        """Scores of every candidate, as the server would give them."""
        return np.exp(-np.logaddexp(0.0, -self.logits(question))) * question.factors


def served_mix(question: Recorded) -> Mix:
    """The server's own, as the question was answered."""
    at_background = BACKGROUND_VECTOR * sum(float(question.weights[c]) for c in VECTOR_COLUMNS)
    return Mix(question.weights, question.bias + at_background)


def features(question: Recorded) -> Floats:
    """Channels float64[m, CHANNEL_COUNT], those of vectors counted from the background on."""
    out = question.channels.copy()
    out[:, VECTOR_COLUMNS] -= BACKGROUND_VECTOR
    return out


def fit(questions: Sequence[Recorded], present: Mix, l2: float) -> Mix:
    """Weights and background for these questions.

    Args:
        questions: recorded; those that need nothing only tell about the background.
        present: weights to stay near.
        l2: penalty of a weight's distance from the present one, squared, > 0.
    """
    if not questions:
        return present
    useful = [q for q in questions if len(q.needed)]
    mix = present
    for _ in range(2):  # the background bends the scores that the weights are fitted to, a little
        mix = Mix(_weights(useful, mix, present.weights, l2), mix.background)
        mix = Mix(mix.weights, _background(questions, mix))
    return mix


def shares(questions: Sequence[Recorded]) -> Floats:
    """What each question counts, float64[q], summing to 1: sets alike, questions of a set alike."""
    counts = Counter(q.set_name for q in questions)
    return np.array([1 / (len(counts) * counts[q.set_name]) for q in questions])


def _weights(questions: Sequence[Recorded], mix: Mix, near: Floats, l2: float) -> Floats:
    """Newton's steps, each halved until it helps; a weight at zero stays there while it pushes."""
    weights = mix.weights.copy()
    counts = shares(questions)
    for _ in range(STEPS_MAX):
        at = Mix(weights, mix.background)
        gradient = l2 * (weights - near)
        curvature = l2 * np.eye(CHANNEL_COUNT)
        for question, share in zip(questions, counts, strict=True):
            slope, bend = _slope(question, at)
            gradient += share * slope
            curvature += share * bend
        free = (weights > 0) | (gradient < 0)
        step = np.zeros(CHANNEL_COUNT)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        before = loss(questions, at, near, l2)
        size = 1.0
        while size > STEP_MIN:
            tried = np.maximum(0.0, weights - size * step)
            if loss(questions, Mix(tried, mix.background), near, l2) < before:
                break
            size /= 2
        else:
            return weights
        moved = float(np.abs(tried - weights).max())
        weights = tried
        if moved < STEP_MIN:
            break
    return weights


def loss(questions: Sequence[Recorded], mix: Mix, near: Floats, l2: float) -> float:
    """Mean cross-entropy of the needed ones, and the penalty."""
    total = 0.5 * l2 * float(((mix.weights - near) ** 2).sum())
    for question, share in zip(questions, shares(questions), strict=True):
        logs = _log_scores(question, mix)
        total += share * (np.logaddexp.reduce(logs) - float(logs[question.needed].mean()))
    return total


def _log_scores(question: Recorded, mix: Mix) -> Floats:
    logs: Floats = -np.logaddexp(0.0, -mix.logits(question)) + np.log(question.factors)
    return logs


def _slope(question: Recorded, mix: Mix) -> tuple[Floats, Floats]:
    """Gradient of one question's cross-entropy, and its curvature without the logistic's bend."""
    logits = mix.logits(question)
    bent = features(question) / (1 + np.exp(logits))[:, None]  # d log base / d weights
    logs = _log_scores(question, mix)
    chance = np.exp(logs - np.logaddexp.reduce(logs))
    mean = chance @ bent
    curvature = (bent * chance[:, None]).T @ bent - np.outer(mean, mean)
    return mean - bent[question.needed].mean(axis=0), curvature


def _background(questions: Sequence[Recorded], mix: Mix) -> float:
    """Newton in one dimension: chances over all candidates sum to the number of needed ones."""
    logits = [features(q) @ mix.weights for q in questions]
    counts = shares(questions)
    background = mix.background
    for _ in range(STEPS_MAX):
        slope = bend = 0.0
        for question, logit, share in zip(questions, logits, counts, strict=True):
            chance = 1 / (1 + np.exp(-(logit + background)))
            slope += share * (float(chance.sum()) - len(question.needed))
            bend += share * float((chance * (1 - chance)).sum())
        step = float(np.clip(slope / max(bend, STEP_MIN), -1.0, 1.0))
        background -= step
        if abs(step) < STEP_MIN:
            break
    return background
