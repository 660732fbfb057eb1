"""Cues in a search: their evidence joins the role channel, whose weight they can turn on.

Where no memory of the generation has cues it costs one comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.index.cues import CueScores, score_cues
from recalld.index.evidence import Words
from recalld.index.generation import Generation
from recalld.index.plan import QueryPlan
from recalld.scoring.params import Channel


def with_cues(
    generation: Generation, plan: QueryPlan, words: Words
) -> tuple[Words, NDArray[np.int64] | None]:
    """Let the larger of role and cue speak in the role channel.

    Args:
        generation: the rows.
        plan: the question.
        words: what is said of the rows already.

    Returns:
        What is said of the rows now, and int64[rows], the place of the cue that speaks for a row
        among its memory's, -1 where none does. As given and None where no cue is near.
    """
    found = _heard(generation, plan)
    if found is None:
        return words, None
    raw, scores = words.get(Channel.ROLE, (np.zeros_like(found.scores),) * 2)
    wins = found.scores > scores
    channel = (np.where(wins, found.cosines, raw), np.where(wins, found.scores, scores))
    return {**words, Channel.ROLE: channel}, np.where(wins, found.numbers, -1)


def _heard(generation: Generation, plan: QueryPlan) -> CueScores | None:
    """What the cues say of the request; None where none is near."""
    block = generation.cues
    if not (block.count and plan.cue_weight) or plan.vectors is None or block.background is None:
        return None
    similarity = np.ascontiguousarray(plan.vectors[:, : block.vectors.shape[1]])
    requests = (similarity, plan.vector_weights)
    return score_cues(block, generation.cue_rows, requests, generation.columns.count)
