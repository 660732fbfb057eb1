"""Traces of recalls: what became of every candidate, and how the wire's messages are read.

They hold ids and numbers, never text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recalld.client import decode, models, values, wiretypes
from recalld.v1 import recall_service_pb2 as recall_pb2


@dataclass(frozen=True, slots=True)
class TraceCandidate:
    """What became of one memory in a recall.

    Attributes:
        rank: place in the order, from 1; 0 = not ranked.
        score: with rank 0 what it would have scored, where `parts` is given.
        drop_reason: why it was left out; UNSPECIFIED: it was returned.
        recomputed: it was not kept: the same question was put to the memories as they are now.
        changed_since: with `recomputed`: the memory changed after the recall.
    """

    memory_id: str
    rank: int
    score: float
    parts: models.ScoreParts | None
    drop_reason: values.DropReason
    recomputed: bool
    changed_since: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """A kept trace; in lists without candidates.

    Attributes:
        candidates: the best 200 that were ranked, then up to 50 of those left out before.
        config_hash: equal for equal ranking configurations.
        excluded: what was left out, by reason.
        matched_count: memories that passed visibility, times and filter.
        k, min_score: hits wanted, lowest score returned.
    """

    recall_id: str
    time: datetime | None
    candidates: tuple[TraceCandidate, ...]
    revision: int
    config_hash: str
    excluded: dict[values.DropReason, int]
    matched_count: int
    returned_count: int
    k: int
    min_score: float
    shared_user_ids: tuple[str, ...]
    degraded: tuple[str, ...]


def candidate(message: recall_pb2.TraceCandidate) -> TraceCandidate:
    """One candidate."""
    return TraceCandidate(
        memory_id=message.memory_id,
        rank=message.rank,
        score=message.score,
        parts=decode.score_parts(message.parts) if message.HasField("parts") else None,
        drop_reason=values.decode(values.DropReason, message.drop_reason),
        recomputed=message.recomputed,
        changed_since=message.changed_since,
    )


def trace(message: recall_pb2.RecallTrace) -> Trace:
    """One trace."""
    return Trace(
        recall_id=message.recall_id,
        time=wiretypes.to_datetime(message, "time"),
        candidates=tuple(candidate(item) for item in message.candidates),
        revision=message.revision,
        config_hash=message.config_hash,
        excluded=decode.excluded(message.excluded),
        matched_count=message.matched_count,
        returned_count=message.returned_count,
        k=message.k,
        min_score=message.min_score,
        shared_user_ids=tuple(message.shared_user_ids),
        degraded=tuple(message.degraded),
    )


def trace_of(response: recall_pb2.GetRecallTraceResponse) -> Trace:
    """Answer of GetRecallTrace."""
    return trace(response.trace)


def traces_page(response: recall_pb2.ListRecallTracesResponse) -> tuple[tuple[Trace, ...], str]:
    """Answer of ListRecallTraces: traces, and the token of the next page."""
    return tuple(trace(message) for message in response.traces), response.next_page_token
