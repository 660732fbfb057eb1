"""Examine: what a search made of every memory, also of those that it left out.

It puts the same question again: once for more ranks than were wanted, once to what was left out as
if it might have answered, or to a single memory. It only ever reads, and tells nothing of rows that
are hidden from the asker, forgotten or removed.

Invariants: what passed is scored as the search itself scores it, within float32 rounding; what did
not pass is scored by WEIGHTED fusion, since ranks among those that passed mean nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.conditions import Filter, LabelIn
from recalld.index.filter import View, exclude
from recalld.index.generation import Reading
from recalld.index.partition import PartitionIndex
from recalld.index.plan import K_MAX, QueryPlan, Ranking
from recalld.index.search import RELEVANCE_COUNT_MAX
from recalld.scoring.masks import Excluded
from recalld.scoring.params import STATUS_COUNT, Channel, Fusion

RANKED_COUNT_MAX = 200
"""Ranked memories that are told: as many as a recall can return."""
LEFT_OUT_COUNT_MAX = 50
"""Memories left out before ranking that are told: enough for every slot near the request."""
TOLD = np.isin(
    np.arange(len(Excluded)),
    [
        Excluded.NOT_YET_KNOWN,
        Excluded.NOT_VALID_THEN,
        Excluded.SUPERSEDED,
        Excluded.EXPIRED,
        Excluded.ARCHIVED,
        Excluded.FILTER,
    ],
)
TOLD.flags.writeable = False


@dataclass(frozen=True)
class Examined:
    """One search, seen whole.

    Attributes:
        ranked: the best RANKED_COUNT_MAX of what passed, whatever their score.
        left_out: the best LEFT_OUT_COUNT_MAX of what did not, among the RELEVANCE_COUNT_MAX stored
            last.
        reasons: uint8[len(left_out)] of `Excluded`.
    """

    ranked: Ranking
    left_out: Ranking
    reasons: NDArray[np.uint8]


@dataclass(frozen=True)
class Judged:
    """What a search makes of one memory.

    Attributes:
        reason: why it does not pass; `Excluded.NO`: it does.
        ranking, place: where its score and parts are; None where none can be said.
        rank: place among all that passed, from 1; 0 = not ranked, or beyond K_MAX.
    """

    reason: Excluded
    ranking: Ranking | None = None
    place: int = 0
    rank: int = 0


def examine(index: PartitionIndex, plan: QueryPlan, reading: Reading) -> Examined:
    """See one search whole.

    Args:
        index: the partition.
        plan: the question that was put.
        reading: the rows that it was put to.
    """
    ranked = index.search(replace(plan, k=RANKED_COUNT_MAX, min_score=0.0), _exact(plan, reading))
    columns = reading.generation.columns
    excluded = exclude(columns, plan.view, plan.filter)
    labels = columns.labels[np.flatnonzero(TOLD[excluded])]
    asked = _as_if(plan, labels[-RELEVANCE_COUNT_MAX:].tolist(), ranked.matched)
    left_out = index.search(asked, reading)
    rows = [columns.row(label) for label in left_out.labels.tolist()]
    return Examined(ranked, left_out, excluded[rows])


def judge(index: PartitionIndex, plan: QueryPlan, label: int) -> Judged:
    """See what the question makes of one memory, among the rows as they are now."""
    reading = Reading(index.generation)
    columns = reading.generation.columns
    row = columns.row(label)
    if row < 0:
        return Judged(Excluded.REMOVED)
    excluded = exclude(columns, plan.view, plan.filter)
    reason = Excluded(int(excluded[row]))
    if reason == Excluded.NO and label in plan.exclude_labels:
        reason = Excluded.NAMED
    matched = int((excluded == 0).sum())
    if reason == Excluded.NO:
        ranking = index.search(replace(plan, k=K_MAX, min_score=0.0), _exact(plan, reading))
        places = np.flatnonzero(ranking.labels == label).tolist()
        if places:
            return Judged(reason, ranking, places[0], places[0] + 1)
        matched = ranking.matched
    is_asked = plan.vectors is not None or bool(plan.texts)
    is_told = bool(TOLD[reason]) or reason == Excluded.NO
    if plan.fusion == Fusion.RRF or not (is_asked and is_told):
        return Judged(reason)
    return Judged(reason, index.search(_as_if(plan, [label], matched), reading))


def _exact(plan: QueryPlan, reading: Reading) -> Reading:
    """The rows without their graph, which proposes by `k`; ranks of RRF are among the proposed."""
    if plan.fusion == Fusion.RRF:
        return reading
    return Reading(replace(reading.generation, graph=None), reading.words)


def _as_if(plan: QueryPlan, labels: Iterable[int], matched: int) -> QueryPlan:
    """The same question put to some memories only, whether or not they may answer.

    What neighbours of theirs would say is left out: those are not among them.
    """
    everything = View(
        now_us=plan.view.now_us,
        admin=True,
        all_agents=True,
        statuses=frozenset(range(STATUS_COUNT)),
    )
    return replace(
        plan,
        view=everything,
        filter=Filter((LabelIn(frozenset(labels)),)),
        weights={**plan.weights, Channel.RELATION: 0.0},
        with_relevance=plan.with_relevance and matched <= RELEVANCE_COUNT_MAX,
        k=LEFT_OUT_COUNT_MAX,
        min_score=0.0,
        fusion=Fusion.WEIGHTED,
        exclude_labels=frozenset(),
    )
