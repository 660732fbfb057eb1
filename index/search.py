"""Search of one partition: filter, gather evidence per channel, rank.

Small sets are scored exactly; larger ones are scanned in 8 bits first and only what may still win
is scored exactly; very large ones take their candidates from the graph, the words and the keys. It
never writes, never waits and never reads a database.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Analyzer
from recalld.index.candidates import is_for_graph, is_worth_a_pass, proposed, reaching
from recalld.index.cue_channel import with_cues
from recalld.index.evidence import Parts, VectorPart, Words, rules_of
from recalld.index.exact import SCAN_COUNT_MIN, SCAN_SLACK
from recalld.index.filter import exclude
from recalld.index.generation import Generation
from recalld.index.heirs import NO_HEIRS, Heirs, handing_on, handing_on_to, inherit
from recalld.index.newer import PLACE_COUNT, newer_first
from recalld.index.plan import QueryPlan, Ranking
from recalld.index.relation import beside
from recalld.index.tentative import asks_for_ideas
from recalld.index.time_channel import TimeAsked, time_scores
from recalld.index.words import read_words
from recalld.scoring.masks import DOUBT, Excluded, passing, tally
from recalld.scoring.params import (
    VECTOR_CHANNELS,
    VECTOR_SPREADS_TOTAL,
    Channel,
    Fusion,
    Makeup,
    RankParams,
    Scale,
)
from recalld.scoring.rank import (
    Candidates,
    Floats,
    Weights,
    first_of,
    make_weights,
    promising,
    rank,
)

# Among more matches than this the best of what relevance takes for needed outranks what was asked
# for: measured with thousands of raw records, where similarity and words alone found 0.75 of the
# answers, and 0.69 with relevance.
RELEVANCE_COUNT_MAX = 2_000
WEIGHTS_COUNT_MAX = 1_024
NO_ROWS = np.zeros(0, dtype=np.int64)
WORD_CHANNELS = frozenset({Channel.KEYWORD, Channel.IDENTIFIER, Channel.KEY, Channel.RELATION})


@dataclass(frozen=True)
class Searcher:
    """Everything a search needs besides the generation and the plan.

    Attributes:
        params: numbers of the ranking.
        analyzer: the one that made the postings.
        exact_max: matches up to which the graph is not asked.
        table: half-lives, floors and factors of `params`, for `scoring.best`.
        idea_table: the same for requests that ask what was mused about.
    """

    params: RankParams
    analyzer: Analyzer
    exact_max: int
    table: NDArray[np.float64]
    idea_table: NDArray[np.float64]

    @cached_property
    def scales(self) -> tuple[tuple[Channel, Scale, Floats], ...]:
        """Vector channels that the model serves, with their scale, for Python and for kernels."""
        scales = zip(VECTOR_CHANNELS, self.params.scales(), strict=False)
        return tuple((channel, scale, scale.numbers()) for channel, scale in scales)

    def search(
        self, generation: Generation, plan: QueryPlan, words: Words | None = None
    ) -> Ranking:
        """Answer a checked plan; `words` may be what `read` said of its texts."""
        columns = generation.columns
        # What was said at another time is wanted when the request names one.
        updates = bool(plan.texts) and plan.fusion == Fusion.WEIGHTED and not plan.time.windows
        k = max(plan.k, PLACE_COUNT) if updates else plan.k
        excluded = exclude(columns, plan.view, plan.filter)
        for row in map(columns.row, plan.exclude_labels):
            if row >= 0 and excluded[row] == 0:
                excluded[row] = Excluded.NAMED
        counts = tally(excluded)
        matched = counts.item(Excluded.NO)
        parts = self._parts(generation, plan, matched)
        if words is None:
            words = self.read(generation, plan.texts, plan.text_weights, plan.time)
        words = self._beyond(generation, plan, words, excluded)
        words, cues = with_cues(generation, plan, words)
        weights = self._weights(generation, plan, parts, words, cues is not None)
        is_asked = not math.isinf(weights.bias)
        rules = rules_of(plan, self._table(plan) if is_asked else None, words)
        if parts and matched > self.exact_max and is_for_graph(generation, matched):
            rows = proposed(generation, plan, parts, excluded, words)
        elif is_worth_a_pass(generation, plan, parts, matched, k):
            asked = Candidates(NO_ROWS, words, columns.facts, rules)
            rows = reaching(generation, asked, parts, excluded, weights, k)
        else:
            rows = passing(excluded, matched)
        asked = Candidates(rows, words, columns.facts, rules)
        heirs = handing_on(generation.heirs, columns, plan, excluded) if is_asked else NO_HEIRS
        asked, inherited = self._heard(asked, weights, parts, heirs, k)
        best = rank(asked, weights, k, plan.min_score)
        if updates:
            scale = self.scales[0][1]
            best = first_of(newer_first(best, columns, generation.blocks[0], scale), plan.k)
        found = best.rows
        return Ranking(
            best.labels,
            found,
            best.parts,
            best.said,
            best.summed,
            best.weights,
            doubts=columns.small[DOUBT, found],
            matched=matched,
            considered=len(asked.rows),
            excluded=counts,
            cues=None if cues is None else cues[found],
            inherited=None if inherited is None else inherited[found] != 0,
        )

    def _heard(
        self,
        candidates: Candidates,
        weights: Weights,
        parts: Parts,
        heirs: Heirs,
        k: int,
    ) -> tuple[Candidates, NDArray[np.uint8] | None]:
        """Ask the vector channels; among many rows all of which only those that may win.

        Returns:
            What may win with what is said of it, and what `inherit` returned.
        """
        rows, said, facts, rules = candidates
        said = dict(said)
        for part in parts:
            said[part.channel] = part.empty()
        is_weighted = weights.fusion == Fusion.WEIGHTED
        if parts and is_weighted and len(rows) > max(SCAN_COUNT_MIN, k):
            rough, slack = said.copy(), 0.0
            for part in parts:
                part.rough(rows, rough[part.channel])
                step = SCAN_SLACK / (VECTOR_SPREADS_TOTAL * part.scale.spread)
                slack += float(weights.channels[part.channel]) * step
            inherit(heirs, parts, rough, roughly=True)
            rows = promising(Candidates(rows, rough, facts, rules), weights, k, slack)
            heirs = handing_on_to(heirs, rows, len(facts[0]))
        for part in parts:
            part.exact(rows, said[part.channel])
        inherited = inherit(heirs, parts, said)
        return Candidates(rows, said, facts, rules), inherited

    def _beyond(
        self, generation: Generation, plan: QueryPlan, words: Words, excluded: NDArray[np.uint8]
    ) -> Words:
        """Add what is said of a row by more than the request's words in it."""
        if words and (found := beside(words, generation.neighbours, excluded)) is not None:
            words = {**words, Channel.RELATION: found}
        if plan.roles is not None:
            vectors = generation.blocks[0].vectors
            scores = generation.roles.scores(plan.roles, vectors, generation.columns)
            words = {**words, Channel.ROLE: (scores, scores)}
        return words

    def _weights(
        self,
        generation: Generation,
        plan: QueryPlan,
        parts: Parts,
        words: Words,
        has_cues: bool,
    ) -> Weights:
        """Lay out the weights; those that come again are made once."""
        asked = {part.channel for part in parts}
        if plan.texts:
            asked |= WORD_CHANNELS
            if Channel.TIME in words:
                asked.add(Channel.TIME)
        if Channel.ROLE in words:
            asked.add(Channel.ROLE)
        own = plan.weights
        if has_cues and not own.get(Channel.ROLE, 1.0):
            own = {**own, Channel.ROLE: plan.cue_weight}
        makeup = generation.makeup if Channel.RELEVANCE in asked else Makeup.STATEMENTS
        return _weights_of(plan.fusion, frozenset(asked), tuple(own.items()), makeup)

    def _table(self, plan: QueryPlan) -> NDArray[np.float64]:
        """Choose the factors: what was mused about counts in full for those who ask for it."""
        is_asked = bool(plan.texts) and asks_for_ideas(plan.texts[0])
        return self.idea_table if is_asked else self.table

    def _parts(self, generation: Generation, plan: QueryPlan, matched: int) -> Parts:
        """Pair each vector channel with its scale, its rows and its part of the query."""
        if plan.vectors is None:
            return []
        dim = generation.blocks[0].vectors.shape[1]
        given = plan.vectors.shape[1] // dim
        if not plan.with_relevance or matched > RELEVANCE_COUNT_MAX:
            given = 1
        weights = _float32(plan.vector_weights)
        found = []
        for number, (channel, scale, numbers) in enumerate(self.scales[:given]):
            queries = np.ascontiguousarray(plan.vectors[:, number * dim : (number + 1) * dim])
            block = generation.blocks[number]
            found.append(VectorPart(channel, scale, numbers, block, queries, weights))
        return found

    def read(
        self,
        generation: Generation,
        texts: Sequence[str],
        text_weights: Sequence[float],
        time: TimeAsked,
    ) -> Words:
        """Return raw and normalised scores of all rows, per channel that reads the texts."""
        out = read_words(self.analyzer, generation, texts, text_weights)
        in_time = time_scores(generation.columns, time)
        return out if in_time is None else {**out, Channel.TIME: in_time}


@lru_cache(WEIGHTS_COUNT_MAX)
def _float32(weights: tuple[float, ...]) -> Floats:
    """Lay out the weights of queries for kernels."""
    found = np.array(weights, dtype=np.float32)
    found.flags.writeable = False
    return found


@lru_cache(WEIGHTS_COUNT_MAX)
def _weights_of(
    fusion: Fusion,
    asked: frozenset[Channel],
    own: tuple[tuple[Channel, float], ...],
    makeup: Makeup,
) -> Weights:
    """`make_weights` of the multipliers `own`."""
    return make_weights(fusion, asked, dict(own), makeup)
