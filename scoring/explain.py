"""Explain: the parts of one hit's score, and the score from the parts.

It never looks at anything but the parts; that is the point: whoever holds them can check.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from recalld.scoring.decay import CONFIDENCE_ROW, DECAY_ROW, IMPORTANCE_ROW
from recalld.scoring.fuse import logistic
from recalld.scoring.params import Channel, Fusion
from recalld.scoring.rank import Ranked


@dataclass(frozen=True, slots=True)
class ChannelPart:
    """One channel's share: it contributes `weight * normalised`."""

    channel: Channel
    raw: float
    normalised: float
    weight: float


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Everything that makes one score.

    Attributes:
        channels: those with a weight.
        fusion, bias: how they become the base; `bias` is infinite when nothing was asked.
        base, decay, importance, confidence, score: as ranked.
    """

    channels: tuple[ChannelPart, ...]
    fusion: Fusion
    bias: float
    base: float
    decay: float
    importance: float
    confidence: float
    score: float


def parts(ranked: Ranked, place: int) -> ScoreParts:
    """Return the parts of the hit at `place`, counted from 0."""
    weights = ranked.weights
    channels = tuple(
        ChannelPart(
            channel,
            float(ranked.raw[channel, place]),
            float(ranked.normalised[channel, place]),
            float(weights.channels[channel]),
        )
        for channel in Channel
        if weights.channels[channel] > 0
    )
    return ScoreParts(
        channels,
        weights.fusion,
        weights.bias,
        float(ranked.base[place]),
        float(ranked.factors[DECAY_ROW, place]),
        float(ranked.factors[IMPORTANCE_ROW, place]),
        float(ranked.factors[CONFIDENCE_ROW, place]),
        float(ranked.scores[place]),
    )


def recompute(given: ScoreParts) -> float:
    """Return the score that the parts make, within 1e-6 of the one ranked by."""
    total = sum(part.weight * part.normalised for part in given.channels)
    if given.fusion == Fusion.RRF:
        base = total
    else:
        base = 1.0 if math.isinf(given.bias) else logistic(given.bias + total)
    return base * given.decay * given.importance * given.confidence
