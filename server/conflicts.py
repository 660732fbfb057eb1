"""Groups of memories that contradict each other: how they come, are settled, and come back.

A group either has a strongest member, which stays ACTIVE and outweighs the others, or several that
are equally strong; then all of these are CONFLICTED. Every state of a group follows from its
members, so taking a settlement back gives what was before it. Nothing here commits.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from recalld.server.change import Change
from recalld.server.precedence import holds_now, rank, start_us
from recalld.storage.record import MemoryRecord, Status


def group_of(members: Sequence[MemoryRecord]) -> str:
    """The conflict group that some of the members have already, or a new one."""
    return next((m.conflict_group for m in members if m.conflict_group), "") or uuid.uuid4().hex


def oppose(change: Change, members: Sequence[MemoryRecord]) -> None:
    """Put members into one group.

    Groups that they are in already become one with it. Of speakers of different rank the strongest
    outweighs the others; among equals nobody does.
    """
    group = group_of(members)
    whole = {member.label: member for member in members}
    for other in {member.conflict_group for member in members} - {""}:
        whole |= {member.label: member for member in members_of(change, other)}
    top = max(map(rank, whole.values()))
    strongest = [member for member in whole.values() if rank(member) == top]
    for member in whole.values():
        outweighed = member not in strongest
        alone = len(strongest) == 1 and not outweighed
        change.edit(
            member,
            status=Status.ACTIVE if alone else Status.CONFLICTED,
            conflict_group=group,
            settled_group="",
            superseded_by=strongest[-1].id if outweighed else "",
        )


def members_of(change: Change, group: str) -> list[MemoryRecord]:
    """Members of a conflict group that hold now, this call's own included, in label order."""
    return [record for record in change.in_group(group) if holds_now(record, change.now_us)]


def close_up(change: Change, group: str) -> None:
    """Put a group right that a member has left: nobody stays alone, the strongest left leads."""
    left = members_of(change, group) if group else []
    if len(left) == 1:
        change.edit(left[0], status=Status.ACTIVE, conflict_group="", superseded_by="")
    elif left:
        oppose(change, left)


def supersede(change: Change, loser: MemoryRecord, winner: MemoryRecord) -> MemoryRecord:
    """Make a record history: its successor holds from its own start on."""
    return change.edit(
        loser,
        status=Status.SUPERSEDED,
        superseded_by=winner.id,
        superseded_from_us=start_us(winner),
        superseded_time_us=change.now_us,
        conflict_group="",
    )


def settle_for(
    change: Change, members: Sequence[MemoryRecord], winner: MemoryRecord | None
) -> list[MemoryRecord]:
    """Settle a group: one member is right, or (None) all hold."""
    group = members[0].conflict_group
    settled = []
    for member in members:
        if winner is not None and member.label != winner.label:
            supersede(change, member, winner)
        else:
            change.edit(member, status=Status.ACTIVE, conflict_group="", superseded_by="")
        settled.append(change.edit(member, settled_group=group))
    return settled


def reopen(change: Change, settled: Sequence[MemoryRecord], group: str) -> list[MemoryRecord]:
    """Take a settlement back."""
    back = [
        change.edit(
            member,
            status=Status.ACTIVE,
            superseded_by="",
            superseded_from_us=0,
            superseded_time_us=0,
            conflict_group=group,
        )
        for member in settled
    ]
    oppose(change, back)
    return [change.rows[member.label] for member in settled]
