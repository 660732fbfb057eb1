"""Search of one partition: filter, gather evidence per channel, rank.

Small sets are scored exactly; larger ones are scanned in 8 bits first and only what may still win
is scored exactly; very large ones take their candidates from the graph, the words and the keys. It
never writes, never waits and never reads a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Analyzer
from recalld.index.candidates import candidates, is_for_graph, is_worth_a_pass, proposed
from recalld.index.cue_channel import with_cues
from recalld.index.evidence import (
    Parts,
    Rows,
    VectorPart,
    Words,
    exact_scores,
    factors_of,
    gathered,
    past_rows,
    rough_scores,
    unweighed,
)
from recalld.index.exact import SCAN_COUNT_MIN, SCAN_SLACK
from recalld.index.filter import exclude
from recalld.index.generation import Generation
from recalld.index.heirs import handing_on, inherit
from recalld.index.newer import PLACE_COUNT, newer_first
from recalld.index.plan import QueryPlan, Ranking
from recalld.index.relation import beside
from recalld.index.tentative import asks_for_ideas
from recalld.index.time_channel import TimeAsked, time_scores
from recalld.index.words import read_words
from recalld.scoring import masks
from recalld.scoring.masks import EXCLUDED_COUNT, Excluded
from recalld.scoring.params import (
    CHANNEL_COUNT,
    VECTOR_CHANNELS,
    VECTOR_SPREADS_TOTAL,
    Channel,
    Fusion,
    Makeup,
    RankParams,
)
from recalld.scoring.rank import (
    Evidence,
    Weights,
    factor_floor,
    first_of,
    make_weights,
    may_win,
    rank,
    within_reach,
)

# Among more matches than this the best of what relevance takes for needed outranks what was asked
# for: measured with thousands of raw records, where similarity and words alone found 0.75 of the
# answers, and 0.69 with relevance.
RELEVANCE_COUNT_MAX = 2_000
WORD_CHANNELS = frozenset({Channel.KEYWORD, Channel.IDENTIFIER, Channel.KEY, Channel.RELATION})

# From this many rows on it pays to drop most before their factors are gathered.
REACH_COUNT_MIN = 2_048


@dataclass(frozen=True)
class Searcher:
    """Everything a search needs besides the generation and the plan.

    Attributes:
        params: numbers of the ranking.
        analyzer: the one that made the postings.
        exact_max: matches up to which the graph is not asked.
        table: half-lives, floors and factors of `params`, for `factors_into`.
        idea_table: the same for requests that ask what was mused about.
    """

    params: RankParams
    analyzer: Analyzer
    exact_max: int
    table: NDArray[np.float64]
    idea_table: NDArray[np.float64]
    _standard: dict[tuple[Fusion, frozenset[Channel], Makeup], Weights] = field(
        default_factory=dict, init=False
    )

    def search(
        self, generation: Generation, plan: QueryPlan, words: Words | None = None
    ) -> Ranking:
        """Answer a checked plan; `words` may be what `read` said of its texts."""
        columns, k = generation.columns, plan.k
        # What was said at another time is wanted when the request names one.
        updates = bool(plan.texts) and plan.fusion == Fusion.WEIGHTED and not plan.time.windows
        if updates:
            plan = replace(plan, k=max(k, PLACE_COUNT))
        excluded = exclude(columns, plan.view, plan.filter)
        for row in map(columns.row, plan.exclude_labels):
            if row >= 0 and excluded[row] == 0:
                excluded[row] = Excluded.NAMED
        rows = np.flatnonzero(excluded == 0)
        matched = len(rows)
        parts = self._parts(generation, plan, matched)
        if words is None:
            words = self.read(generation, plan.texts, plan.text_weights, plan.time)
        words = self._beyond(generation, plan, words, excluded)
        plan, words, cues = with_cues(generation, plan, words)
        asked = frozenset(channel for channel, _, _ in parts)
        if plan.texts:
            asked |= WORD_CHANNELS | ({Channel.TIME} & words.keys())
        if Channel.ROLE in words:
            asked |= {Channel.ROLE}
        weights = self._weights(plan, asked, generation.makeup)
        if parts and matched > self.exact_max and is_for_graph(generation, matched):
            rows = proposed(generation, plan, parts, excluded, words)
        elif asked and is_worth_a_pass(generation, plan, parts, matched):
            table = self._table(plan)
            rows = candidates(generation, plan, parts, excluded, words, weights, table)
        if plan.fusion == Fusion.WEIGHTED and asked:
            rows = self._promising(generation, plan, parts, rows, words, weights)
        evidence, inherited = unweighed(columns, rows), np.zeros(len(rows), dtype=np.bool_)
        if asked:
            evidence, inherited = self._evidence(generation, plan, parts, rows, words, excluded)
        best = rank(evidence, weights, plan.k, plan.min_score)
        if updates:
            block = generation.blocks[0]
            near = rows[best.places[:PLACE_COUNT]]
            scale = self.params.scales()[0]
            best = first_of(newer_first(best, near, columns, block, scale), k)
        counts = np.bincount(excluded, minlength=EXCLUDED_COUNT)
        found = rows[best.places]
        return Ranking(
            **vars(best),
            matched=matched,
            considered=len(evidence.labels),
            excluded=counts,
            past=past_rows(columns, found, plan, words),
            cues=np.full(len(found), -1) if cues is None else cues[found],
            inherited=inherited[best.places],
        )

    def _promising(
        self,
        generation: Generation,
        plan: QueryPlan,
        parts: Parts,
        rows: Rows,
        words: Words,
        weights: Weights,
    ) -> Rows:
        """Drop rows that cannot be among the best k, by an 8-bit scan."""
        if len(rows) <= max(SCAN_COUNT_MIN, plan.k):
            return rows
        normalised, given = gathered(words, rows), rows
        slack = 0.0
        for channel, scale, part in parts:
            normalised[channel] = rough_scores(part, plan, rows, scale)
            step = SCAN_SLACK / (VECTOR_SPREADS_TOTAL * scale.spread)
            slack += float(weights.channels[channel]) * step
        if len(rows) > REACH_COUNT_MIN:
            near = within_reach(normalised, weights, plan.k, slack, factor_floor(self.params))
            rows, normalised = rows[near], np.ascontiguousarray(normalised[:, near])
        factors = factors_of(generation.columns, rows, self._table(plan), plan, words)
        kept = rows[may_win(normalised, weights, factors, plan.k, slack)]
        # What an heir inherits is not known yet.
        heirs = generation.heirs.heir
        places = np.minimum(np.searchsorted(given, heirs), len(given) - 1)
        return np.union1d(kept, heirs[given[places] == heirs]) if len(heirs) else kept

    def _evidence(
        self,
        generation: Generation,
        plan: QueryPlan,
        parts: Parts,
        rows: Rows,
        words: Words,
        excluded: NDArray[np.uint8],
    ) -> tuple[Evidence, NDArray[np.bool_]]:
        """Gather the exact evidence of rows, and say which of them inherited some."""
        normalised = gathered(words, rows)
        raw = np.zeros((CHANNEL_COUNT, len(rows)), dtype=np.float32)
        for channel, (values, _) in words.items():
            raw[channel] = values[rows]
        for channel, scale, part in parts:
            raw[channel], normalised[channel] = exact_scores(part, plan, rows, scale)
        columns = generation.columns
        heirs = handing_on(generation.heirs, columns, plan, excluded)
        gained = inherit(heirs, plan, parts, rows, words, (raw, normalised))
        evidence = Evidence(
            columns.labels[rows],
            columns.times[masks.CREATE_TIME, rows],
            raw,
            normalised,
            factors_of(columns, rows, self._table(plan), plan, words),
        )
        return evidence, gained

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

    def _weights(self, plan: QueryPlan, asked: frozenset[Channel], makeup: Makeup) -> Weights:
        """Lay out the weights; the usual ones are made once."""
        if any(plan.weights.get(channel, 1.0) != 1.0 for channel in asked):
            return make_weights(plan.fusion, asked, plan.weights, makeup)
        key = plan.fusion, asked, makeup
        found = self._standard.get(key)
        if found is None:
            found = self._standard[key] = make_weights(plan.fusion, asked, {}, makeup)
        return found

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
        found = []
        for number, (channel, scale) in enumerate(
            zip(VECTOR_CHANNELS, self.params.scales(), strict=False)
        ):
            if number < given:
                queries = np.ascontiguousarray(plan.vectors[:, number * dim : (number + 1) * dim])
                found.append((channel, scale, VectorPart(generation.blocks[number], queries)))
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
