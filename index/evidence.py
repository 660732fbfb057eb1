"""Evidence of a search: what each channel says of each row, laid out for the ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.exact import VectorBlock
from recalld.index.plan import QueryPlan
from recalld.scoring import masks
from recalld.scoring.decay import flat_table
from recalld.scoring.params import Channel, Fusion, Scale
from recalld.scoring.rank import Floats, Rows, Rules
from recalld.scoring.scan import nearest_into, query_codes, roughly_nearest_into

FloatPair = tuple[Floats, Floats]
# What channels say of every row of a generation: their own numbers, and these normalised.
Words = dict[Channel, FloatPair]
# Nothing was asked but a filter: all are alike, so the newest event comes first.
FLAT_TABLE = flat_table()


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class VectorPart:
    """One kind of vector, the rows' and the queries'.

    Attributes:
        channel: that it serves.
        scale: of its cosines; numbers: the same for the kernels.
        block: the rows'.
        queries: float32[q, dim].
        weights: float32[q], in (0, 1].
    """

    channel: Channel
    scale: Scale
    numbers: Floats
    block: VectorBlock
    queries: Floats
    weights: Floats

    def empty(self) -> FloatPair:
        """Return room for what the channel says of every row."""
        return np.empty(self.block.count, np.float32), np.empty(self.block.count, np.float32)

    def exact(self, rows: Rows, said: FloatPair) -> None:
        """Write cosine and normalised score of some rows, each under its best query."""
        vectors = self.block.vectors
        nearest_into(vectors, rows, self.queries, self.weights, self.numbers, *said)

    def rough(self, rows: Rows, said: FloatPair) -> None:
        """Write the normalised score of some rows by an 8-bit scan."""
        block, queries = self.block.coded(), query_codes(self.queries)
        roughly_nearest_into(block, rows, queries, self.weights, self.numbers, said[1])


Parts = list[VectorPart]


def rules_of(plan: QueryPlan, table: NDArray[np.float64] | None, words: Words) -> Rules:
    """Say how the facts of rows become factors.

    Args:
        plan: the question.
        table: of `scoring.decay`; None where nothing was asked but a filter.
        words: what channels say. Where the request names a time, what lies in it is not past.
    """
    past_at_us = plan.view.as_of_us or plan.view.now_us
    spares = bool(plan.time.windows) and Channel.TIME in words
    newer_by = masks.EVENT_TIME if table is None else masks.CREATE_TIME
    fusion = Fusion.WEIGHTED if table is None else plan.fusion
    settings = np.array((plan.view.now_us, past_at_us, spares, newer_by, fusion), dtype=np.int64)
    return FLAT_TABLE if table is None else table, settings
