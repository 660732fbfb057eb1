"""A partition's search in plain Python: every channel of every memory, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from recalld.index.analyzer import Analyzer
from recalld.index.columns import IndexRow
from recalld.index.plan import QueryPlan
from recalld.index.postings import SINGLE_HAN_UNIT
from recalld.scoring import params
from recalld.scoring.decay import factor_table
from recalld.scoring.params import Channel, RankParams, Scale
from tests.conformance.index_contract import DIM
from tests.scoring import naive

PARAMS = RankParams(0.1, 0.2, relevance=Scale(-0.05, 0.3))
ANALYZER = Analyzer()


def neighbours(rows: Sequence[IndexRow]) -> set[tuple[int, int]]:
    """Pairs of labels, earlier first, that follow one another in a conversation."""
    pairs = set()
    talks: dict[tuple[str, ...], list[IndexRow]] = {}
    for row in rows:
        if not row.key and row.event_time_us:
            talk = (row.session_id, row.source_session_id, row.agent_id, row.namespace)
            talks.setdefault(talk, []).append(row)
    for talk, turns in talks.items():
        turns.sort(key=lambda row: (row.event_time_us, row.label))
        for one, other in pairwise(turns):
            gap_s = (other.event_time_us - one.event_time_us) / 1e6
            if gap_s <= 300 and (talk[0] or talk[1] or gap_s > 0):
                pairs.add((one.label, other.label))
    return pairs


def expected_scores(
    table: Sequence[IndexRow], vectors, live: Sequence[bool], wanted: Sequence[IndexRow], plan
) -> list[float]:
    """Scores of the wanted rows of a table whose other rows are removed or filtered out."""
    channels = {
        row.label: _channels(row, vectors[row.label - 1], table, live, plan) for row in wanted
    }
    keyword = {label: x[Channel.KEYWORD] for label, x in channels.items()}
    for one, other in neighbours([row for row in table if live[row.label - 1]]):
        for label, beside in ((one, other), (other, one)):
            if label in channels:
                gained = min(1.0, keyword.get(beside, 0.0) / 0.6)
                x = channels[label]
                x[Channel.RELATION] = max(x[Channel.RELATION], gained)
    mix = _mix([row for row in table if live[row.label - 1]], plan)
    return [_score(row, channels[row.label], plan, mix) for row in wanted]


def _mix(rows: Sequence[IndexRow], plan: QueryPlan) -> params.Mix:
    """The mix of what most rows are."""
    if plan.vectors is None or plan.vectors.shape[1] == DIM:
        return params.SIMILAR
    if 2 * len(neighbours(rows)) > len(rows):
        return params.TURNS
    events = [row for row in rows if row.kind in (params.EVENT, params.DOCUMENT)]
    return params.EVENTS if 2 * len(events) > len(rows) else params.STATEMENTS


def _channels(row: IndexRow, vector, table, live, plan: QueryPlan) -> list[float]:
    """Normalised scores of one memory, but for what its neighbours say."""
    x = [0.0] * len(Channel)
    parts = 0 if plan.vectors is None else plan.vectors.shape[1] // DIM
    for part, (channel, scale) in enumerate(
        [(Channel.VECTOR, PARAMS), (Channel.RELEVANCE, PARAMS.relevance)][:parts]
    ):
        best = -math.inf
        columns = slice(part * DIM, (part + 1) * DIM)
        for query, weight in zip(plan.vectors, plan.vector_weights, strict=True):
            z = (naive.dot(query[columns], vector[columns]) - scale.mean) / scale.spread
            best = max(best, min(1, max(0, ((z * weight if z > 0 else z) + 3) / 10)))
        x[channel] = best if vector[columns].any() else 0.3
    documents = [list(ANALYZER.analyze(f"{r.text}\n{r.key}").words) for r in table]
    bm25 = naive.BM25(documents, live, SINGLE_HAN_UNIT)
    place = table.index(row)
    for text, weight in zip(plan.texts, plan.text_weights, strict=False):
        tokens = ANALYZER.analyze(text)
        evidence = bm25.score(tokens.words, place)[1]
        x[Channel.KEYWORD] = max(x[Channel.KEYWORD], weight * min(1, evidence / 2))
        share = 0.0
        rarest = math.log(1 + (bm25.count - 1 + 0.5) / 1.5)
        for word in tokens.identifiers:
            if word in documents[place]:
                share += min(1, bm25.idf(word) / rarest) ** 2 / len(tokens.identifiers)
        x[Channel.IDENTIFIER] = max(x[Channel.IDENTIFIER], weight * share)
        if row.key and (text == row.key or row.key in tokens.identifiers):
            x[Channel.KEY] = max(x[Channel.KEY], weight)
    return x


def _score(row: IndexRow, x: Sequence[float], plan: QueryPlan, mix: params.Mix) -> float:
    """The score from the channels and the factors."""
    parts = 0 if plan.vectors is None else plan.vectors.shape[1] // DIM
    words = bool(plan.texts)
    used = {
        Channel.VECTOR: parts > 0,
        Channel.RELEVANCE: parts > 1,
        Channel.KEYWORD: words,
        Channel.IDENTIFIER: words,
        Channel.KEY: words,
        Channel.RELATION: words,
    }
    if not any(used.values()):
        return 1.0
    weights = [mix.weights[channel] if used.get(channel) else 0.0 for channel in Channel]
    vectors = weights[Channel.VECTOR] + weights[Channel.RELEVANCE]
    base = naive.base(x, weights, mix.background - 0.3 * vectors)
    age = plan.view.now_us - row.anchor_time_us
    fade = naive.decay(factor_table(PARAMS)[:2].T.tolist(), row.kind, row.importance == 4, age)
    sure = (0.8 + 0.2 * row.confidence) * params.STATED_BY_FACTOR[row.stated_by]
    sure *= (1.0, 0.3, 0.1, 0.3)[row.doubt]
    return base * fade * params.IMPORTANCE_FACTOR[row.importance] * sure
