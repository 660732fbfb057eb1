"""From a ranking to hits: the record, its band, its reasons and its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recalld.index.plan import Ranking
from recalld.scoring import explain
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Channel
from recalld.server.ask import WIRE_CHANNELS
from recalld.server.indexing import is_outweighed
from recalld.storage.record import MemoryRecord, Status
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2

Band = pb.ConfidenceBand
Drop = pb.DropReason

HIGH_SCORE_MIN = 0.5
VECTOR_AGREES = 0.5
"""Normalised cosine from which the vector channel counts as a witness.

Two spreads above the background.
"""
RELEVANCE_AGREES = 0.5
RELEVANCE_ALONE = 0.7
"""Relevance and similarity come from one encoder, so only strong ones count as two."""
KEYWORD_AGREES = 0.15

OUTWEIGHED_REASONS: dict[int, str] = {
    Status.ACTIVE: "possibly outdated",
    Status.CONFLICTED: "contradicted by a stronger speaker",
}
DROP_REASONS: dict[int, int] = {
    Excluded.VISIBILITY: Drop.DROP_REASON_VISIBILITY,
    Excluded.NOT_YET_KNOWN: Drop.DROP_REASON_NOT_YET_KNOWN,
    Excluded.NOT_VALID_THEN: Drop.DROP_REASON_NOT_VALID_THEN,
    Excluded.SUPERSEDED: Drop.DROP_REASON_SUPERSEDED,
    Excluded.EXPIRED: Drop.DROP_REASON_EXPIRED,
    Excluded.ARCHIVED: Drop.DROP_REASON_ARCHIVED,
    Excluded.FORGOTTEN: Drop.DROP_REASON_FORGOTTEN,
    Excluded.FILTER: Drop.DROP_REASON_FILTER,
}


@dataclass(frozen=True, slots=True, eq=False)
class RankedHit:
    """One hit before it is encoded; `ranking` and `place` lead to its parts."""

    record: MemoryRecord
    score: float
    band: int
    reasons: tuple[str, ...]
    ranking: Ranking
    place: int


def make_hits(ranking: Ranking, record_of: Callable[[int], MemoryRecord | None]) -> list[RankedHit]:
    """Hits of one ranking, best first.

    Args:
        ranking: of one partition.
        record_of: record of a label, or None for one that must not go out.
    """
    asked = bool(ranking.weights.channels.any())
    # A channel that was not asked for is no witness.
    heard = ranking.weights.channels > 0
    evidence = np.where(heard[:, None], ranking.normalised, 0).T.tolist()
    made = []
    for place, (label, score) in enumerate(
        zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True)
    ):
        record = record_of(label)
        if record is None:
            continue
        agreed, reasons = _witnesses(evidence[place]) if asked else (True, ("matches the filter",))
        if is_outweighed(record):
            reasons = (*reasons, OUTWEIGHED_REASONS[record.status])
            agreed = False
        high = agreed and score >= HIGH_SCORE_MIN
        band = Band.CONFIDENCE_BAND_HIGH if high else Band.CONFIDENCE_BAND_LOW
        made.append(RankedHit(record, score, band, reasons, ranking, place))
    return made


def _witnesses(normalised: list[float]) -> tuple[bool, tuple[str, ...]]:
    """Whether independent channels agree on a memory, and the names of those that speak for it."""
    key = normalised[Channel.KEY] > 0
    identifier = normalised[Channel.IDENTIFIER] > 0
    keyword = normalised[Channel.KEYWORD] >= KEYWORD_AGREES
    vector = normalised[Channel.VECTOR] >= VECTOR_AGREES
    relevance = normalised[Channel.RELEVANCE] >= RELEVANCE_AGREES
    reasons = []
    if key:
        reasons.append("exact key")
    if identifier:
        reasons.append("exact identifier")
    if keyword:
        reasons.append("shared words")
    if vector:
        reasons.append("similar meaning")
    if relevance:
        reasons.append("matters to such requests")
    strong = vector and normalised[Channel.RELEVANCE] >= RELEVANCE_ALONE
    agreed = key or identifier or strong or (keyword and (vector or relevance))
    return agreed, tuple(reasons) or ("weak similarity",)


def wire_parts(parts: explain.ScoreParts) -> pb.ScoreParts:
    """The parts as they go out."""
    return pb.ScoreParts(
        channels=[
            pb.ChannelScore(
                channel=WIRE_CHANNELS[part.channel],
                raw=part.raw,
                normalised=part.normalised,
                weight=part.weight,
            )
            for part in parts.channels
        ],
        fusion=int(parts.fusion),
        base=parts.base,
        decay=parts.decay,
        importance=parts.importance,
        confidence=parts.confidence,
        bias=parts.bias,
    )


def wire_hit(hit: RankedHit, memory: types_pb2.Memory, *, with_parts: bool) -> pb.Hit:
    """A hit as it goes out, around its encoded memory."""
    message = pb.Hit(memory=memory, score=hit.score, band=hit.band, reasons=hit.reasons)
    if with_parts:
        message.parts.CopyFrom(wire_parts(explain.parts(hit.ranking, hit.place)))
    return message


def conflicts(hits: list[RankedHit]) -> list[pb.Conflict]:
    """Conflict groups of which a hit is a member."""
    groups: dict[str, list[str]] = {}
    for hit in hits:
        if hit.record.conflict_group:
            groups.setdefault(hit.record.conflict_group, []).append(hit.record.id)
    return [pb.Conflict(conflict_group=name, memory_ids=ids) for name, ids in groups.items()]


def excluded(rankings: list[Ranking], k: int, returned: int) -> list[pb.ExcludedCount]:
    """What was left out, by reason."""
    counts: Counter[int] = Counter()
    for ranking in rankings:
        for reason, drop in DROP_REASONS.items():
            counts[drop] += int(ranking.excluded[reason])
    left = sum(ranking.matched for ranking in rankings) - returned
    if left > 0:
        counts[Drop.DROP_REASON_OVER_K if returned >= k else Drop.DROP_REASON_BELOW_CUT] += left
    return [
        pb.ExcludedCount(reason=reason, count=count)
        for reason, count in sorted(counts.items())
        if count
    ]
