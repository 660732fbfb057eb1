"""What happens when a new value meets the current ones of its slot.

Supersession, history, conflicts and bounded sets. Who wins is `precedence`'s matter; a value that
is only edited or brought back meets its slot by the same rules as a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalld.server import conflicts, doubts
from recalld.server.canonical import CanonicalValues
from recalld.server.change import Change
from recalld.server.limits import SET_SIZE_DEFAULT
from recalld.server.partition import CURRENT, slot_of
from recalld.server.precedence import (
    Standing,
    holds_now,
    last_said_us,
    rank,
    standing,
    start_us,
)
from recalld.storage.record import Importance, KeyCardinality, MemoryRecord, Status
from recalld.v1 import memory_service_pb2

Outcome = memory_service_pb2.RememberOutcome


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one memory.

    Attributes:
        record: the row that now stands for it.
        outcome: number of RememberOutcome.
        superseded_ids, conflicting_ids: other memories concerned.
    """

    record: MemoryRecord
    outcome: int
    superseded_ids: tuple[str, ...] = ()
    conflicting_ids: tuple[str, ...] = ()


def place(
    change: Change,
    record: MemoryRecord,
    vector: NDArray[np.float32],
    values: CanonicalValues | None = None,
) -> Placement:
    """Plan the storing of one memory; `values` say when other words mean the same."""
    same = change.same_as(record)
    if same is not None and not _is_new_word(change, record, same):
        return Placement(_refresh(change, same, record), Outcome.REMEMBER_OUTCOME_REFRESHED)
    if 0 != record.expire_time_us <= change.now_us:
        return Placement(change.add(record, vector), Outcome.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL)
    near = doubts.neighbours(change, record, vector)
    if same is None and (twin := doubts.twin_of(change, record, near)) is not None:
        return Placement(_refresh(change, twin, record), Outcome.REMEMBER_OUTCOME_REFRESHED)
    twin = values.twin_of(change, record, vector) if values is not None and same is None else None
    if twin is not None:
        return Placement(_refresh(change, twin, record), Outcome.REMEMBER_OUTCOME_REFRESHED)
    return _weighed(change, settle(change, change.add(record, vector)), near)


def _is_new_word(change: Change, record: MemoryRecord, same: MemoryRecord) -> bool:
    """Whether the same words are more than a repetition.

    They hold anew when their truth had ended, and they settle a conflict when a stronger speaker
    says them, or when they are said again while nobody outweighs them.
    """
    if 0 != same.valid_to_us <= change.now_us:
        return True
    if same.status != Status.CONFLICTED:
        return False
    said_later = record.event_time_us > last_said_us(same)
    return rank(record) > rank(same) or (said_later and not same.superseded_by)


def _refresh(change: Change, same: MemoryRecord, record: MemoryRecord) -> MemoryRecord:
    """The same thing was said again.

    One row, confirmed; the stronger importance, confidence and speaker stay.
    """
    return change.edit(
        same,
        confirm_time_us=max(same.confirm_time_us, record.event_time_us),
        importance=max(same.importance, record.importance),
        confidence=max(same.confidence, record.confidence),
        stated_by=max(same, record, key=rank).stated_by,
        metadata_json=record.metadata_json or same.metadata_json,
        relevant_when=record.relevant_when or same.relevant_when,
        valid_to_us=record.valid_to_us or same.valid_to_us,
        expire_time_us=record.expire_time_us,
    )


def settle(change: Change, record: MemoryRecord) -> Placement:
    """Let a row that is current meet the other values of its slot.

    Args:
        change: the plan; the row is in it or in the partition.
        record: ACTIVE.
    """
    slot = slot_of(record)
    rivals = change.in_slot(slot) if slot is not None else []
    rivals = [rival for rival in rivals if rival.label != record.label]
    if slot is None:
        return Placement(record, Outcome.REMEMBER_OUTCOME_CREATED)
    if record.key_cardinality == KeyCardinality.MANY:
        return _join_set(change, record, rivals)
    stands = [(standing(record, rival, change.now_us), rival) for rival in rivals]
    later = [rival for how, rival in stands if how == Standing.EARLIER]
    if later:
        return _join_history(change, record, later)
    beaten = tuple(rival for how, rival in stands if how == Standing.WINS)
    for rival in beaten:
        conflicts.supersede(change, rival, record)
    for group in sorted({rival.conflict_group for rival in beaten} - {""}):
        conflicts.close_up(change, group)
    against = [rival for how, rival in stands if how in (Standing.CONTESTED, Standing.TIED)]
    ids = tuple(rival.id for rival in beaten)
    if against:
        conflicts.oppose(change, [*against, record])
        against_ids = tuple(rival.id for rival in against)
        return Placement(
            change.rows[record.label], Outcome.REMEMBER_OUTCOME_CONFLICT, ids, against_ids
        )
    done = Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS if ids else Outcome.REMEMBER_OUTCOME_CREATED
    return Placement(change.rows.get(record.label, record), done, ids)


def _join_history(change: Change, record: MemoryRecord, later: Sequence[MemoryRecord]) -> Placement:
    """A value that was replaced before it arrived: it goes between those before and after it."""
    slot = slot_of(record)
    assert slot is not None
    past = [other for other in change.past_of(slot) if rank(other) >= rank(record)]
    after = [other for other in past if last_said_us(other) > record.event_time_us]
    heir = min((*later, *after), key=last_said_us)
    made = conflicts.supersede(change, record, heir)
    made = change.edit(made, superseded_from_us=_start_after(record, heir))
    begin_us = start_us(made)
    for other in past:
        if other not in after and other.superseded_from_us > begin_us:
            change.edit(other, superseded_by=made.id, superseded_from_us=begin_us)
    return Placement(made, Outcome.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL)


def _start_after(record: MemoryRecord, heir: MemoryRecord) -> int:
    """From when on the heir holds: its start, or its confirmation when the record came between."""
    return start_us(heir) if start_us(heir) > record.event_time_us else last_said_us(heir)


def _weakness(record: MemoryRecord) -> tuple[float, ...]:
    """Order in which members of a full set are archived.

    Least important, least sure, oldest first.
    """
    last_us = max(last_said_us(record), record.last_used_time_us)
    return (record.importance, record.confidence, last_us, record.label)


def _join_set(change: Change, record: MemoryRecord, others: Sequence[MemoryRecord]) -> Placement:
    """A set of values: they add up; over the bound the weakest one is archived, never lost."""
    members = [member for member in (*others, record) if holds_now(member, change.now_us)]
    free = [member for member in members if member.importance != Importance.PINNED]
    for member in sorted(free, key=_weakness)[: max(0, len(members) - SET_SIZE_DEFAULT)]:
        change.edit(member, status=Status.ARCHIVED)
    made = change.rows.get(record.label, record)
    return Placement(made, Outcome.REMEMBER_OUTCOME_CREATED)


def _weighed(change: Change, placement: Placement, near: doubts.Neighbours) -> Placement:
    """Let a stored row meet what stands outside its slot and speaks of the same."""
    if placement.record.status != Status.ACTIVE:
        return placement
    found = doubts.weigh(change, placement.record, near)
    outcome = placement.outcome
    if found.contradicted:
        outcome = Outcome.REMEMBER_OUTCOME_CONFLICT
    ids = (*placement.conflicting_ids, *found.contradicted, *found.outdated)
    record = change.rows.get(placement.record.label, placement.record)
    return replace(placement, record=record, outcome=outcome, conflicting_ids=ids)


def resettle(change: Change, before: MemoryRecord, after: MemoryRecord) -> MemoryRecord:
    """Let an edited row meet its rivals anew, when what decides between them changed.

    What it had decided before the edit stays decided.
    """
    if after.status not in CURRENT or _claim(before) == _claim(after):
        return after
    free = change.edit(after, status=Status.ACTIVE, superseded_by="", conflict_group="")
    conflicts.close_up(change, before.conflict_group)
    placement = settle(change, free)
    near = doubts.neighbours(change, free, change.vector_of(after.label))
    return _weighed(change, placement, near).record


def _claim(record: MemoryRecord) -> tuple[object, ...]:
    """What decides about a record among others."""
    return (
        slot_of(record),
        record.key_cardinality,
        record.stated_by,
        record.event_time_us,
        record.content_hash,
    )


def restore(change: Change, record: MemoryRecord) -> None:
    """Plan the return of a forgotten record, beside what took its place meanwhile."""
    if record.superseded_time_us:
        change.edit(record, status=Status.SUPERSEDED, forget_time_us=0)
        return
    back = change.edit(
        record, status=Status.ACTIVE, superseded_by="", conflict_group="", forget_time_us=0
    )
    slot = slot_of(record)
    rivals = change.in_slot(slot) if slot is not None else []
    peers = [rival for rival in rivals if rival.label != back.label and rank(rival) == rank(back)]
    if peers and record.key_cardinality == KeyCardinality.ONE:
        conflicts.supersede(change, back, peers[-1])
    else:
        near = doubts.neighbours(change, back, change.vector_of(back.label))
        _weighed(change, settle(change, back), near)
