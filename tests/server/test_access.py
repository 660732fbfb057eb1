"""Who may see a record."""

from __future__ import annotations

import itertools
import math

import pytest

from recalld.server import access
from recalld.server.call import Call
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord, Scope, Visibility
from tests.server.core import NOW_US, FixedClock


def record(agent: str, visibility: Visibility) -> MemoryRecord:
    """A record of user u in tenant t."""
    return MemoryRecord(1, "f" * 32, Scope("t", "u", agent), 1, "x", visibility=visibility)


def test_every_combination() -> None:
    """Shared ones are the user's, private ones the agent's, system ones the administrator's."""
    askers = itertools.product(("t", "s"), ("u", "v"), ("a", "b", ""), (True, False))
    for tenant, user, agent, admin in askers:
        call = Call(tenant, admin, "r", NOW_US, math.inf, FixedClock())
        asking = Scope(tenant, user, agent)
        own = (tenant, user) == ("t", "u")
        for visibility, allowed in (
            (Visibility.SHARED, own),
            (Visibility.PRIVATE, own and agent == "a"),
            (Visibility.SYSTEM, own and admin),
        ):
            held = record("a", visibility)
            assert access.may_see(held, asking, call) == allowed
            if allowed:
                assert access.require(held, asking, call) is held
            else:
                with pytest.raises(MemoryNotFound, match="no such memory"):
                    access.require(held, asking, call)
