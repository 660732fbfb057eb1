"""The answer of a recall but for its hits: what was left out, and why when nothing was found."""

from __future__ import annotations

from collections.abc import Sequence

from recalld.index.plan import Ranking
from recalld.server import hits
from recalld.server.ask import Ask
from recalld.server.hits import RankedHit
from recalld.server.partition import Partition
from recalld.server.query import Query
from recalld.v1 import recall_service_pb2 as pb


def bare_answer(
    recall_id: str,
    asked: Ask,
    chosen: Sequence[Partition],
    rankings: list[Ranking],
    ranked: list[RankedHit],
    query: Query,
    held: int,
) -> pb.RecallResponse:
    """Everything of the answer but the hits, their conflicts and the times.

    Args:
        recall_id: name of the recall.
        asked: the request.
        chosen, rankings: the partitions searched, and what each gave.
        ranked: the hits.
        query: what the channels were asked.
        held: revision that the answer is based on.
    """
    response = pb.RecallResponse(recall_id=recall_id, revision=held)
    # Most answers have none of these, and to set a field to nothing costs as much as to set it.
    if degraded := (*asked.degraded, *query.degraded):
        response.degraded.extend(degraded)
    if query.situation:
        response.situation = query.situation
    for reason, count in hits.excluded(rankings, asked.k, len(ranked)):
        response.excluded.add(reason=reason, count=count)
    if not ranked:
        response.abstained = True
        if not any(len(part) for part in chosen):
            response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_NO_MEMORIES
        elif not any(ranking.matched for ranking in rankings):
            response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_NO_MATCH
        else:
            response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_BELOW_CUT
    return response
