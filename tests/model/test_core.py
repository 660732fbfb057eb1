"""The server core against a plain dictionary: whatever is done, in whatever order, both agree."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, TENANT, Core, condition, memory, must, opened

T = TypeVar("T")
USERS, AGENTS = ("ann", "bob"), ("", "a", "b")
ACTIVE, SUPERSEDED, FORGOTTEN = 1, 2, 6
PRIVATE = types_pb2.Visibility.VISIBILITY_PRIVATE
UNDO = pb.ForgetMode.FORGET_MODE_UNDO


@dataclass
class Row:
    """What the dictionary knows of a memory."""

    user: str
    agent: str
    key: str
    content: str
    private: bool
    said: int
    status: int = ACTIVE
    importance: int = 2
    has_heir: bool = False

    def slot(self) -> tuple[str, str, str]:
        return self.user, self.agent, self.key

    def same(self, other: Row) -> bool:
        """Whether both say the same thing."""
        mine, its = ((row.slot(), row.content.casefold(), row.private) for row in (self, other))
        return mine == its

    def seen_by(self, user: str, agent: str) -> bool:
        return self.user == user and (not self.private or self.agent == agent)


users, agents = st.sampled_from(USERS), st.sampled_from(AGENTS)


class Machine(RuleBasedStateMachine):
    """Runs every step on the core and on the dictionary."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Row] = {}
        self.revision = 0
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.core = self.run(self.open())

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(work)

    async def open(self) -> Core:
        self.stack = contextlib.AsyncExitStack()
        store = DuckDBStore(Path(self.folder.name), DuckDBOptions(NOW_US, "test"))
        self.stack.callback(store.close)
        return await self.stack.enter_async_context(opened(store))

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.loop.close()
        self.folder.cleanup()

    def rivals(self, row: Row) -> list[Row]:
        """Others that are current in the row's slot."""
        return [
            other
            for other in self.rows.values()
            if row.key
            and other is not row
            and other.status == ACTIVE
            and other.slot() == row.slot()
        ]

    def expect(self, made: Row) -> tuple[set[str], int]:
        """Changes the dictionary; ids that may stand for the row, and its outcome."""
        same = {
            memory_id
            for memory_id, row in self.rows.items()
            if row.status == ACTIVE and row.same(made)
        }
        if same:
            return same, pb.REMEMBER_OUTCOME_REFRESHED
        rivals = self.rivals(made)
        if any(rival.said > made.said for rival in rivals):
            made.status, made.has_heir = SUPERSEDED, True
            return set(), pb.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL
        for rival in rivals:
            rival.status, rival.has_heir = SUPERSEDED, True
        outcome = "SUPERSEDED_PREVIOUS" if rivals else "CREATED"
        return set(), pb.RememberOutcome.Value(f"REMEMBER_OUTCOME_{outcome}")

    @rule(
        target=ids,
        user=users,
        agent=agents,
        key=st.sampled_from(["", "city", "food"]),
        content=st.sampled_from(["Leeds", "leeds", "York", "Hull"]),
        day=st.integers(0, 4),
        private=st.booleans(),
    )
    def remember(
        self, user: str, agent: str, key: str, content: str, day: int, private: bool
    ) -> Any:
        private = private and agent != ""
        # A microsecond apart: what is said at one time has no clear winner, a matter of its own.
        said_us = NOW_US + day * DAY_US + self.revision
        made = Row(user, agent, key, content, private, said_us)
        same, outcome = self.expect(made)
        fields = {"visibility": PRIVATE} if private else {}
        item = memory(content, key=key, event_time=made.said, **fields)
        answer = self.run(self.core.remember(user, item, agent=agent))
        self.revision += 1
        [result] = answer.results
        assert result.outcome == outcome
        assert answer.revision == self.revision
        if same:
            assert result.id in same
            row = self.rows[result.id]
            row.said = max(row.said, made.said)
            return multiple()
        assert result.id not in self.rows
        self.rows[result.id] = made
        return result.id

    @rule(memory_id=ids, agent=agents, user=users)
    def get(self, memory_id: str, agent: str, user: str) -> None:
        row = self.rows[memory_id]
        if not row.seen_by(user, agent):
            with pytest.raises(MemoryNotFound):
                self.run(self.core.get(user, memory_id, agent=agent))
            return
        found = self.run(self.core.get(user, memory_id, agent=agent))
        assert (found.content, found.key, found.status) == (row.content, row.key, row.status)
        assert (found.scope.user_id, found.scope.agent_id) == (row.user, row.agent)
        assert found.importance == row.importance

    @rule(memory_id=ids, content=st.sampled_from(["Ripon", "Selby"]), level=st.integers(1, 4))
    def update(self, memory_id: str, content: str, level: int) -> None:
        row = self.rows[memory_id]
        if row.private:
            with pytest.raises(MemoryNotFound):
                self.run(self.core.update(row.user, memory_id, "content", content=content))
            return
        paths = ("content", "importance")
        self.run(self.core.update(row.user, memory_id, *paths, content=content, importance=level))
        self.revision += 1
        row.content, row.importance = content, level

    @rule(memory_id=ids)
    def forget(self, memory_id: str) -> None:
        row = self.rows[memory_id]
        answer = self.run(self.core.forget(row.user, memory_id, agent=row.agent))
        assert answer.count == (row.status != FORGOTTEN)
        self.revision += answer.count
        row.status = FORGOTTEN

    @rule(memory_id=ids)
    def undo(self, memory_id: str) -> None:
        row = self.rows[memory_id]
        answer = self.run(self.core.forget(row.user, memory_id, agent=row.agent, mode=UNDO))
        assert answer.count == (row.status == FORGOTTEN)
        self.revision += answer.count
        if row.status == FORGOTTEN:
            row.has_heir = row.has_heir or bool(self.rivals(row))
            row.status = SUPERSEDED if row.has_heir else ACTIVE

    @rule(memory_id=consumes(ids), other=users)
    def forget_of_another_user(self, memory_id: str, other: str) -> None:
        if other != self.rows[memory_id].user:
            with pytest.raises(MemoryNotFound):
                self.run(self.core.forget(other, memory_id))

    @rule(user=users, agent=agents)
    def listed(self, user: str, agent: str) -> None:
        seen = {i: r.status for i, r in self.rows.items() if r.seen_by(user, agent)}
        found = self.run(self.core.listed(user, agent=agent))
        assert {item.id: item.status for item in found} == seen
        assert len(found) == len(seen)

    @rule(user=users, agent=agents, key=st.sampled_from(["", "city", "food"]))
    def recall_by_filter(self, user: str, agent: str, key: str) -> None:
        expected = {
            memory_id
            for memory_id, row in self.rows.items()
            if row.status == ACTIVE and row.key == key and row.seen_by(user, agent)
        }
        narrow = must(condition(key={"values": [key]}))
        answer = self.run(self.core.recall(user, agent=agent, filter=narrow, k=200, min_score=0.0))
        found = [hit.memory.id for hit in answer.hits]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert answer.revision == self.revision

    @rule(user=users, agent=agents, text=st.sampled_from(["Leeds", "York Hull", "Ripon"]))
    def recall_by_text(self, user: str, agent: str, text: str) -> None:
        answer = self.run(self.core.recall(user, text, agent=agent, k=200, min_score=0.0))
        expected = {
            memory_id
            for memory_id, row in self.rows.items()
            if row.status == ACTIVE and row.seen_by(user, agent)
        }
        assert {hit.memory.id for hit in answer.hits} == expected

    @precondition(lambda self: self.rows)
    @rule()
    def reload(self) -> None:
        self.run(self.stack.aclose())
        self.core = self.run(self.open())

    @invariant()
    def counts_agree(self) -> None:
        for user in USERS:
            count = sum(row.user == user for row in self.rows.values())
            assert self.core.partitions.count_of_user(TENANT, user) == count
            part = self.core.partitions.find(TENANT, user)
            assert part is None or len(part) == count

    @invariant()
    def revisions_agree(self) -> None:
        assert self.core.writer.published(TENANT) == self.revision

    @invariant()
    def one_value_a_slot(self) -> None:
        current = [row.slot() for row in self.rows.values() if row.status == ACTIVE and row.key]
        assert len(current) == len(set(current))


class TestCore(Machine.TestCase):  # type: ignore[name-defined, misc]
    """Random runs of the machine."""

    settings = settings(max_examples=8, stateful_step_count=40, deadline=None)
