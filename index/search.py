"""Search of one partition: filter, gather evidence per channel, rank.

Small sets are scored exactly; larger ones are scanned in 8 bits first and only what may still win
is scored exactly; very large ones take their candidates from the graph, the words and the keys. It
never writes, never waits and never reads a database.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Analyzer, Tokens
from recalld.index.backend import IndexBackend
from recalld.index.columns import KEY, Columns
from recalld.index.evidence import (
    Floats,
    Parts,
    Rows,
    VectorPart,
    Words,
    gathered,
    unweighed,
    vector_scores,
)
from recalld.index.exact import SCAN_COUNT_MIN, SCAN_SLACK, VectorBlock
from recalld.index.filter import exclude
from recalld.index.plan import QueryPlan, Ranking
from recalld.index.postings import Postings
from recalld.scoring import decay, masks
from recalld.scoring.fuse import normalise_keyword
from recalld.scoring.masks import EXCLUDED_COUNT, Excluded
from recalld.scoring.params import (
    CHANNEL_COUNT,
    VECTOR_CHANNELS,
    VECTOR_SPREADS_TOTAL,
    Channel,
    Fusion,
    RankParams,
)
from recalld.scoring.rank import (
    Evidence,
    Weights,
    factor_floor,
    make_weights,
    may_win,
    rank,
    within_reach,
)
from recalld.scoring.topk import kth_largest

# The graph is asked for this many candidates per hit wanted, and never for fewer than the minimum.
GRAPH_PER_HIT = 4
GRAPH_COUNT_MIN = 256
# Memories with the most keyword evidence that join the graph's candidates.
KEYWORD_COUNT = 256
# Among more matches than this the best of what relevance takes for needed outranks what was asked
# for: measured with thousands of raw records, where similarity and words alone found 0.75 of the
# answers, and 0.69 with relevance.
RELEVANCE_COUNT_MAX = 2_000

# From this many rows on it pays to drop most before their factors are gathered.
REACH_COUNT_MIN = 2_048


@dataclass(frozen=True)
class Generation:
    """What one search sees; immutable.

    Attributes:
        columns, postings, blocks: of the same rows; one block for each vector of a memory,
            similarity first.
        graph: approximate index over the live rows, or None.
    """

    columns: Columns
    postings: Postings
    blocks: tuple[VectorBlock, ...]
    graph: IndexBackend | None


class Reading(NamedTuple):
    """What the words of a request say of the rows of one moment."""

    generation: Generation
    words: Words


@dataclass(frozen=True)
class Searcher:
    """Everything a search needs besides the generation and the plan.

    Attributes:
        params: numbers of the ranking.
        analyzer: the one that made the postings.
        exact_max: matches up to which the graph is not asked.
        decays: half-lives and floors of `params`, as `decay_into` takes them.
    """

    params: RankParams
    analyzer: Analyzer
    exact_max: int
    decays: NDArray[np.float64]

    def search(
        self, generation: Generation, plan: QueryPlan, words: Words | None = None
    ) -> Ranking:
        """Answer a checked plan; `words` may be what `read` said of its texts."""
        columns = generation.columns
        excluded = exclude(columns, plan.view, plan.filter)
        named = [row for row in map(columns.row, plan.exclude_labels) if row >= 0]
        excluded[[row for row in named if excluded[row] == 0]] = Excluded.NAMED
        rows = np.flatnonzero(excluded == 0)
        matched = len(rows)
        parts = self._parts(generation, plan)
        if matched > RELEVANCE_COUNT_MAX:
            parts = parts[:1]
        asked = {channel for channel, _, _ in parts}
        if plan.texts:
            asked |= {Channel.KEYWORD, Channel.IDENTIFIER, Channel.KEY}
        weights = make_weights(self.params, plan.fusion, frozenset(asked), plan.weights)
        if words is None:
            words = self.read(generation, plan.texts, plan.text_weights)
        if generation.graph is not None and plan.vectors is not None and matched > self.exact_max:
            rows = self._graph_rows(generation, plan, parts, rows, words)
        if plan.fusion == Fusion.WEIGHTED and asked:
            rows = self._promising(generation, plan, parts, rows, words, weights)
        evidence = (
            self._evidence(generation, plan, parts, rows, words)
            if asked
            else unweighed(columns, rows)
        )
        best = rank(evidence, weights, plan.k, plan.min_score)
        counts = np.bincount(excluded, minlength=EXCLUDED_COUNT)
        return Ranking(
            **vars(best), matched=matched, considered=len(evidence.labels), excluded=counts
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
        normalised = gathered(words, rows)
        slack = 0.0
        for channel, scale, part in parts:
            _, normalised[channel] = vector_scores(part, plan, rows, scale, exact=False)
            step = SCAN_SLACK / (VECTOR_SPREADS_TOTAL * scale.spread)
            slack += float(weights.channels[channel]) * step
        if len(rows) > REACH_COUNT_MIN:
            near = within_reach(normalised, weights, plan.k, slack, factor_floor(self.params))
            rows, normalised = rows[near], np.ascontiguousarray(normalised[:, near])
        factors = self._factors(generation.columns, rows, plan.view.now_us)
        return rows[may_win(normalised, weights, factors, plan.k, slack)]

    def _evidence(
        self, generation: Generation, plan: QueryPlan, parts: Parts, rows: Rows, words: Words
    ) -> Evidence:
        """Gather the exact evidence of rows."""
        normalised = gathered(words, rows)
        raw = np.zeros((CHANNEL_COUNT, len(rows)), dtype=np.float32)
        for channel, (values, _) in words.items():
            raw[channel] = values[rows]
        for channel, scale, part in parts:
            raw[channel], normalised[channel] = vector_scores(part, plan, rows, scale, exact=True)
        columns = generation.columns
        return Evidence(
            columns.labels[rows],
            columns.times[masks.CREATE_TIME, rows],
            raw,
            normalised,
            self._factors(columns, rows, plan.view.now_us),
        )

    def _parts(self, generation: Generation, plan: QueryPlan) -> Parts:
        """Pair each vector channel with its scale, its rows and its part of the query."""
        if plan.vectors is None:
            return []
        dim = generation.blocks[0].vectors.shape[1]
        given = plan.vectors.shape[1] // dim
        found = []
        for number, (channel, scale) in enumerate(
            zip(VECTOR_CHANNELS, self.params.scales(), strict=False)
        ):
            if number < given:
                queries = np.ascontiguousarray(plan.vectors[:, number * dim : (number + 1) * dim])
                found.append((channel, scale, VectorPart(generation.blocks[number], queries)))
        return found

    def read(
        self, generation: Generation, texts: Sequence[str], text_weights: Sequence[float]
    ) -> Words:
        """Return raw and normalised scores of all rows, per channel that reads the texts."""
        out: Words = {}
        for text, weight in zip(texts, text_weights, strict=False):
            tokens = self.analyzer.analyze(text)
            bm25, evidence = generation.postings.score(tokens.words)
            found: Words = {Channel.KEYWORD: (bm25, normalise_keyword(evidence))}
            identifiers = self._identifiers(generation.postings, tokens)
            if identifiers is not None:
                found[Channel.IDENTIFIER] = (identifiers, identifiers)
            keys = self._keys(generation.columns, text, tokens)
            if keys is not None:
                found[Channel.KEY] = (keys, keys)
            for channel, (raw, normalised) in found.items():
                scaled = normalised if weight == 1.0 else normalised * np.float32(weight)
                if channel in out:
                    raw = np.where(scaled > out[channel][1], raw, out[channel][0])
                    scaled = np.maximum(scaled, out[channel][1])
                out[channel] = (raw, scaled)
        return out

    def _identifiers(self, postings: Postings, tokens: Tokens) -> Floats | None:
        """Share of the query's identifiers that a row holds whole, each by its squared rarity."""
        if not tokens.identifiers:
            return None
        share = np.zeros(postings.count, dtype=np.float32)
        for word in sorted(tokens.identifiers):
            rows, rarity = postings.holders(word)
            share[rows] += np.float32(rarity * rarity / len(tokens.identifiers))
        return np.minimum(share, np.float32(1.0))

    def _keys(self, columns: Columns, text: str, tokens: Tokens) -> Floats | None:
        """Mark rows whose key the query is, or names as one of its identifiers."""
        whole = unicodedata.normalize("NFC", text).strip()
        names = {whole, whole.lower(), *tokens.identifiers} - {""}
        numbers = [columns.dictionaries[KEY].number(name) for name in sorted(names)]
        numbers = [number for number in numbers if number >= 0]
        if not numbers:
            return None
        return np.isin(columns.strings[KEY, : columns.count], numbers).astype(np.float32)

    def _factors(self, columns: Columns, rows: Rows, now_us: int) -> Floats:
        """Gather age, importance and confidence factors of rows."""
        factors = np.empty((decay.FACTOR_COUNT, len(rows)), dtype=np.float32)
        importance = columns.small[masks.IMPORTANCE, rows]
        decay.decay_into(
            columns.small[masks.KIND, rows],
            importance,
            columns.times[masks.ANCHOR_TIME, rows],
            now_us,
            self.decays,
            factors[decay.DECAY_ROW],
        )
        factors[decay.IMPORTANCE_ROW] = decay.importance_factor(importance)
        factors[decay.CONFIDENCE_ROW] = decay.confidence_factor(
            columns.confidence[rows],
            columns.small[masks.STATED_BY, rows],
            columns.small[masks.OUTWEIGHED, rows],
        )
        return factors

    def _graph_rows(
        self,
        generation: Generation,
        plan: QueryPlan,
        parts: Parts,
        rows: Rows,
        words: Words,
    ) -> Rows:
        """Choose candidates among many matches: near ones, and the best of every other channel."""
        graph, columns = generation.graph, generation.columns
        assert graph is not None and plan.vectors is not None
        passes = np.zeros(columns.count, dtype=np.bool_)
        passes[rows] = True
        wanted = max(GRAPH_COUNT_MIN, GRAPH_PER_HIT * plan.k)
        # Widened by how few pass, so that about `wanted` of the found ones do.
        widened = wanted * max(1, len(graph)) // max(1, len(rows)) + wanted
        chosen = np.zeros(columns.count, dtype=np.bool_)
        for vector in parts[0][2].queries:
            labels, _ = graph.search(vector, widened)
            near = [columns.row(int(label)) for label in labels]
            chosen[[row for row in near if row >= 0]] = True
        for _, scale, part in parts[1:]:
            _, near_by = vector_scores(part, plan, rows, scale, exact=False)
            chosen[rows[near_by >= kth_largest(near_by, min(wanted, len(near_by)))]] = True
        for _, normalised in words.values():
            kth = kth_largest(normalised, min(KEYWORD_COUNT, len(normalised)))
            chosen |= (normalised >= kth) & (normalised > 0)
        return np.flatnonzero(chosen & passes)
