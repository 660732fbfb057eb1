"""What happens when a new value meets the current ones of its slot.

Precedence, supersession, bounded sets.

Precedence is by time of the event, except that an agent's inference never overrules what the user
said.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recalld.server.change import Change
from recalld.server.codec import shown_status
from recalld.server.limits import SET_SIZE_DEFAULT
from recalld.server.partition import CURRENT, Slot, slot_of
from recalld.storage.record import Importance, KeyCardinality, MemoryRecord, StatedBy, Status
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
    superseded_ids: tuple[str, ...] = field(default=())
    conflicting_ids: tuple[str, ...] = field(default=())


def place(change: Change, record: MemoryRecord, vector: NDArray[np.float32]) -> Placement:
    """Plan the storing of one memory."""
    same = change.same_as(record)
    if same is not None and not _is_new_word(change, record, same):
        return Placement(_refresh(change, same, record), Outcome.REMEMBER_OUTCOME_REFRESHED)
    if 0 != record.expire_time_us <= change.now_us:
        return Placement(change.add(record, vector), Outcome.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL)
    slot = slot_of(record)
    if slot is None:
        return Placement(change.add(record, vector), Outcome.REMEMBER_OUTCOME_CREATED)
    if record.key_cardinality == KeyCardinality.MANY:
        return _join_set(change, slot, record, vector)
    return _take_slot(change, slot, record, vector)


def _is_new_word(change: Change, record: MemoryRecord, same: MemoryRecord) -> bool:
    """Whether the same words are more than a repetition.

    They hold anew when their truth had ended, and they settle a conflict when the user says what an
    agent had only guessed.
    """
    if 0 != same.valid_to_us <= change.now_us:
        return True
    return same.status == Status.CONFLICTED and is_guess_against_word(same, record)


def _refresh(change: Change, same: MemoryRecord, record: MemoryRecord) -> MemoryRecord:
    """The same thing was said again.

    One row, confirmed; the stronger importance, confidence and speaker stay.
    """
    said_by_user = StatedBy.USER in (same.stated_by, record.stated_by)
    return change.edit(
        same,
        confirm_time_us=max(same.confirm_time_us, record.event_time_us),
        importance=max(same.importance, record.importance),
        confidence=max(same.confidence, record.confidence),
        stated_by=StatedBy.USER if said_by_user else same.stated_by,
        metadata_json=record.metadata_json or same.metadata_json,
        relevant_when=record.relevant_when or same.relevant_when,
        valid_to_us=record.valid_to_us or same.valid_to_us,
        expire_time_us=record.expire_time_us,
    )


def holds_now(record: MemoryRecord, now_us: int) -> bool:
    """Whether a record is current and has not run out."""
    return shown_status(record, now_us) in CURRENT


def is_guess_against_word(claim: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether `claim` is an agent's inference and `other` what the user said."""
    return claim.stated_by == StatedBy.AGENT and other.stated_by == StatedBy.USER


def _take_slot(
    change: Change, slot: Slot, record: MemoryRecord, vector: NDArray[np.float32]
) -> Placement:
    """One value a slot: the later event wins, whatever the order of arrival."""
    rivals = change.in_slot(slot)
    stronger = [
        rival
        for rival in rivals
        if is_guess_against_word(record, rival) and holds_now(rival, change.now_us)
    ]
    if stronger:
        return _conflict(change, record, vector, stronger)
    later = [
        rival
        for rival in rivals
        if _last_said_us(rival) > record.event_time_us and not is_guess_against_word(rival, record)
    ]
    if later:
        return _join_history(change, slot, record, vector, later)
    made = change.add(record, vector)
    for rival in rivals:
        change.edit(
            rival,
            status=Status.SUPERSEDED,
            superseded_by=made.id,
            conflict_group="",
            valid_to_us=_end(rival, made.valid_from_us or made.event_time_us),
        )
    if not rivals:
        return Placement(made, Outcome.REMEMBER_OUTCOME_CREATED)
    return Placement(
        made,
        Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS,
        superseded_ids=tuple(rival.id for rival in rivals),
    )


def _join_history(
    change: Change,
    slot: Slot,
    record: MemoryRecord,
    vector: NDArray[np.float32],
    later: list[MemoryRecord],
) -> Placement:
    """A value that was replaced before it arrived: it goes between those before and after it."""
    past = [rival for rival in change.past_of(slot) if not is_guess_against_word(rival, record)]
    after = [rival for rival in past if _last_said_us(rival) > record.event_time_us]
    heir = min((*later, *after), key=_last_said_us)
    end_us = _end(record, _start_after(record, heir))
    ended = replace(record, status=Status.SUPERSEDED, superseded_by=heir.id, valid_to_us=end_us)
    made = change.add(ended, vector)
    start_us = made.valid_from_us or made.event_time_us
    for rival in past:
        if rival not in after and rival.valid_to_us > start_us:
            change.edit(rival, superseded_by=made.id, valid_to_us=start_us)
    return Placement(made, Outcome.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL)


def _last_said_us(record: MemoryRecord) -> int:
    """When a value was last said to hold."""
    return max(record.event_time_us, record.confirm_time_us)


def _start_after(record: MemoryRecord, heir: MemoryRecord) -> int:
    """From when on the heir holds: its start, or its confirmation when the record came between."""
    start_us = heir.valid_from_us or heir.event_time_us
    return start_us if start_us > record.event_time_us else _last_said_us(heir)


def _end(record: MemoryRecord, other_start_us: int) -> int:
    """End of a value's truth: where its successor starts, unless it said an earlier end itself."""
    if record.valid_to_us and record.valid_to_us <= other_start_us:
        return record.valid_to_us
    return other_start_us


def _conflict(
    change: Change, record: MemoryRecord, vector: NDArray[np.float32], rivals: list[MemoryRecord]
) -> Placement:
    """A weaker claim against a strong one: kept and marked, the strong one stays current."""
    group = _group(*rivals)
    made = change.add(replace(record, status=Status.CONFLICTED, conflict_group=group), vector)
    for rival in rivals:
        if rival.conflict_group != group:
            change.edit(rival, conflict_group=group)
    return Placement(
        made, Outcome.REMEMBER_OUTCOME_CONFLICT, conflicting_ids=tuple(rival.id for rival in rivals)
    )


def _group(*members: MemoryRecord) -> str:
    """The conflict group that some of the members have already, or a new one."""
    return next((m.conflict_group for m in members if m.conflict_group), "") or uuid.uuid4().hex


def end_conflict(change: Change, group: str) -> None:
    """Take the mark off when a single member of a conflict group is left."""
    members = change.partition.matching(lambda record: record.conflict_group == group)
    present = [change.rows.get(member.label, member) for member in members]
    left = [member for member in present if holds_now(member, change.now_us)]
    if len(left) == 1:
        change.edit(left[0], status=Status.ACTIVE, conflict_group="")


def restore(change: Change, record: MemoryRecord) -> None:
    """Plan the return of a forgotten record, beside what took its slot meanwhile."""
    slot = slot_of(record)
    found = change.in_slot(slot) if slot is not None else []
    rivals = [rival for rival in found if holds_now(rival, change.now_us)]
    guesses = [rival for rival in rivals if is_guess_against_word(rival, record)]
    words = [rival for rival in rivals if is_guess_against_word(record, rival)]
    status, heir_id, group = Status.ACTIVE, record.superseded_by, ""
    if heir_id:
        status = Status.SUPERSEDED
    elif record.key_cardinality == KeyCardinality.MANY:
        status = Status.ARCHIVED if len(rivals) >= SET_SIZE_DEFAULT else Status.ACTIVE
    elif words:
        status, group = Status.CONFLICTED, _group(record, *words)
    elif len(guesses) < len(rivals):
        heir_id = next(rival.id for rival in rivals if rival not in guesses)
        status = Status.SUPERSEDED
    elif guesses:
        group = _group(record, *guesses)
    for guess in guesses if group else ():
        change.edit(guess, status=Status.CONFLICTED, conflict_group=group)
    for word in words if group else ():
        change.edit(word, conflict_group=group)
    change.edit(
        record, status=status, superseded_by=heir_id, conflict_group=group, forget_time_us=0
    )


def _weakness(record: MemoryRecord) -> tuple[float, ...]:
    """Order in which members of a full set are archived.

    Least important, least sure, oldest first.
    """
    last_us = max(record.event_time_us, record.confirm_time_us, record.last_used_time_us)
    return (record.importance, record.confidence, last_us, record.label)


def _join_set(
    change: Change, slot: Slot, record: MemoryRecord, vector: NDArray[np.float32]
) -> Placement:
    """A set of values: they add up; over the bound the weakest one is archived, never lost."""
    made = change.add(record, vector)
    members = [member for member in change.in_slot(slot) if holds_now(member, change.now_us)]
    free = [member for member in members if member.importance != Importance.PINNED]
    for member in sorted(free, key=_weakness)[: max(0, len(members) - SET_SIZE_DEFAULT)]:
        change.edit(member, status=Status.ARCHIVED)
    return Placement(change.rows[made.label], Outcome.REMEMBER_OUTCOME_CREATED)
