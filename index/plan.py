"""The question and the answer of a partition's search, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.backend import check_vectors
from recalld.index.conditions import Filter
from recalld.index.errors import BadPlan
from recalld.index.filter import View
from recalld.index.roles import RoleAsk
from recalld.index.time_channel import TimeAsked
from recalld.scoring.params import WEIGHT_MAX, Channel, Fusion
from recalld.scoring.rank import Ranked

K_MAX = 10_000
QUERY_COUNT_MAX = 32


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class QueryPlan:
    """One search of one partition.

    Attributes:
        view: who asks, about when; holds the clock.
        filter: what may answer.
        vectors: float32[q, dim] or, with a relevance part behind, float32[q, 2 * dim]; parts of
            unit length, the main query first; None = no vector channel.
        vector_weights: one per vector, in (0, 1]; the best weighted one counts for each memory.
        texts: queries for the keyword channel, the main one first; empty = no keyword channel.
        text_weights: one per text, in (0, 1].
        k: hits wanted, in [1, K_MAX].
        fusion: WEIGHTED or RRF.
        min_score: lowest score to return, in [0, 1]; None = below which it says nothing.
        weights: multipliers by channel, in [0, WEIGHT_MAX], default 1.
        exclude_labels: memories that must not answer.
        with_relevance: whether the request is of a kind that relevance is made for.
        roles: what the request wants of memories; None = no role channel.
        cue_weight: multiplier of the role channel where a cue is near and `weights` has the
            channel off, in [0, WEIGHT_MAX]; 0 = cues are not compared.
        time: what the main text says of time.
        fingerprint: of the model that made `vectors`, and that `roles` were asked of.
    """

    view: View
    filter: Filter = field(default_factory=Filter)
    vectors: NDArray[np.float32] | None = None
    vector_weights: tuple[float, ...] = (1.0,)
    texts: tuple[str, ...] = ()
    text_weights: tuple[float, ...] = (1.0,)
    k: int = 5
    fusion: Fusion = Fusion.WEIGHTED
    min_score: float | None = 0.0
    weights: Mapping[Channel, float] = field(default_factory=dict)
    exclude_labels: frozenset[int] = frozenset()
    with_relevance: bool = True
    roles: RoleAsk | None = None
    cue_weight: float = 0.0
    time: TimeAsked = field(default_factory=TimeAsked)
    fingerprint: str = ""

    def asked_of(self, fingerprint: str) -> QueryPlan:
        """Return the plan for rows of a model: without its vectors where they are of another one.

        Args:
            fingerprint: of the model that made the rows' vectors.
        """
        if fingerprint == self.fingerprint or (self.vectors is None and self.roles is None):
            return self
        return replace(self, vectors=None, roles=None)

    def check(self, dim: int, parts: int = 1) -> None:
        """Check every limit named above.

        Raises:
            BadPlan: naming the field.
            BadVector: when a vector has another width than `dim`, is not finite or not unit.
        """
        if not 1 <= self.k <= K_MAX:
            raise BadPlan(f"k {self.k} is not in [1, {K_MAX}]")
        if self.min_score is not None and not 0 <= self.min_score <= 1:
            raise BadPlan(f"min_score {self.min_score} is not in [0, 1]")
        if not 0 <= self.cue_weight <= WEIGHT_MAX:
            raise BadPlan(f"cue_weight {self.cue_weight} is not in [0, {WEIGHT_MAX}]")
        for channel, weight in self.weights.items():
            if not 0 <= weight <= WEIGHT_MAX:
                raise BadPlan(f"weight {weight} of {channel!r} is not in [0, {WEIGHT_MAX}]")
        if self.vectors is not None:
            check_vectors(self.vectors, len(self.vectors), dim, parts)
            _check_weights("vector_weights", self.vector_weights, len(self.vectors))
        if self.texts:
            _check_weights("text_weights", self.text_weights, len(self.texts))


@dataclass(slots=True)
class Ranking(Ranked):
    """The answer: hits, best first, their parts, and what became of the rest.

    Attributes:
        doubts: uint8[h], numbers of `recalld.scoring.params.Doubt`.
        matched: memories that passed view and filter.
        considered: of these, those whose exact score was computed.
        excluded: int64[EXCLUDED_COUNT], rows left out by reason (recalld.scoring.masks.Excluded).
        cues: int64[h], the cue of each hit that speaks for it, by its place among the memory's
            cues; -1 = none. None where no cue speaks for any memory.
        inherited: bool[h], hits that answer for what they replaced (recalld.index.heirs); None
            where nothing was handed on.
    """

    doubts: NDArray[np.uint8]
    matched: int
    considered: int
    excluded: NDArray[np.int64]
    cues: NDArray[np.int64] | None
    inherited: NDArray[np.bool_] | None

    def __len__(self) -> int:
        """Return how many hits there are."""
        return len(self.labels)


def _check_weights(name: str, weights: tuple[float, ...], count: int) -> None:
    """Check one weight per query."""
    if not 1 <= count <= QUERY_COUNT_MAX:
        raise BadPlan(f"{count} queries are not in [1, {QUERY_COUNT_MAX}]")
    if len(weights) != count:
        raise BadPlan(f"{name} has {len(weights)} entries for {count} queries")
    if not all(0 < weight <= 1 for weight in weights):
        raise BadPlan(f"{name} {weights} are not in (0, 1]")
