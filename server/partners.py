"""A hit that is contradicted brings its counterpart, and names all who contradict one another.

An answer never shows one side only. Room is made by leaving out the weakest hits that nobody
contradicts; an answer never becomes longer than asked for, and never brings what the request's
filter or the asker's view leaves out. What comes along for this says so: the request's lowest score
does not hold for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from recalld.index.conditions import Filter, LabelIn
from recalld.server import access
from recalld.server.ask import Ask
from recalld.server.call import Call
from recalld.server.hits import RankedHit, order_of
from recalld.server.indexing import is_outweighed
from recalld.server.partition import CURRENT, Partition
from recalld.storage.record import MemoryRecord, Status
from recalld.v1 import recall_service_pb2 as pb

MEMBER_COUNT_MAX = 20
"""Members of a group that an answer names."""

PARTNER_REASON = "other side of a conflict"

Search = Callable[[Partition, Filter], Awaitable[list[RankedHit]]]
"""Hits of a partition among some of its rows, without a cut."""


async def with_partners(
    ranked: list[RankedHit], chosen: Sequence[Partition], search: Search, k: int
) -> list[RankedHit]:
    """The hits, best first, and what contradicts them on equal terms.

    Args:
        ranked: at most k hits.
        chosen: the partitions that were searched.
        search: ranks some rows for the same request.
        k: hits asked for.
    """
    held = {hit.record.id for hit in ranked}
    groups = {hit.record.conflict_group for hit in ranked if _is_disputed(hit.record)}
    found: list[RankedHit] = []
    for part in chosen if groups else ():
        labels = [
            member.label
            for group in sorted(groups)
            for member in part.in_group(group)
            if _is_disputed(member) and member.id not in held
        ]
        if labels:
            found += await search(part, Filter(must=(LabelIn(frozenset(labels)),)))
    for hit in found:
        hit.reasons += (PARTNER_REASON,)
    if not found:
        return ranked
    spare = [hit for hit in ranked if not _is_disputed(hit.record)]
    over = max(0, len(ranked) + len(found) - k)
    dropped = {hit.record.id for hit in spare[len(spare) - min(over, len(spare)) :]}
    kept = [hit for hit in ranked if hit.record.id not in dropped]
    kept += found[: k - len(kept)]
    return sorted(kept, key=order_of)


def conflicts(
    ranked: Sequence[RankedHit], chosen: Sequence[Partition], asked: Ask, call: Call
) -> list[pb.Conflict]:
    """Groups of which a hit is a member: hits first, then current members that are none.

    Args:
        ranked: the hits, as the asker sees them.
        chosen: the partitions that were searched.
        asked: the request.
        call: the call.
    """
    groups: dict[str, dict[str, None]] = {}
    for hit in ranked:
        if hit.record.conflict_group:
            groups.setdefault(hit.record.conflict_group, {})[hit.record.id] = None
    for part in chosen:
        sees = access.view_of(asked.scope, call, part.user_id)
        for name, ids in groups.items():
            members = part.in_group(name)
            ids.update((m.id, None) for m in members if m.status in CURRENT and sees(m))
    return [
        pb.Conflict(conflict_group=name, memory_ids=islice(ids, MEMBER_COUNT_MAX))
        for name, ids in groups.items()
    ]


def _is_disputed(record: MemoryRecord) -> bool:
    """Whether a record contradicts another one, and neither weighs more."""
    return record.status == Status.CONFLICTED and not is_outweighed(record)
