"""Who may see what inside a partition.

The one rule that every read uses, besides the partition itself.
"""

from __future__ import annotations

from recalld.server.call import Call
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Visibility


def may_see(record: MemoryRecord, scope: Scope, call: Call) -> bool:
    """Whether the asking agent and credential may see a record of this partition."""
    if (record.scope.tenant, record.scope.user_id) != (scope.tenant, scope.user_id):
        return False
    if record.visibility == Visibility.PRIVATE:
        return record.scope.agent_id == scope.agent_id
    if record.visibility == Visibility.SYSTEM:
        return call.is_admin
    return True


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
