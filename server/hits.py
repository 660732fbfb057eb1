"""From a ranking to hits: the record, its band, its reasons and its parts."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from recalld.index.plan import Ranking
from recalld.index.relation import FULL_EVIDENCE
from recalld.scoring import explain
from recalld.scoring.best import IS_PAST, SCORE
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Channel, Doubt
from recalld.scoring.witness import marks_into
from recalld.server import encoded
from recalld.server.channels import WIRE_CHANNELS
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
ROLE_AGREES = 0.1
"""Role score that is worth naming; it is no witness, for it does not know what the text says."""
CUE_AGREES = 0.5
"""Cue score that is a witness beside similarity or words: the writer said when it matters."""
TIME_AGREES = 1.0
"""A memory lies in the time asked about, or outside it."""
PAST_REASON = "past its time"
INHERITED_REASON = "answers for what it replaced"
REASONS, PARTS = pb.Hit.REASONS_FIELD_NUMBER, pb.Hit.PARTS_FIELD_NUMBER
_SCORE_TAG, _BAND_TAG = pb.Hit.SCORE_FIELD_NUMBER << 3 | 1, pb.Hit.BAND_FIELD_NUMBER << 3
_HEAD = struct.Struct("<BdBB")
"""The fields `score` and `band`: a tag and eight bytes, a tag and one."""

_CONDITIONS = (
    (Channel.KEY, 0.0),
    (Channel.IDENTIFIER, 0.0),
    (Channel.KEYWORD, KEYWORD_AGREES),
    (Channel.VECTOR, VECTOR_AGREES),
    (Channel.TIME, TIME_AGREES),
    (Channel.RELEVANCE, RELEVANCE_AGREES),
    (Channel.RELATION, RELATION_AGREES),
    (Channel.ROLE, ROLE_AGREES),
    (Channel.RELEVANCE, RELEVANCE_ALONE),
    (Channel.ROLE, CUE_AGREES),
    (Channel.KEYWORD, 0.0),
    (Channel.VECTOR, 0.0),
    (Channel.RELEVANCE, 0.0),
)
_BITS = [1 << bit for bit in range(len(_CONDITIONS))]
"""Of the conditions, in the mark of a hit."""
KEY, IDENTIFIER, WORDS, NEAR, IN_TIME, NEEDED, BESIDE, IN_ROLE, STRONG, TOLD = _BITS[:10]
FEW_WORDS, FAINTLY_NEAR, FAINTLY_NEEDED = _BITS[10:]
_CHANNELS = np.array([channel for channel, _ in _CONDITIONS], dtype=np.int64)
_LEAST = np.array([least for _, least in _CONDITIONS], dtype=np.float64)
FILTER_MARK = 1 << len(_CONDITIONS)
"""Nothing was asked but a filter."""
_REASONS: dict[int, str] = {
    KEY: "exact key",
    IDENTIFIER: "exact identifier",
    WORDS: "shared words",
    NEAR: "similar meaning",
    IN_TIME: "in the time asked about",
    NEEDED: "matters to such requests",
    BESIDE: "beside what was asked for",
    IN_ROLE: "its role matters in this situation",
}
DOUBT_REASONS: dict[int, str] = {
    Doubt.NONE: "",
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


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True, eq=False)
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
    labels, doubts, marks = ranking.labels.tolist(), ranking.doubts.tolist(), _marks(ranking)
    cues = None if ranking.cues is None else ranking.cues.tolist()
    heirs = None if ranking.inherited is None else ranking.inherited.tolist()
    made = []
    for place, (label, parts) in enumerate(zip(labels, ranking.parts.tolist(), strict=True)):
        record = record_of(label)
        if record is None:
            continue
        score, past, mark = parts[SCORE], parts[IS_PAST] > 0, marks[place]
        cue = "" if cues is None else _cue_of(record, cues[place])
        is_heir = heirs is not None and heirs[place]
        doubt = doubts[place]
        if doubt and doubt != Doubt.TENTATIVE and not record.superseded_by:
            doubt = Doubt.NONE  # What weighs more is not the asker's to know of.
        agreed, reasons, behind = _told(mark, cue != "", is_heir, past, doubt)
        if mark & KEY:
            reasons = (f"exact key: {record.key}", *reasons[1:])
        if cue and mark & IN_ROLE:
            reasons = (*reasons[:-1], f"a cue of the writer: {cue}")
        if behind:
            reasons += behind
        high = agreed and score >= HIGH_SCORE_MIN and not (past or doubt)
        band = pb.CONFIDENCE_BAND_HIGH if high else pb.CONFIDENCE_BAND_LOW
        made.append(RankedHit(record, score, band, reasons, ranking, place, past))
    return made


def _marks(ranking: Ranking) -> list[int]:
    """Which of the conditions each hit meets; a channel that was not asked for is no witness."""
    if math.isinf(ranking.weights.bias):
        return [FILTER_MARK] * len(ranking.labels)
    marks = np.empty(len(ranking.labels), dtype=np.int64)
    marks_into(ranking.said, ranking.weights.channels, _CHANNELS, _LEAST, marks)
    listed: list[int] = marks.tolist()
    return listed


def _cue_of(record: MemoryRecord, number: int) -> str:
    """The cue that speaks for a memory; "" = none, or gone since the search."""
    return record.relevant_when[number] if 0 <= number < len(record.relevant_when) else ""


@cache
def _told(
    mark: int, has_cue: bool, is_heir: bool, past: bool, doubt: int
) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """Whether independent channels agree on a memory of some mark, what speaks for it, and then.

    The reason of a key comes first, that of its role or cue last; neither names it. Behind those of
    the channels stand the others.
    """
    said = (INHERITED_REASON if is_heir else "", PAST_REASON if past else "", DOUBT_REASONS[doubt])
    behind = tuple(filter(None, said))
    if mark == FILTER_MARK:
        return True, ("matches the filter",), behind
    is_backed = bool(mark & (NEAR | NEEDED))
    is_agreed = (
        bool(mark & (KEY | IDENTIFIER))
        or bool(mark & NEAR and mark & STRONG)
        or bool(mark & WORDS and is_backed)
        or bool(has_cue and mark & TOLD and (is_backed or mark & WORDS))
    )
    reasons = tuple(text for bit, text in _REASONS.items() if mark & bit)
    return is_agreed, reasons or (_weak_reason(mark),), behind


def _weak_reason(mark: int) -> str:
    """What there is of a memory for which no channel speaks up."""
    if mark & FEW_WORDS:
        return "few shared words"
    return "weak similarity" if mark & (FAINTLY_NEAR | FAINTLY_NEEDED) else "no evidence"


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


def wire_hit(hit: RankedHit, memory: bytes, *, with_parts: bool) -> bytes:
    """An encoded hit; `memory` is its encoded first field."""
    parts = b""
    if with_parts:
        message = wire_parts(explain.parts(hit.ranking, hit.place))
        parts = encoded.field(PARTS, message.SerializeToString())
    head = _HEAD.pack(_SCORE_TAG, hit.score, _BAND_TAG, hit.band)
    reasons = [_ENCODED.get(reason) or _encoded(reason) for reason in hit.reasons]
    return b"".join((memory, head, parts, *reasons))


def _encoded(reason: str) -> bytes:
    """A reason as it goes out."""
    return encoded.field(REASONS, reason.encode())


# Only what tells nothing of a memory, so that nothing has to be let go of with one.
_ENCODED = {
    reason: _encoded(reason)
    for reason in (*_REASONS.values(), *DOUBT_REASONS.values(), PAST_REASON, INHERITED_REASON)
}


def excluded(rankings: list[Ranking], k: int, returned: int) -> list[tuple[int, int]]:
    """What was left out: reasons of the contract and how many, in the order of the reasons."""
    counts: dict[int, int] = {}
    for ranking in rankings:
        for reason, count in enumerate(ranking.excluded.tolist()):
            if count and (drop := DROP_REASONS.get(reason)) is not None:
                counts[drop] = counts.get(drop, 0) + count
    left = sum(ranking.matched for ranking in rankings) - returned
    if left > 0:
        drop = pb.DROP_REASON_OVER_K if returned >= k else pb.DROP_REASON_BELOW_CUT
        counts[drop] = counts.get(drop, 0) + left
    return sorted(counts.items())
