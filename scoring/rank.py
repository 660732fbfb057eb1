"""Rank: composes the kernels; evidence and facts in, order, scores and their parts out.

`score = base * decay * importance * confidence`, with the base from `scoring.fuse`. It never finds
candidates and never reads a clock.

Invariants: equal input in any order gives equal output, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.best import (
    BASE,
    BIAS,
    IS_PAST,
    NUMBER_COUNT,
    PART_COUNT,
    SCORE,
    SLACK,
    best_into,
    promising_into,
)
from recalld.scoring.decay import FACTOR_COUNT
from recalld.scoring.errors import BadScoringInput
from recalld.scoring.fuse import reciprocal_ranks
from recalld.scoring.params import (
    BACKGROUND_TIME,
    BACKGROUND_VECTOR,
    CHANNEL_COUNT,
    TAIL_SHARE,
    VECTOR_CHANNELS,
    WEIGHT_MAX,
    Channel,
    Fusion,
    Makeup,
    mix_of,
)

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
# What one channel says of every row: its own numbers, and these normalised to 0..1.
FloatPair = tuple[Floats, Floats]
Said = Mapping[Channel, FloatPair]
# The channel says nothing.
SILENT = np.zeros(0, dtype=np.float32)
# What is known of rows whatever is asked, and how it becomes factors; see `scoring.best`.
Facts = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64], Floats]
Rules = tuple[NDArray[np.float64], NDArray[np.int64]]

# Ranks are of equal worth, but for what neighbours say: that only adds to what a memory says.
RRF_WEIGHTS = tuple(float(channel != Channel.RELATION) for channel in Channel)


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

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Return float64[NUMBER_COUNT] as `scoring.best` takes it, without slack."""
        numbers = np.zeros(NUMBER_COUNT)
        numbers[:CHANNEL_COUNT] = self.channels
        numbers[BIAS] = self.bias
        return numbers


class Candidates(NamedTuple):
    """Rows that may answer, and what is said and known of all rows.

    Attributes:
        rows: int64[m], distinct.
        said: float32[n] of each channel that says something; the channels' own numbers are only
            carried along.
        facts: of the same rows.
        rules: how facts become factors.
    """

    rows: Rows
    said: Said
    facts: Facts
    rules: Rules


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class Ranked:
    """The best candidates, best first, with the parts that reproduce their scores.

    Attributes:
        labels: int64[h]; rows: int64[h], where they stand.
        parts: float32[h, PART_COUNT] of `scoring.best`.
        said: float32[h, 2 * CHANNEL_COUNT], as it was given: normalised, then the channels' own.
        summed: float32[h, 2 * CHANNEL_COUNT], the same, but for RRF it holds ranks.
        weights: the fusion's.
    """

    labels: NDArray[np.int64]
    rows: Rows
    parts: Floats
    said: Floats
    summed: Floats
    weights: Weights

    @property
    def scores(self) -> Floats:
        """float32[h]."""
        return self.parts[:, SCORE]

    @property
    def base(self) -> Floats:
        """float32[h]."""
        return self.parts[:, BASE]

    @property
    def factors(self) -> Floats:
        """float32[FACTOR_COUNT, h]."""
        return self.parts[:, :FACTOR_COUNT].T

    @property
    def past(self) -> NDArray[np.bool_]:
        """bool[h], those past their time."""
        return self.parts[:, IS_PAST] > 0

    @property
    def evidence(self) -> Floats:
        """float32[CHANNEL_COUNT, h], normalised as it was given."""
        return self.said[:, :CHANNEL_COUNT].T

    @property
    def normalised(self) -> Floats:
        """float32[CHANNEL_COUNT, h], as it was summed."""
        return self.summed[:, :CHANNEL_COUNT].T

    @property
    def raw(self) -> Floats:
        """float32[CHANNEL_COUNT, h], in the channels' own numbers."""
        return self.said[:, CHANNEL_COUNT:].T

    def taken(self, order: NDArray[np.int64] | slice) -> Ranked:
        """Return the candidates at some places of this list, in the order of `order`."""
        return Ranked(
            self.labels[order],
            self.rows[order],
            self.parts[order],
            self.said[order],
            self.summed[order],
            self.weights,
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


def rank(candidates: Candidates, weights: Weights, k: int, min_score: float | None) -> Ranked:
    """Order candidates.

    Args:
        candidates: for RRF all that match, since ranks are among them.
        weights: from `make_weights`.
        k: how many at most, >= 0.
        min_score: lowest score to return; None = the cut of the weights, or TAIL_SHARE of the best
            score where that is more, but for what lies in the time asked about.

    Returns:
        At most k candidates, by score descending, then newer, then larger label.
    """
    rows, said, facts, rules = candidates
    channels = given = _laid_out(said)
    if weights.fusion == Fusion.RRF:
        channels = _ranks(said, rows)
    k = min(k, len(rows))
    found, parts = best = np.empty(k, np.int64), np.empty((k, PART_COUNT), np.float32)
    summed = np.empty((k, 2 * CHANNEL_COUNT), np.float32)
    count = best_into(rows, channels, facts, weights.numbers, rules, best, summed)
    found, parts, summed = found[:count], parts[:count], summed[:count]
    said_of = summed
    if channels is not given:
        own = [values[found] if len(values) else np.zeros(count) for values in given]
        said_of = np.stack(own, axis=1).astype(np.float32)
    return _cut(Ranked(facts[0][found], found, parts, said_of, summed, weights), min_score)


def _cut(ranked: Ranked, min_score: float | None) -> Ranked:
    """Drop what scores too low."""
    parts, weights = ranked.parts, ranked.weights
    if not len(parts):
        return ranked
    # Beside a sure answer, what is many times less likely says nothing either.
    tail = max(weights.cut, TAIL_SHARE * parts.item(0, SCORE))
    lowest = np.float32(tail if min_score is None else min_score)
    if parts.item(-1, SCORE) >= lowest:
        return ranked
    stays = ranked.scores >= lowest
    if min_score is None and weights.channels[Channel.TIME] > 0:
        # What lies in the time asked about is asked for, whatever else it says.
        in_time = ranked.evidence[Channel.TIME] >= 1.0
        return ranked.taken(np.flatnonzero(stays | in_time))
    return ranked.taken(slice(int(np.count_nonzero(stays))))


def first_of(ranked: Ranked, k: int) -> Ranked:
    """Keep the best k."""
    return ranked if len(ranked.labels) <= k else ranked.taken(slice(k))


def promising(candidates: Candidates, weights: Weights, k: int, slack: float) -> Rows:
    """Drop candidates that cannot be among the best k.

    Args:
        candidates: with approximate evidence.
        weights: of WEIGHTED fusion.
        k: hits wanted, >= 1.
        slack: largest error of the log-odds that the evidence gives.

    Returns:
        int64[<= m] rows in their order: all whose highest possible score reaches the k-th of the
        lowest possible ones.
    """
    rows, said, facts, rules = candidates
    if len(rows) <= k:
        return rows
    numbers = weights.numbers.copy()
    numbers[SLACK] = slack
    kept = np.empty(len(rows), np.int64)
    return kept[: promising_into(rows, _laid_out(said), facts, numbers, rules, k, kept)]


def _laid_out(said: Said) -> tuple[Floats, ...]:
    """Lay out the channels as `scoring.best` takes them."""
    channels = [SILENT] * (2 * CHANNEL_COUNT)
    for channel, (raw, normalised) in said.items():
        channels[channel], channels[CHANNEL_COUNT + channel] = normalised, raw
    return tuple(channels)


def _ranks(said: Said, rows: Rows) -> tuple[Floats, ...]:
    """Replace every channel by reciprocal ranks; only vectors rank memories without evidence."""
    channels = list(_laid_out(said))
    for channel, (raw, normalised) in said.items():
        by = raw[rows] if channel == Channel.VECTOR else normalised[rows]
        found = ~np.isnan(by) if channel == Channel.VECTOR else by > 0
        channels[channel] = np.zeros_like(normalised)
        channels[channel][rows] = reciprocal_ranks(by, found)
    return tuple(channels)
