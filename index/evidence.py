"""Evidence of a search: what each channel says of each row, laid out for the ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import Columns
from recalld.index.exact import VectorBlock
from recalld.index.plan import QueryPlan
from recalld.scoring import decay, masks
from recalld.scoring.fuse import normalise_vector
from recalld.scoring.params import (
    BACKGROUND_VECTOR,
    CHANNEL_COUNT,
    PAST_DECAY,
    STATE,
    Channel,
    Scale,
)
from recalld.scoring.rank import Evidence
from recalld.scoring.scan import nearest_into

Floats = NDArray[np.float32]
FloatPair = tuple[Floats, Floats]
Rows = NDArray[np.int64]
Words = dict[Channel, FloatPair]


@dataclass(frozen=True, slots=True)
class VectorPart:
    """One kind of vector: the rows' and the queries', float32[q, dim]."""

    block: VectorBlock
    queries: Floats


Parts = list[tuple[Channel, Scale, VectorPart]]


def exact_scores(part: VectorPart, plan: QueryPlan, rows: Rows, scale: Scale) -> FloatPair:
    """Return cosine and normalised score of each row under its best query."""
    raw = np.empty(len(rows), dtype=np.float32)
    normalised = np.empty_like(raw)
    weights = np.array(plan.vector_weights, dtype=np.float32)
    nearest_into(part.block.vectors, rows, part.queries, weights, scale.numbers(), raw, normalised)
    return raw, normalised


def rough_scores(part: VectorPart, plan: QueryPlan, rows: Rows, scale: Scale) -> Floats:
    """Return the normalised score of each row by an 8-bit scan."""
    best: Floats | None = None
    unknown = np.ones(len(rows), dtype=np.bool_)
    for vector, weight in zip(part.queries, plan.vector_weights, strict=True):
        cosines = part.block.scan(rows, vector)
        unknown &= cosines == 0
        score = normalise_vector(cosines, scale, weight)
        best = score if best is None else np.maximum(best, score)
    assert best is not None
    return np.where(unknown, np.float32(BACKGROUND_VECTOR), best)


def unweighed(columns: Columns, rows: Rows) -> Evidence:
    """Evidence where nothing was asked but a filter: all alike, so the newest event comes first."""
    return Evidence(
        columns.labels[rows],
        columns.times[masks.EVENT_TIME, rows],
        np.zeros((CHANNEL_COUNT, len(rows)), dtype=np.float32),
        np.zeros((CHANNEL_COUNT, len(rows)), dtype=np.float32),
        np.ones((decay.FACTOR_COUNT, len(rows)), dtype=np.float32),
    )


def gathered(words: Words, rows: Rows) -> Floats:
    """Lay out the normalised scores of rows as float32[CHANNEL_COUNT, m]."""
    normalised = np.zeros((CHANNEL_COUNT, len(rows)), dtype=np.float32)
    for channel, (_, values) in words.items():
        normalised[channel] = values[rows]
    return normalised


def factors_of(
    columns: Columns, rows: Rows, table: NDArray[np.float64], plan: QueryPlan, words: Words
) -> Floats:
    """Gather age, importance and confidence factors of rows, float32[FACTOR_COUNT, m]."""
    at_us = plan.view.as_of_us or plan.view.now_us
    if plan.time.windows and Channel.TIME in words:
        at_us = 0
    factors = decay.gather_factors(
        rows, columns.small, columns.times, columns.confidence, (plan.view.now_us, at_us), table
    )
    if not at_us:
        is_over = past_rows(columns, rows, plan, words) & (columns.small[masks.KIND, rows] == STATE)
        factors[decay.DECAY_ROW, is_over] = PAST_DECAY
    return factors


def past_rows(columns: Columns, rows: Rows, plan: QueryPlan, words: Words) -> NDArray[np.bool_]:
    """Mark rows past their time at the moment asked about, unless the request asks of their time.

    Returns:
        bool[len(rows)].
    """
    due = columns.times[masks.PAST_TIME, rows]
    past = (due != 0) & (due <= (plan.view.as_of_us or plan.view.now_us))
    if plan.time.windows and Channel.TIME in words:
        past &= words[Channel.TIME][0][rows] > 0
    return np.asarray(past, dtype=np.bool_)
