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
STEP_MIN = 1e-6  # a step cut this short does not help
MOVE_MIN = 1e-4  # weights that move less have arrived
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


@dataclass(frozen=True)
class _Stacked:
    """All candidates of some questions in one piece, question after question.

    Attributes:
        features: float64[n, CHANNEL_COUNT]; log_factors: float64[n].
        starts: int64[q], row of each question's first candidate.
        question: int64[n], of each row.
        share: float64[q], what each question counts; they sum to 1.
        target: float64[n], its question's share spread over the needed rows.
        needed: float64[n], 1 where needed, else 0.
    """

    features: Floats
    log_factors: Floats
    starts: NDArray[np.int64]
    question: NDArray[np.int64]
    share: Floats
    target: Floats
    needed: Floats


def _stacked(questions: Sequence[Recorded]) -> _Stacked:
    counts = np.array([len(q.served) for q in questions])
    of_set = Counter(q.set_name for q in questions)
    share = np.array([1 / (len(of_set) * of_set[q.set_name]) for q in questions])
    needed = np.zeros(counts.sum())
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    target = np.zeros_like(needed)
    for q, start, weight in zip(questions, starts, share, strict=True):
        needed[start + q.needed] = 1.0
        target[start + q.needed] = weight / max(1, len(q.needed))
    return _Stacked(
        features=np.concatenate([features(q) for q in questions]),
        log_factors=np.log(np.concatenate([q.factors for q in questions])),
        starts=starts,
        question=np.repeat(np.arange(len(questions)), counts),
        share=share,
        target=target,
        needed=needed,
    )


def fit(questions: Sequence[Recorded], present: Mix, l2: float) -> Mix:
    """Weights and background for these questions.

    Args:
        questions: recorded, each with a candidate; those that need nothing only tell about the
            background.
        present: weights to stay near.
        l2: penalty of a weight's distance from the present one, squared, > 0.
    """
    useful = [q for q in questions if len(q.needed)]
    if not useful:
        return present
    ranked, everything = _stacked(useful), _stacked(questions)
    mix = present
    for _ in range(2):  # the background bends the scores that the weights are fitted to, a little
        mix = Mix(_weights(ranked, mix, present.weights, l2), mix.background)
        mix = Mix(mix.weights, _background(everything, mix))
    return mix


def _weights(rows: _Stacked, mix: Mix, near: Floats, l2: float) -> Floats:
    """Newton's steps, each halved until it helps; a weight at zero stays there while it pushes."""
    weights = mix.weights.copy()
    for _ in range(STEPS_MAX):
        value, gradient, curvature = _loss(rows, weights, mix.background)
        value += _penalty(weights, near, l2)
        gradient += l2 * (weights - near)
        free = (weights > 0) | (gradient < 0)
        step = np.zeros(CHANNEL_COUNT)
        bend = curvature[np.ix_(free, free)] + l2 * np.eye(int(free.sum()))
        step[free] = np.linalg.solve(bend, gradient[free])
        size, tried = 1.0, weights
        while size > STEP_MIN:
            tried = np.maximum(0.0, weights - size * step)
            if _loss(rows, tried, mix.background)[0] + _penalty(tried, near, l2) < value:
                break
            size /= 2
        else:
            return weights
        moved = float(np.abs(tried - weights).max())
        weights = tried
        if moved < MOVE_MIN:
            break
    return weights


def _penalty(weights: Floats, near: Floats, l2: float) -> float:
    return 0.5 * l2 * float(((weights - near) ** 2).sum())


def _loss(rows: _Stacked, weights: Floats, background: float) -> tuple[float, Floats, Floats]:
    """Mean cross-entropy, its gradient, and its curvature without the logistic's own bend."""
    logits = rows.features @ weights + background
    logs = rows.log_factors - np.logaddexp(0.0, -logits)
    highest = np.maximum.reduceat(logs, rows.starts)
    odds = np.exp(logs - highest[rows.question])
    totals = np.add.reduceat(odds, rows.starts)
    chance = odds / totals[rows.question]
    value = float(rows.share @ (highest + np.log(totals)) - rows.target @ logs)
    bent = rows.features / (1 + np.exp(logits))[:, None]  # d log base / d weights
    counted = rows.share[rows.question] * chance
    means = np.add.reduceat(bent * chance[:, None], rows.starts, axis=0)
    curvature = (bent * counted[:, None]).T @ bent - (means * rows.share[:, None]).T @ means
    return value, (counted - rows.target) @ bent, curvature


def _background(rows: _Stacked, mix: Mix) -> float:
    """Newton in one dimension: chances over all candidates sum to the number of needed ones."""
    logits = rows.features @ mix.weights
    share = rows.share[rows.question]
    background = mix.background
    for _ in range(STEPS_MAX):
        chance = 1 / (1 + np.exp(-(logits + background)))
        slope = float(share @ (chance - rows.needed))
        bend = float(share @ (chance * (1 - chance)))
        step = float(np.clip(slope / max(bend, STEP_MIN), -1.0, 1.0))
        background -= step
        if abs(step) < MOVE_MIN:
            break
    return background
