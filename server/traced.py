"""One recall, seen whole: what it asked of whom, and what became of every candidate.

It is made from the rows that the recall searched, after the answer. It never writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recalld.index.examine import Examined
from recalld.index.generation import Reading
from recalld.index.plan import QueryPlan, Ranking
from recalld.server import times
from recalld.server.ask import Ask
from recalld.server.call import Call
from recalld.server.hits import RankedHit
from recalld.server.partition import Partition
from recalld.server.trace_table import Table, make_table
from recalld.storage.record import MemoryRecord, Scope, Status
from recalld.v1 import recall_service_pb2 as pb

CONFIG_HASH_BYTES = 8

Drop = pb.DropReason
STATUS_DROPS: dict[int, int] = {
    Status.SUPERSEDED: Drop.DROP_REASON_SUPERSEDED,
    Status.EXPIRED: Drop.DROP_REASON_EXPIRED,
    Status.ARCHIVED: Drop.DROP_REASON_ARCHIVED,
    Status.FORGOTTEN: Drop.DROP_REASON_FORGOTTEN,
}


@dataclass(frozen=True, slots=True)
class Searched:
    """One partition as a recall searched it."""

    partition: Partition
    plan: QueryPlan
    reading: Reading

    def record(self, label: int) -> MemoryRecord | None:
        """The record of a row, if it is there and of this partition."""
        record = self.partition.records.get(label)
        where = (self.partition.tenant, self.partition.user_id)
        if record is None or (record.scope.tenant, record.scope.user_id) != where:
            return None
        return record


@dataclass(frozen=True, slots=True)
class Traced:
    """A recall that is to be traced.

    Attributes:
        scope: who asked.
        users: partitions named, the own one first.
        time_us: clock of the call.
        is_asked: the caller asked for the trace; else it is a sample.
        k, min_score: what was wanted.
        matched: memories that passed view and filter.
        searched: the partitions that exist.
    """

    scope: Scope
    users: tuple[str, ...]
    time_us: int
    is_asked: bool
    k: int
    min_score: float
    matched: int
    searched: tuple[Searched, ...]

    def header(
        self, response: pb.RecallResponse, returned_count: int, config_hash: str
    ) -> pb.RecallTrace:
        """Everything of the trace but its candidates."""
        return pb.RecallTrace(
            recall_id=response.recall_id,
            time=times.to_wire(self.time_us),
            revision=response.revision,
            config_hash=config_hash,
            excluded=response.excluded,
            matched_count=self.matched,
            returned_count=returned_count,
            k=self.k,
            min_score=self.min_score,
            shared_user_ids=self.users[1:],
            degraded=response.degraded,
        )

    def table(
        self, examined: Sequence[Examined], returned: Sequence[RankedHit], over: Sequence[RankedHit]
    ) -> Table:
        """The candidates.

        Args:
            examined: one for each partition searched.
            returned: hits in the answer.
            over: hits that did not fit it.
        """
        fates = {hit.record.label: Drop.DROP_REASON_UNSPECIFIED for hit in returned}
        fates |= {hit.record.label: Drop.DROP_REASON_OVER_BUDGET for hit in over}

        def reason_of(record: MemoryRecord, score: float, rank: int) -> int:
            """Why a ranked memory is not in the answer."""
            if record.label in fates:
                return fates[record.label]
            reason = score_reason(score, rank, self.k, self.min_score)
            # It should have come: it was changed since the search, or the graph missed it.
            return reason or STATUS_DROPS.get(record.status, Drop.DROP_REASON_NOT_PROPOSED)

        parts = [
            (self.users.index(part.partition.user_id), part.record, seen)
            for part, seen in zip(self.searched, examined, strict=True)
        ]
        return make_table(parts, reason_of)

    def plans(self) -> dict[str, QueryPlan]:
        """The question by user."""
        return {part.partition.user_id: part.plan for part in self.searched}


def pinned(partition: Partition, is_traced: bool) -> Reading | None:
    """The rows of this moment, which a trace will be asked of again; None without one."""
    return Reading(partition.index.generation) if is_traced else None


def make_traced(
    asked: Ask,
    call: Call,
    searched: Sequence[tuple[Partition, QueryPlan, Reading | None]],
    rankings: Sequence[Ranking],
) -> Traced:
    """What a trace is made of, from a recall whose readings were all pinned, and its rankings."""
    min_score = asked.min_score
    if min_score is None:
        min_score = max((ranking.weights.cut for ranking in rankings), default=0.0)
    parts = []
    for partition, plan, reading in searched:
        assert reading is not None
        parts.append(Searched(partition, plan, reading))
    return Traced(
        scope=asked.scope,
        users=asked.users,
        time_us=call.now_us,
        is_asked=asked.explain,
        k=asked.k,
        min_score=min_score,
        matched=sum(ranking.matched for ranking in rankings),
        searched=tuple(parts),
    )


@dataclass(frozen=True, slots=True)
class Trace:
    """A kept trace.

    Attributes:
        header: everything but the candidates.
        table: the candidates.
        plans: the question by user; None when it is not known any more.
    """

    header: pb.RecallTrace
    table: Table
    plans: dict[str, QueryPlan] | None = None


def config_hash(*settings: object) -> str:
    """A name for whatever decides the ranking: equal for equal settings, also after a restart."""
    text = repr(settings).encode()
    return hashlib.blake2b(text, digest_size=CONFIG_HASH_BYTES).hexdigest()


def score_reason(score: float, rank: int, k: int, min_score: float) -> int:
    """Why a ranked memory is not in the answer, by its own numbers; UNSPECIFIED: no reason."""
    if np.float32(score) < np.float32(min_score):
        return Drop.DROP_REASON_BELOW_CUT
    return Drop.DROP_REASON_UNSPECIFIED if 0 < rank <= k else Drop.DROP_REASON_OVER_K
