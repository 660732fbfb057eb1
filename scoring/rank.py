"""Rank: composes the kernels; evidence and factors in, order, scores and their parts out.

`score = base * decay * importance * confidence`, with the base from `scoring.fuse`. It never finds
candidates and never reads a clock.

Invariants: the answer does not depend on the order of the input; equal input gives equal output,
bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.decay import CONFIDENCE_ROW, DECAY_ROW, FACTOR_COUNT, IMPORTANCE_ROW
from recalld.scoring.errors import BadScoringInput
from recalld.scoring.fuse import fuse_into, logistic, reciprocal_ranks, score_into
from recalld.scoring.params import (
    BACKGROUND_TIME,
    BACKGROUND_VECTOR,
    CHANNEL_COUNT,
    CONFIDENCE_FLOOR,
    DOUBT_FACTOR,
    IMPORTANCE_FACTOR,
    PAST_DECAY,
    STATED_BY_FACTOR,
    TAIL_SHARE,
    VECTOR_CHANNELS,
    WEIGHT_MAX,
    Channel,
    Fusion,
    Makeup,
    RankParams,
    mix_of,
)
from recalld.scoring.topk import kth_largest, select

# Ranks are of equal worth, but for what neighbours say: that only adds to what a memory says.
RRF_WEIGHTS = tuple(float(channel != Channel.RELATION) for channel in Channel)
# Candidates within this share of the score to reach are kept: float32 rounding.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Weights:
    """What the fusion multiplies with.

    Attributes:
        fusion: WEIGHTED or RRF.
        channels: float32[CHANNEL_COUNT]; for RRF they sum to 1.
        bias: log-odds added by WEIGHTED; infinite when nothing was asked, which makes every base 1.
        cut: scores below it say nothing, in [0, 1].
    """

    fusion: Fusion
    channels: NDArray[np.float32]
    bias: float
    cut: float = 0.0


@dataclass(frozen=True)
class Evidence:
    """Candidates and what is known of them, m columns each.

    Attributes:
        labels: int64[m], distinct; create_us: int64[m].
        raw: float32[CHANNEL_COUNT, m], the channels' own numbers, only carried along.
        normalised: float32[CHANNEL_COUNT, m], in 0..1.
        factors: float32[FACTOR_COUNT, m], in (0, 1].
    """

    labels: NDArray[np.int64]
    create_us: NDArray[np.int64]
    raw: NDArray[np.float32]
    normalised: NDArray[np.float32]
    factors: NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """The best candidates, best first, with the parts that reproduce their scores.

    Attributes:
        labels: int64[h]; scores, base: float32[h].
        raw, normalised: float32[CHANNEL_COUNT, h]; factors: float32[FACTOR_COUNT, h].
        evidence: float32[CHANNEL_COUNT, h], as it was given; for RRF `normalised` holds ranks.
        weights: the fusion's.
        places: int64[h], positions in the evidence.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float32]
    base: NDArray[np.float32]
    raw: NDArray[np.float32]
    normalised: NDArray[np.float32]
    evidence: NDArray[np.float32]
    factors: NDArray[np.float32]
    weights: Weights
    places: NDArray[np.int64]

    def taken(self, order: NDArray[np.int64]) -> Ranked:
        """Return the candidates at some places of this list, in the order of `order`."""
        return Ranked(
            self.labels[order],
            self.scores[order],
            self.base[order],
            self.raw.take(order, axis=1),
            self.normalised.take(order, axis=1),
            self.evidence.take(order, axis=1),
            self.factors.take(order, axis=1),
            self.weights,
            self.places[order],
        )


def make_weights(
    fusion: Fusion,
    asked: frozenset[Channel],
    multipliers: Mapping[Channel, float],
    makeup: Makeup = Makeup.STATEMENTS,
) -> Weights:
    """Lay out the weights of one search.

    Args:
        fusion: WEIGHTED or RRF.
        asked: channels that the search uses; empty when nothing was asked but a filter.
        multipliers: by channel, in [0, WEIGHT_MAX], default 1.
        makeup: what most of the memories are that are searched.

    Returns:
        The weights. A memory at the background keeps the same base whatever the multipliers are.

    Raises:
        BadScoringInput: when a multiplier is out of range.
    """
    for channel, factor in multipliers.items():
        if not 0 <= factor <= WEIGHT_MAX:
            raise BadScoringInput(f"weight {factor} of {channel.name} is not in [0, {WEIGHT_MAX}]")
    channels = np.zeros(CHANNEL_COUNT, dtype=np.float32)
    if not asked:
        return Weights(Fusion.WEIGHTED, channels, math.inf)
    mix = mix_of(asked, makeup)
    for channel in asked:
        own = mix.weights[channel] if fusion == Fusion.WEIGHTED else RRF_WEIGHTS[channel]
        channels[channel] = own * multipliers.get(channel, 1.0)
    if fusion == Fusion.RRF:
        total = channels.sum()
        return Weights(fusion, channels / total if total > 0 else channels, 0.0, mix.cut)
    vectors = sum(float(channels[channel]) for channel in VECTOR_CHANNELS)
    bias = mix.background - BACKGROUND_VECTOR * vectors
    bias -= BACKGROUND_TIME * float(channels[Channel.TIME])
    return Weights(fusion, channels, bias, mix.cut)


def rank(evidence: Evidence, weights: Weights, k: int, min_score: float | None) -> Ranked:
    """Order candidates.

    Args:
        evidence: the candidates; for RRF all that match, since ranks are among them.
        weights: from `make_weights`.
        k: how many at most, >= 0.
        min_score: lowest score to return; None = the cut of the weights, or TAIL_SHARE of the best
            score where that is more, but for what lies in the time asked about.

    Returns:
        At most k candidates, by score descending, then newer, then larger label.
    """
    normalised = evidence.normalised
    base = np.empty(normalised.shape[1], dtype=np.float32)
    scores = np.empty_like(base)
    if weights.fusion == Fusion.RRF:
        normalised = _ranks(evidence)
        fuse_into(normalised, weights.channels, 0.0, base)
        scores = _scaled(base, evidence.factors)
    else:
        score_into(normalised, weights.channels, weights.bias, evidence.factors, base, scores)
    best = select(scores, evidence.create_us, evidence.labels, k)
    if min_score is None:
        # Beside a sure answer, what is many times less likely says nothing either.
        top = float(scores[best[0]]) if len(best) else 0.0
        min_score = max(weights.cut, TAIL_SHARE * top)
        # What lies in the time asked about is asked for, whatever else it says.
        in_time = evidence.normalised[Channel.TIME, best] >= 1.0
        in_time &= weights.channels[Channel.TIME] > 0
        best = best[in_time | (scores[best] >= np.float32(min_score))]
    else:
        best = best[scores[best] >= np.float32(min_score)]
    given = parts = evidence.normalised.take(best, axis=1)
    if normalised is not evidence.normalised:
        parts = normalised.take(best, axis=1)
    return Ranked(
        evidence.labels[best],
        scores[best],
        base[best],
        evidence.raw.take(best, axis=1),
        parts,
        given,
        evidence.factors.take(best, axis=1),
        weights,
        best,
    )


def first_of(ranked: Ranked, k: int) -> Ranked:
    """Keep the best k."""
    return ranked if len(ranked.labels) <= k else ranked.taken(np.arange(k))


def within_reach(
    normalised: NDArray[np.float32], weights: Weights, k: int, slack: float, floor: float
) -> NDArray[np.int64]:
    """Drop candidates that cannot be among the best k, whatever all factors are.

    Cheaper and weaker than `may_win`: it needs no factors.

    Args:
        normalised, weights, k, slack: as for `may_win`.
        floor: smallest product of factors, in (0, 1]; the largest is 1.

    Returns:
        int64 positions, ascending.
    """
    logit = np.empty(normalised.shape[1], dtype=np.float32)
    fuse_into(normalised, weights.channels, weights.bias, logit)
    if len(logit) <= k:
        return np.arange(len(logit))
    # The k-th by base is worth at least its base times the floor; a rival needs that base.
    kth = logistic(kth_largest(logit, k) - slack)
    needed = kth * floor * (1 - ROUNDING)
    if not 0 < needed < 1:
        return np.arange(len(logit))
    return np.flatnonzero(logit >= np.float32(math.log(needed / (1 - needed)) - slack - ROUNDING))


def factor_floor(params: RankParams) -> float:
    """Return the smallest product of factors that a memory can have."""
    fade = min(PAST_DECAY, *(decay.floor for decay in params.decay))
    trust = CONFIDENCE_FLOOR * min(STATED_BY_FACTOR) * min(DOUBT_FACTOR)
    return fade * min(IMPORTANCE_FACTOR) * trust


def may_win(
    normalised: NDArray[np.float32],
    weights: Weights,
    factors: NDArray[np.float32],
    k: int,
    slack: float,
) -> NDArray[np.int64]:
    """Drop candidates that cannot be among the best k.

    Args:
        normalised: float32[CHANNEL_COUNT, m], approximate.
        weights: of WEIGHTED fusion.
        factors: float32[FACTOR_COUNT, m], exact.
        k: hits wanted, >= 1.
        slack: largest error of the log-odds that `normalised` gives.

    Returns:
        int64 positions, ascending, of all whose highest possible score reaches the k-th of the
        lowest possible ones.
    """
    base = np.empty(normalised.shape[1], dtype=np.float32)
    scores = np.empty_like(base)
    if len(base) <= k:
        return np.arange(len(base))
    score_into(normalised, weights.channels, weights.bias, factors, base, scores)
    # base = odds / (1 + odds): odds times e^slack scale the base by this much.
    up, down = np.float32(math.exp(slack)), np.float32(math.exp(-slack))
    highest = scores * (up / (1 + base * (up - 1)))
    lowest = scores * (down / (1 + base * (down - 1)))
    return np.flatnonzero(highest >= np.float32(kth_largest(lowest, k) * (1 - ROUNDING)))


def _ranks(evidence: Evidence) -> NDArray[np.float32]:
    """Replace every channel by reciprocal ranks; only vectors rank memories without evidence."""
    out = np.zeros_like(evidence.normalised)
    for channel in Channel:
        if channel == Channel.VECTOR:
            values = evidence.raw[channel]
            out[channel] = reciprocal_ranks(values, ~np.isnan(values))
        else:
            values = evidence.normalised[channel]
            out[channel] = reciprocal_ranks(values, values > 0)
    return out


def _scaled(base: NDArray[np.float32], factors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply in float64 and in the same order as `score_into`."""
    product = base.astype(np.float64)
    for row in (DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW):
        product *= factors[row]
    return product.astype(np.float32)


assert tuple(range(FACTOR_COUNT)) == (DECAY_ROW, IMPORTANCE_ROW, CONFIDENCE_ROW)
