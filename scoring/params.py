"""Numbers of the ranking: enum values, half-lives, floors, factors, weights.

Every number has a reason beside it; those that were measured say so. The layer knows enum members
as small integers only; a tidy test holds them equal to the storage layer's.

Invariants: every factor is bounded away from zero, so no memory is ever scored out of existence;
the largest product of factors is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.errors import BadScoringInput

KIND_COUNT = 9
FACT, PREFERENCE, STATE, EVENT, PROGRESS, DECISION, PROCEDURE, DOCUMENT = range(1, KIND_COUNT)
IMPORTANCE_COUNT = 5
LOW, MEDIUM, HIGH, PINNED = range(1, IMPORTANCE_COUNT)
STATED_BY_COUNT = 5
USER, AGENT, TOOL, IMPORT = range(1, STATED_BY_COUNT)
VISIBILITY_COUNT = 4
SHARED, PRIVATE, SYSTEM = range(1, VISIBILITY_COUNT)
STATUS_COUNT = 7
ACTIVE, SUPERSEDED, CONFLICTED, EXPIRED, ARCHIVED, FORGOTTEN = range(1, STATUS_COUNT)

HOUR_S = 3_600.0
DAY_S = 86_400.0
US_PER_S = 1_000_000
# Cormack, Clarke, Buettcher, SIGIR 2009, section 2.
RRF_K = 60
WEIGHT_MAX = 10.0
# Cosines from 3 spreads below the background mean to 7 above it fill the scale 0..1.
VECTOR_SPREADS_BELOW = 3.0
VECTOR_SPREADS_TOTAL = 10.0
# Where the background lies on that scale.
BACKGROUND_VECTOR = VECTOR_SPREADS_BELOW / VECTOR_SPREADS_TOTAL
# What says nothing for or against a memory on the scale of the time channel.
BACKGROUND_TIME = 0.5
# What has passed its time is faded beyond every floor, and known by that.
PAST_DECAY = 0.1
# Keyword evidence (see recalld.index.postings) at which the scale ends.
KEYWORD_EVIDENCE_MAX = 2.0


# Hits with less than this share of the best score are a weak tail.
TAIL_SHARE = 0.04


class Channel(IntEnum):
    """A source of evidence; the number is its row in every array of channels."""

    VECTOR = 0
    KEYWORD = 1
    IDENTIFIER = 2
    KEY = 3
    RELEVANCE = 4
    TIME = 5
    ROLE = 6
    RELATION = 7


CHANNEL_COUNT = len(Channel)
# The channels that have a source of evidence.
SERVED_CHANNELS = frozenset(Channel)
# The channels that compare vectors, in the order in which a model gives these out.
VECTOR_CHANNELS = (Channel.VECTOR, Channel.RELEVANCE)


class Fusion(IntEnum):
    """How channel scores become one base; the numbers are those of the wire."""

    WEIGHTED = 1
    RRF = 2


@dataclass(frozen=True, slots=True)
class Decay:
    """How a kind of memory fades: `floor + (1 - floor) * 2^(-age / half_life)`.

    Attributes:
        half_life_s: seconds, > 0; infinite means that it never fades.
        floor: what is left for ever, in [FLOOR_MIN, 1].
    """

    half_life_s: float
    floor: float


FLOOR_MIN = 0.3

DECAY = {
    FACT: Decay(90 * DAY_S, 0.85),
    PREFERENCE: Decay(90 * DAY_S, 0.85),
    STATE: Decay(3 * DAY_S, 0.6),
    EVENT: Decay(1 * HOUR_S, 0.7),
    PROGRESS: Decay(7 * DAY_S, 0.6),
    DECISION: Decay(30 * DAY_S, 0.8),
    PROCEDURE: Decay(90 * DAY_S, 0.85),
    DOCUMENT: Decay(math.inf, 1.0),
}
# Index = importance; relative to PINNED, so that no score passes 1.
IMPORTANCE_FACTOR = (0.91, 0.87, 0.91, 0.955, 1.0)
# Index = speaker. An agent's inference weighs less than what anybody said.
STATED_BY_FACTOR = (1.0, 1.0, 0.95, 1.0, 1.0)
CONFIDENCE_FLOOR = 0.8


class Doubt(IntEnum):
    """Why a current memory may not hold; none of the doubtful ones is ever in the HIGH band."""

    NONE = 0
    OUTDATED = 1  # a later one tells of a change, which is wrong in one case of ten
    CONTRADICTED = 2  # a stronger speaker says otherwise
    TENTATIVE = 3  # it was only mused about


DOUBT_COUNT = len(Doubt)
# Index = doubt.
DOUBT_FACTOR = (1.0, 0.3, 0.1, 0.3)


def _unset_as_fact() -> tuple[Decay, ...]:
    return (DECAY[FACT], *(DECAY[kind] for kind in range(1, KIND_COUNT)))


@dataclass(frozen=True, slots=True)
class Scale:
    """Cosines of one kind of vector between unrelated texts.

    Attributes:
        mean: in [-1, 1].
        spread: standard deviation, in (0, 1].

    Raises:
        BadScoringInput: when a value is outside its range.
    """

    mean: float
    spread: float

    def __post_init__(self) -> None:
        """Refuse numbers that would turn every score into nonsense."""
        if not (math.isfinite(self.mean) and -1 <= self.mean <= 1):
            raise BadScoringInput(f"mean {self.mean} is not in [-1, 1]")
        if not (math.isfinite(self.spread) and 0 < self.spread <= 1):
            raise BadScoringInput(f"spread {self.spread} is not in (0, 1]")

    def numbers(self) -> NDArray[np.float32]:
        """Return float32[4] as `scan.nearest_into` takes it."""
        ends = (VECTOR_SPREADS_BELOW, 1.0 / VECTOR_SPREADS_TOTAL)
        return np.array([self.mean, 1.0 / self.spread, *ends], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Mix:
    """How the channels of a search become one base, and from where on it says something.

    Attributes:
        weights: one per Channel, log-odds at full evidence, in [0, 100].
        background: log-odds of a memory that is as near as any unrelated one and shares no word.
        cut: scores below it say nothing, in [0, 1].

    Raises:
        BadScoringInput: when a value is outside its range.
    """

    weights: tuple[float, ...]
    background: float
    cut: float

    def __post_init__(self) -> None:
        """Refuse numbers that would break the bounds promised above."""
        if len(self.weights) != CHANNEL_COUNT or not all(0 <= w <= 100 for w in self.weights):
            raise BadScoringInput(f"weights {self.weights} are not {CHANNEL_COUNT} in [0, 100]")
        if not (math.isfinite(self.background) and 0 <= self.cut <= 1):
            raise BadScoringInput(f"background {self.background} or cut {self.cut} out of range")


SIMILAR = Mix((15.0, 10.0, 6.0, 4.0, 0.0, 3.0, 8.0, 4.0), -4.0, 0.05)
# Words alone, when no vector came in time, reach lower scores.
WORDS_ALONE = Mix(SIMILAR.weights, SIMILAR.background, 0.02)
# Lower: more witnesses speak, and a base near 1 could not be told from another. Relevance is
# trained on single statements and leads among them; raw turns are found by what is said in them.
STATEMENTS = Mix((1.5, 8.0, 6.0, 4.0, 12.0, 3.0, 8.0, 4.0), -6.3, 0.01)
TURNS = Mix((8.0, 10.5, 6.0, 4.0, 9.0, 3.0, 8.0, 4.0), -6.3, 0.01)
# What happened is brought to mind by what is like it.
EVENTS = Mix((15.0, 10.0, 6.0, 4.0, 2.0, 3.0, 8.0, 4.0), -4.5, 0.04)


class Makeup(IntEnum):
    """What most memories of a partition are."""

    STATEMENTS = 0  # facts, preferences, states and whatever else holds for a while
    TURNS = 1  # of talk, beside one another
    EVENTS = 2  # what happened, and documents


MIX_OF = {Makeup.STATEMENTS: STATEMENTS, Makeup.TURNS: TURNS, Makeup.EVENTS: EVENTS}


@dataclass(frozen=True, slots=True)
class RankParams:
    """What turns evidence into scores, fixed for one embedding model.

    Attributes:
        mean: background cosine of the model, in [-1, 1].
        spread: standard deviation of the background cosines, in (0, 1].
        decay: one per kind, index = kind.
        relevance: scale of the relevance vectors; None where the model makes none.

    Raises:
        BadScoringInput: when a value is outside its range.
    """

    mean: float
    spread: float
    decay: tuple[Decay, ...] = field(default_factory=_unset_as_fact)
    relevance: Scale | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that would break the bounds promised above."""
        Scale(self.mean, self.spread)
        if len(self.decay) != KIND_COUNT:
            raise BadScoringInput(f"{len(self.decay)} decays, one per kind is {KIND_COUNT}")
        for kind, decay in enumerate(self.decay):
            if not (decay.half_life_s > 0 and FLOOR_MIN <= decay.floor <= 1):
                raise BadScoringInput(f"decay of kind {kind} is outside its limits: {decay}")

    def scales(self) -> tuple[Scale, ...]:
        """Return the scale of each vector channel that the model serves, in their order."""
        similarity = Scale(self.mean, self.spread)
        return (similarity,) if self.relevance is None else (similarity, self.relevance)


def mix_of(asked: frozenset[Channel], makeup: Makeup) -> Mix:
    """Return the mix of a search that asks for these channels among such memories."""
    if Channel.RELEVANCE in asked:
        return MIX_OF[makeup]
    return SIMILAR if Channel.VECTOR in asked else WORDS_ALONE
