"""From a ranking to hits: the record, its band, its reasons and its parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from recalld.index.plan import Ranking
from recalld.index.relation import FULL_EVIDENCE
from recalld.scoring import explain
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Channel, Doubt
from recalld.server.ask import WIRE_CHANNELS
from recalld.server.indexing import doubt_of
from recalld.storage.record import MemoryRecord
from recalld.v1 import recall_service_pb2 as pb

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
RELATION_AGREES = KEYWORD_AGREES / FULL_EVIDENCE
"""A neighbour that shares words is a reason, but no witness: it is not about this memory."""
FILTER_ALONE: tuple[str, ...] = ("matches the filter",)
ROLE_AGREES = 0.1
"""Role score that is worth naming; it is no witness, for it does not know what the text says."""
CUE_AGREES = 0.5
"""Cue score that is a witness beside similarity or words: the writer said when it matters."""
TIME_AGREES = 1.0
"""A memory lies in the time asked about, or outside it."""
PAST_REASON = "past its time"
INHERITED_REASON = "answers for what it replaced"

_SPEAKING = itemgetter(
    Channel.KEY,
    Channel.IDENTIFIER,
    Channel.KEYWORD,
    Channel.VECTOR,
    Channel.RELEVANCE,
    Channel.TIME,
    Channel.RELATION,
    Channel.ROLE,
)
DOUBT_REASONS: dict[Doubt, str] = {
    Doubt.OUTDATED: "possibly outdated",
    Doubt.CONTRADICTED: "contradicted by a stronger speaker",
    Doubt.TENTATIVE: "only mused about",
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
    """One hit before it is encoded; `ranking` and `place` lead to its parts.

    `past` says that it is past its time: true once, not to be presented as current.
    """

    record: MemoryRecord
    score: float
    band: int
    reasons: tuple[str, ...]
    ranking: Ranking
    place: int
    past: bool


def order_of(hit: RankedHit) -> tuple[float, int, int]:
    """The total order of hits: score descending, then newer, then stored later."""
    return (-hit.score, -hit.record.create_time_us, -hit.record.label)


def make_hits(ranking: Ranking, record_of: Callable[[int], MemoryRecord | None]) -> list[RankedHit]:
    """Hits of one ranking, best first.

    Args:
        ranking: of one partition.
        record_of: record of a label, or None for one that must not go out.
    """
    is_asked = not math.isinf(ranking.weights.bias)
    evidence = _heard(ranking) if is_asked else []
    cues, pasts, heirs = ranking.cues.tolist(), ranking.past.tolist(), ranking.inherited.tolist()
    made = []
    for place, (label, score) in enumerate(
        zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True)
    ):
        record = record_of(label)
        if record is None:
            continue
        agreed, reasons = True, FILTER_ALONE
        if is_asked:
            cue = _cue_of(record, cues[place])
            agreed, reasons = _witnesses(evidence[place], record.key, cue)
        if heirs[place]:
            reasons = (*reasons, INHERITED_REASON)
        past = pasts[place]
        if past:
            reasons = (*reasons, PAST_REASON)
        doubt = doubt_of(record)
        if doubt:
            reasons = (*reasons, DOUBT_REASONS[doubt])
        high = agreed and score >= HIGH_SCORE_MIN and not (past or doubt)
        band = pb.CONFIDENCE_BAND_HIGH if high else pb.CONFIDENCE_BAND_LOW
        made.append(RankedHit(record, score, band, reasons, ranking, place, past))
    return made


def _heard(ranking: Ranking) -> list[list[float]]:
    """Evidence of each hit by channel; a channel that was not asked for is no witness."""
    heard = (ranking.weights.channels > 0)[:, None]
    listed: list[list[float]] = (ranking.evidence * heard).T.tolist()
    return listed


def _cue_of(record: MemoryRecord, number: int) -> str:
    """The cue that speaks for a memory; "" = none, or gone since the search."""
    return record.relevant_when[number] if 0 <= number < len(record.relevant_when) else ""


def _witnesses(evidence: list[float], name: str, cue: str) -> tuple[bool, tuple[str, ...]]:
    """Whether independent channels agree on a memory of some key and cue, and what for."""
    key, identifier, keyword, vector, relevance, time, relation, role = _SPEAKING(evidence)
    has_words, is_near = keyword >= KEYWORD_AGREES, vector >= VECTOR_AGREES
    is_needed = relevance >= RELEVANCE_AGREES
    reasons = []
    if key > 0:
        reasons.append(f"exact key: {name}")
    if identifier > 0:
        reasons.append("exact identifier")
    if has_words:
        reasons.append("shared words")
    if is_near:
        reasons.append("similar meaning")
    if time >= TIME_AGREES:
        reasons.append("in the time asked about")
    if is_needed:
        reasons.append("matters to such requests")
    if relation >= RELATION_AGREES:
        reasons.append("beside what was asked for")
    if role >= ROLE_AGREES:
        reasons.append(
            f"a cue of the writer: {cue}" if cue else "its role matters in this situation"
        )
    is_told = bool(cue) and role >= CUE_AGREES
    is_strong = is_near and relevance >= RELEVANCE_ALONE
    agreed = key > 0 or identifier > 0 or is_strong or (has_words and (is_near or is_needed))
    agreed = agreed or (is_told and (is_near or is_needed or has_words))
    return agreed, tuple(reasons) or (_weak_reason(evidence),)


def _weak_reason(evidence: list[float]) -> str:
    """What there is of a memory for which no channel speaks up."""
    if evidence[Channel.KEYWORD] > 0:
        return "few shared words"
    is_near = evidence[Channel.VECTOR] > 0 or evidence[Channel.RELEVANCE] > 0
    return "weak similarity" if is_near else "no evidence"


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


def wire_hit(hit: RankedHit, *, with_parts: bool) -> pb.Hit:
    """A hit as it goes out, but for its memory."""
    message = pb.Hit(score=hit.score, band=hit.band, reasons=hit.reasons)
    if with_parts:
        message.parts.CopyFrom(wire_parts(explain.parts(hit.ranking, hit.place)))
    return message


def excluded(rankings: list[Ranking], k: int, returned: int) -> list[tuple[int, int]]:
    """What was left out: reasons of the contract and how many, in the order of the reasons."""
    counts: dict[int, int] = {}
    for ranking in rankings:
        for reason, count in enumerate(ranking.excluded.tolist()):
            if count and reason in DROP_REASONS:
                drop = DROP_REASONS[reason]
                counts[drop] = counts.get(drop, 0) + count
    left = sum(ranking.matched for ranking in rankings) - returned
    if left > 0:
        drop = pb.DROP_REASON_OVER_K if returned >= k else pb.DROP_REASON_BELOW_CUT
        counts[drop] = counts.get(drop, 0) + left
    return sorted(counts.items())
