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

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Words = dict[Channel, tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class VectorPart:
    """One kind of vector: the rows' and the queries', float32[q, dim]."""

    block: VectorBlock
    queries: Floats


Parts = list[tuple[Channel, Scale, VectorPart]]


def vector_scores(
    part: VectorPart, plan: QueryPlan, rows: Rows, scale: Scale, *, exact: bool
) -> tuple[Floats, Floats]:
    """Return cosine and normalised score of each row under its best query."""
    similarity = part.block.rescore if exact else part.block.scan
    raw = similarity(rows, part.queries[0])
    best = normalise_vector(raw, scale, plan.vector_weights[0])
    for vector, weight in zip(part.queries[1:], plan.vector_weights[1:], strict=True):
        other = similarity(rows, vector)
        score = normalise_vector(other, scale, weight)
        raw = np.where(score > best, other, raw)
        best = np.maximum(best, score)
    # A cosine of exactly 0 is that of a memory whose vector is not known: neither near nor far.
    return raw, np.where(raw == 0, np.float32(BACKGROUND_VECTOR), best)


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
    columns: Columns, rows: Rows, decays: NDArray[np.float64], plan: QueryPlan, words: Words
) -> Floats:
    """Gather age, importance and confidence factors of rows, float32[FACTOR_COUNT, m]."""
    factors = np.empty((decay.FACTOR_COUNT, len(rows)), dtype=np.float32)
    importance = columns.small[masks.IMPORTANCE, rows]
    decay.decay_into(
        columns.small[masks.KIND, rows],
        importance,
        columns.times[masks.ANCHOR_TIME, rows],
        plan.view.now_us,
        decays,
        factors[decay.DECAY_ROW],
    )
    # An event that has been is still what happened; only what is no longer so is faded.
    is_over = past_rows(columns, rows, plan, words) & (columns.small[masks.KIND, rows] == STATE)
    factors[decay.DECAY_ROW, is_over] = PAST_DECAY
    factors[decay.IMPORTANCE_ROW] = decay.importance_factor(importance)
    factors[decay.CONFIDENCE_ROW] = decay.confidence_factor(
        columns.confidence[rows], columns.small[masks.STATED_BY, rows]
    )
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


def rows_of(columns: Columns, rows: Rows, labels: NDArray[np.int64]) -> Rows:
    """Find the rows of labels among `rows`; a writer may be taking them off the newest view."""
    held = rows[np.isin(columns.labels[rows], labels)]
    places = dict(zip(columns.labels[held].tolist(), held.tolist(), strict=True))
    return np.array([places[label] for label in labels.tolist()], dtype=np.int64)
