"""How likely a pair of statements is an update or a contradiction, by words and nearness.

Pure functions of `claim_pairs.Features`, for what no trained judge tells: logistic weights, fitted
by `recalld.bench.fit_claims`.
"""

from __future__ import annotations

import math

from recalld.scoring.params import Scale
from recalld.server.claim_pairs import Features

NEAR_FROM, NEAR_TO = 2.5, 4.5
"""Spreads above the background between which nearness goes from 0 to 1."""
LIKELY = 0.5
"""Probability from which a pair counts as outdated or contradicting by its words."""
TOLD_MIN, TOLD_SHARE_MIN = 0.9, 0.6
"""Where the judge marks nothing: probability by words, and share of the words of the shorter text
that both hold, from which a word of change ("no longer") is about the older statement. On the
judge's own lines, full of near misses, 75 of a hundred such marks are right (docs/CONFLICTS.md)."""
# Logistic weights of `claim_pairs.features`, then the bias: fitted by bench/fit_claims.py to one
# half of tests/data/claim_pairs.jsonl; the other half judges them.
OUTDATED_WEIGHTS = (
    *(0.4, 2.7, -2.71, 1.91, 0.38, 0.44, -0.13, -1.15, 0.75),
    *(-0.32, 0.49, -0.24, 3.52, 4.6, 1.66, -0.17, 0.32, -0.1, -5.53),
)
CONTRADICTED_WEIGHTS = (
    *(3.17, 1.25, -0.81, -1.05, -0.99, -0.23, 1.92, 3.33, 1.69),
    *(3.79, -1.13, -0.13, -0.44, -0.26, 3.67, 2.02, 0.26, 0.71, -6.97),
)


def nearness(cosine: float, scale: Scale) -> float:
    """A cosine on a scale from 0, unrelated, to 1, near, that holds for any model."""
    spreads = (cosine - scale.mean) / scale.spread
    return min(1.0, max(0.0, (spreads - NEAR_FROM) / (NEAR_TO - NEAR_FROM)))


def outdated(pair: Features) -> float:
    """How likely it is that the newer of a pair tells of a change of the older, in [0, 1]."""
    return _logistic(OUTDATED_WEIGHTS, pair) if pair.tells_of_change else 0.0


def contradicted(pair: Features) -> float:
    """How likely it is that both of a pair cannot hold, in [0, 1]."""
    return _logistic(CONTRADICTED_WEIGHTS, pair) if pair.opposes else 0.0


def _logistic(weights: tuple[float, ...], pair: Features) -> float:
    """Probability of a weighted sum; the last weight is the bias."""
    total = sum(w * v for w, v in zip(weights, pair, strict=False)) + weights[-1]
    return 1.0 / (1.0 + math.exp(-total))
