"""Who may see what inside a partition.

The one rule that every read uses, besides the partition itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

from recalld.server.call import Call
from recalld.server.codec import shown_status
from recalld.server.partition import CURRENT
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Status, Visibility


def may_see(record: MemoryRecord, scope: Scope, call: Call) -> bool:
    """Whether the asking agent and credential may see a record of this partition."""
    if (record.scope.tenant, record.scope.user_id) != (scope.tenant, scope.user_id):
        return False
    if record.visibility == Visibility.PRIVATE:
        return record.scope.agent_id == scope.agent_id
    if record.visibility == Visibility.SYSTEM:
        return call.is_admin
    return True


def view_of(scope: Scope, call: Call, user_id: str) -> Callable[[MemoryRecord], bool]:
    """Whether an asker may see a record of a partition that is searched for its scope."""
    return partial(may_see, scope=replace(scope, user_id=user_id), call=call)


def require(record: MemoryRecord, scope: Scope, call: Call) -> MemoryRecord:
    """The record, if it may be seen.

    Raises:
        MemoryNotFound: it may not; the same answer as for one that does not exist.
    """
    if not may_see(record, scope, call):
        raise MemoryNotFound("no such memory of this user")
    return record


def may_manage(record: MemoryRecord, scope: Scope, call: Call) -> bool:
    """Whether a record is within what is exported and erased.

    An admin who names no agent acts for the user as a whole: what agents keep to themselves is the
    user's too.
    """
    if call.is_admin and not scope.agent_id:
        return (record.scope.tenant, record.scope.user_id) == (scope.tenant, scope.user_id)
    return may_see(record, scope, call)


class Book(Protocol):
    """Where the other memories are that a record's marks name."""

    def find(self, memory_id: str) -> MemoryRecord | None:
        """A record by its public id, or None."""

    def in_group(self, group: str) -> list[MemoryRecord]:
        """Records of any status in a conflict group."""


def as_seen(
    record: MemoryRecord, book: Book, sees: Callable[[MemoryRecord], bool], now_us: int
) -> MemoryRecord:
    """The record without marks that only what the asker does not see has set.

    A conflict whose other side is hidden, erased or over is none that the asker could understand or
    settle, and would tell that there is something. What was replaced by something hidden stays
    history, without its name.

    Args:
        record: one that the asker may see.
        book: holds the other records of its partition.
        sees: whether the asker may see another record.
        now_us: the time at which a conflict has to hold.

    Complexity: O(1) without marks, else that of the record's conflict group.
    """
    heir, group, status = record.superseded_by, record.conflict_group, record.status
    if not (heir or group):
        return record
    named = book.find(heir) if heir else None
    if named is None or not sees(named):
        heir = ""
    if group and not any(
        other.label != record.label and shown_status(other, now_us) in CURRENT and sees(other)
        for other in book.in_group(group)
    ):
        group = ""
        if status in CURRENT:
            heir, status = "", Status.ACTIVE
    if (heir, group, status) == (record.superseded_by, record.conflict_group, record.status):
        return record
    return replace(record, superseded_by=heir, conflict_group=group, status=status)
