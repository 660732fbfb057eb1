"""A long random walk over every method: nothing of anybody ever reaches another tenant or user.

`ISOLATION_STEPS` sets its length; the walk goes on in fresh worlds, each with a seed of its own,
which a failure names.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recalld.server.partitions import Partitions
from recalld.server.permissions import METHODS, Need, Role
from recalld.server.services import SERVICES
from recalld.v1 import admin_service_pb2 as admin_pb
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from tests.isolation.steps import Made, Steps
from tests.isolation.world import OWNERS, TENANTS, USERS, Leak, Owner, World, mark, world
from tests.server.core import memory, remember_request, scope

STEPS = int(os.environ.get("ISOLATION_STEPS", "10000"))
SEED = int(os.environ.get("ISOLATION_SEED", "1"))
STEPS_PER_WORLD = 1_000
AT_ONCE = 4
CHECK_EVERY = 500
ROLES = (Role.ADMIN, Role.WRITER, Role.WRITER, Role.READER)


class Walk:
    """Steps in one world, and the books that its counts are held against."""

    def __init__(self, inside: World, seed: int) -> None:
        self.world = inside
        self.steps = Steps(inside, seed)
        self.random = self.steps.random
        self.made: dict[Owner, set[str]] = {owner: set() for owner in OWNERS}
        self.purged: set[str] = set()
        # How many each had when the calls began that run at once.
        self.before: Counter[Owner] = Counter()
        self.done: Counter[str] = Counter()

    async def run(self, count: int) -> None:
        """So many steps, a few at once, as calls of strangers come."""
        for start in range(0, count, AT_ONCE):
            self.before = Counter({owner: len(ids) for owner, ids in self.made.items()})
            await asyncio.gather(*(self.step() for _ in range(min(AT_ONCE, count - start))))
            if start % CHECK_EVERY == 0:
                self.world.check_log_and_metrics()
                await self.counts()
        self.world.check_log_and_metrics()
        await self.counts()

    async def step(self) -> None:
        """One call, and what is learnt from its answer."""
        owner, role = self.random.choice(OWNERS), self.random.choice(ROLES)
        made = self.steps.make(owner)
        path, request, shared = made
        answers = await self.world.call(owner, role, path, request, shared)
        name = path.rpartition("/")[2]
        self.done[name] += answers is not None
        if answers:
            getattr(self, f"_after_{name}", lambda *_: None)(owner, answers[0], made)

    def _revised(self, owner: Owner, revision: int) -> None:
        if revision:
            self.world.revisions[owner[0]].append(revision)

    def _after_Remember(self, owner: Owner, body: bytes, made: Made) -> None:
        answer = pb.RememberResponse.FromString(body)
        # What was purged before it was said again is refused, and has no id.
        for result in (one for one in answer.results if one.id):
            self.world.own(owner, result.id)
            self.world.ids[owner].append(result.id)
            # An answer under a request id may tell of what is gone by now.
            self.made[owner].update({result.id} - self.purged)

    def _after_Forget(self, owner: Owner, body: bytes, made: Made) -> None:
        answer = pb.ForgetResponse.FromString(body)
        if answer.receipt.id:
            self.purged.update(answer.ids)
            self.made[owner].difference_update(answer.ids)

    def _after_Recall(self, owner: Owner, body: bytes, made: Made) -> None:
        answer = recall_pb.RecallResponse.FromString(body)
        self.world.recalls[owner].append(answer.recall_id)
        for conflict in answer.conflicts:
            self.world.groups[owner].append(conflict.conflict_group)
        # What was left out is counted among what the caller may see.
        seen = {(owner[0], user) for user in (owner[1], *made[2])}
        own = sum(max(len(self.made[one]), self.before[one]) for one in seen)
        in_flight = 5 * AT_ONCE
        assert sum(one.count for one in answer.excluded) <= own + in_flight

    def _after_ListMemories(self, owner: Owner, body: bytes, made: Made) -> None:
        answer = pb.ListMemoriesResponse.FromString(body)
        self.steps.page_tokens.append(answer.next_page_token)
        for one in answer.memories:
            if one.conflict_group:
                self.world.groups[owner].append(one.conflict_group)

    async def counts(self) -> None:
        """Statistics count the tenant's own memories and users and no others."""
        for tenant in TENANTS:
            for user in (None, *USERS):
                request = admin_pb.GetStatsRequest(scope=scope(user) if user else None)
                asking = (tenant, user or USERS[0])
                path = "/recalld.v1.AdminService/GetStats"
                answers = await self.world.call(asking, Role.ADMIN, path, request)
                assert answers is not None
                stats = admin_pb.GetStatsResponse.FromString(answers[0])
                users = (user,) if user else USERS
                own = [len(self.made[tenant, one]) for one in users]
                assert (stats.memory_count, stats.user_count) == (sum(own), sum(map(bool, own)))
                assert stats.data_bytes == stats.rss_bytes == 0


async def walked(folder: Path, seed: int, count: int) -> Walk:
    """A walk in a fresh world."""
    folder.mkdir()
    async with world(folder) as inside:
        walk = Walk(inside, seed)
        try:
            await walk.run(count)
        except AssertionError as error:
            raise type(error)(f"seed {seed}: {error}") from error
        return walk


def offered() -> set[str]:
    """Methods that work for admins of a tenant that does not run the server."""
    return {
        name
        for service, names in SERVICES
        for name in names
        if METHODS[f"{service.full_name}/{name}"] < Need.OPERATOR
    }


async def test_nothing_reaches_anybody_else(tmp_path: Path) -> None:
    """In thousands of calls of every method, own and prying ones, no answer, error, trace, log line
    or metric holds a mark, an id or a count of another tenant or user."""
    done: Counter[str] = Counter()
    for number, start in enumerate(range(0, STEPS, STEPS_PER_WORLD)):
        count = min(STEPS_PER_WORLD, STEPS - start)
        walk = await walked(tmp_path / str(number), SEED + number, count)
        done.update(walk.done)
    # The walk went everywhere, and was answered there; what is the operators' was refused.
    if STEPS >= 5 * STEPS_PER_WORLD:
        assert {name for name, answered in done.items() if answered} == offered()


@pytest.mark.parametrize("what", ["tenant", "user", "record"])
async def test_a_planted_leak_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """When partitions are chosen without the tenant, or without the user, the walk says so."""
    find = Partitions.find

    def wrong(self: Partitions, tenant: str, user_id: str) -> Any:
        if what == "tenant":
            return find(self, TENANTS[0], user_id)
        if what == "user":
            return find(self, tenant, USERS[0])
        return find(self, tenant, user_id) or find(self, TENANTS[0], USERS[0])

    monkeypatch.setattr(Partitions, "find", wrong)
    with pytest.raises(AssertionError, match="seed 1: "):
        await walked(tmp_path / "w", 1, 2_000)


async def test_a_mark_in_the_log_is_found(tmp_path: Path) -> None:
    """A log line or metric label with a mark or with a tenant's name fails the check."""
    async with world(tmp_path) as inside:
        owner = OWNERS[0]
        path = "/recalld.v1.MemoryService/Remember"
        item = memory(mark(owner))
        assert await inside.call(owner, Role.WRITER, path, remember_request(owner[1], item))
        inside.check_log_and_metrics()
        inside.core.metrics.outcomes.labels(mark(owner)).inc()
        with pytest.raises(Leak, match="metrics"):
            inside.check_log_and_metrics()
