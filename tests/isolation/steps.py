"""Random requests of every method: of the caller's own things, and of those of others.

A request that pries names ids, keys, namespaces, conflict groups, recalls and words of somebody
else, but never a mark, so that a mark in the answer is never an echo.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from recalld.v1 import admin_service_pb2 as admin_pb
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.isolation.operators import OPERATOR_CALLS
from tests.isolation.words import AGENTS, KEYS, SUBJECTS, VERBS
from tests.isolation.world import OWNERS, USERS, Owner, World, mark
from tests.server.core import DAY_US, NOW_US, timestamp

Made = tuple[str, Message, tuple[str, ...]]
"""Path, request, and users besides the own one whose memories the answer may hold."""
MEMORY, RECALL, ADMIN = (f"/recalld.v1.{name}Service" for name in ("Memory", "Recall", "Admin"))


class Steps:
    """Makes requests by a seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.page_tokens: list[str] = []
        self._makers: list[tuple[Callable[[Owner], Made], int]] = [
            (self.remember, 22),
            (self.recall, 25),
            (self.batch_recall, 4),
            (self.build_context, 6),
            (self.get, 8),
            (self.list_memories, 5),
            (self.list_keys, 3),
            (self.update, 6),
            (self.forget, 6),
            (self.resolve, 3),
            (self.export, 2),
            (self.trace, 4),
            (self.list_traces, 2),
            (self.report_usage, 5),
            (self.stats, 2),
            (self.info, 1),
            (self.snapshot, 1),
            (self.not_offered, 1),
        ]

    def make(self, owner: Owner) -> Made:
        """One request of somebody."""
        makers, weights = zip(*self._makers, strict=True)
        [maker] = self.random.choices(makers, weights)
        made: Made = maker(owner)
        return made

    def _any(self, table: dict[Owner, list[str]], owner: Owner) -> str:
        """Something of one's own, or in a third of the cases of somebody else; or unknown."""
        whose = self.random.choice(OWNERS) if self.random.random() < 0.33 else owner
        return self.random.choice(table.get(whose) or ["0" * 32])

    def _scope(self, owner: Owner) -> types_pb2.Scope:
        agent = self.random.choice(AGENTS)
        return types_pb2.Scope(user_id=owner[1], agent_id=agent)

    def _text(self) -> str:
        return f"{self.random.choice(VERBS)} {self.random.choice(SUBJECTS)}"

    def _request_id(self) -> str:
        """Mostly none; else one of a few, which tenants have in common."""
        return f"r{self.random.randrange(40)}" if self.random.random() < 0.1 else ""

    def _memory(self, owner: Owner, scope: types_pb2.Scope) -> types_pb2.Memory:
        own = mark(owner)
        made = types_pb2.Memory(
            content=f"{self._text()} {own}",
            key=self.random.choice(KEYS),
            kind=self.random.randrange(9),  # type: ignore[arg-type]
            importance=self.random.randrange(5),  # type: ignore[arg-type]
            stated_by=self.random.randrange(5),  # type: ignore[arg-type]
            visibility=self.random.choice((0, 1, 3, 2 if scope.agent_id else 1)),  # type: ignore[arg-type]
            event_time=timestamp(NOW_US - self.random.randrange(30) * DAY_US),
            relevant_when=[f"when {own}"] if self.random.random() < 0.2 else [],
        )
        if self.random.random() < 0.3:
            made.metadata.update({"note": own, "level": self.random.randrange(3)})
            made.value.update({"is": own})
            made.source.uri = f"https://example.org/{own}"
            made.source.session_id = f"s{self.random.randrange(3)}"
        return made

    def _filter(self, owner: Owner) -> types_pb2.Filter:
        """One or two conditions of any kind."""
        rnd = self.random
        choices: list[dict[str, Any]] = [
            {"kind": {"values": [rnd.randrange(1, 9)]}},
            {"key": {"values": [rnd.choice(KEYS)]}},
            {"key_prefix": rnd.choice(("a", "location", "c"))},
            {"namespace_prefix": rnd.choice(("project", "project/a"))},
            {"agent_id": {"values": ["planner", ""]}},
            {"source_session_id": {"values": ["s1"]}},
            {"stated_by": {"values": [rnd.randrange(1, 5)]}},
            {"importance": {"values": [rnd.randrange(1, 5)]}},
            {"metadata": {"path": "level", "exists": True}},
            {"event_time": {"from": timestamp(NOW_US - 9 * DAY_US)}},
            {"id": {"values": [self._any(self.world.ids, owner)]}},
            {"language": {"values": [rnd.choice(("en", "zh"))]}},
            {"min_confidence": 0.5},
        ]
        made = types_pb2.Filter()
        for part in rnd.sample((made.must, made.should, made.must_not), rnd.choice((1, 1, 2))):
            part.append(types_pb2.Condition(**rnd.choice(choices)))
        return made

    def remember(self, owner: Owner) -> Made:
        scope = self._scope(owner)
        scope.namespace = self.random.choice(("", "", "project/a", "project/b"))
        count = self.random.choice((1, 1, 1, 2, 5))
        memories = [pb.MemoryInput(memory=self._memory(owner, scope)) for _ in range(count)]
        request = pb.RememberRequest(scope=scope, memories=memories, request_id=self._request_id())
        return f"{MEMORY}/Remember", request, ()

    def _recall(self, owner: Owner) -> tuple[recall_pb.RecallRequest, tuple[str, ...]]:
        rnd = self.random
        request = recall_pb.RecallRequest(scope=self._scope(owner), k=rnd.choice((1, 5, 50, 200)))
        how = rnd.random()
        if how < 0.6:
            request.text = self._text()
        elif how < 0.75:
            request.memory_id = self._any(self.world.ids, owner)
        else:
            request.filter.CopyFrom(self._filter(owner))
        if rnd.random() < 0.2:
            request.filter.CopyFrom(self._filter(owner))
        if rnd.random() < 0.3:
            request.min_score = 0.0
        if rnd.random() < 0.2:
            request.context.add(role="user", text=self._text())
        request.include_superseded = rnd.random() < 0.2
        request.explain = rnd.random() < 0.1
        if rnd.random() < 0.1:
            request.as_of.CopyFrom(timestamp(NOW_US - 3 * DAY_US))
        shared: tuple[str, ...] = ()
        if rnd.random() < 0.15:
            others = [user for user in USERS if user != owner[1]]
            shared = tuple(rnd.sample(others, rnd.choice((1, 2))))
            request.shared_user_ids.extend(shared)
        return request, shared

    def recall(self, owner: Owner) -> Made:
        request, shared = self._recall(owner)
        return f"{RECALL}/Recall", request, shared

    def batch_recall(self, owner: Owner) -> Made:
        parts = [self._recall(owner) for _ in range(self.random.choice((1, 3)))]
        request = recall_pb.BatchRecallRequest(requests=[part for part, _ in parts])
        return f"{RECALL}/BatchRecall", request, tuple(u for _, users in parts for u in users)

    def build_context(self, owner: Owner) -> Made:
        request, shared = self._recall(owner)
        made = recall_pb.BuildContextRequest(
            recall=request, token_budget=self.random.choice((64, 600, 5000))
        )
        return f"{RECALL}/BuildContext", made, shared

    def get(self, owner: Owner) -> Made:
        request = pb.GetMemoryRequest(scope=self._scope(owner))
        if self.random.random() < 0.6:
            request.id = self._any(self.world.ids, owner)
        else:
            request.key = self.random.choice(KEYS[2:])
        return f"{MEMORY}/GetMemory", request, ()

    def _page_token(self) -> str:
        """Mostly none; else any that was given to anybody."""
        if self.random.random() < 0.6 or not self.page_tokens:
            return ""
        return self.random.choice(self.page_tokens[-50:])

    def list_memories(self, owner: Owner) -> Made:
        request = pb.ListMemoriesRequest(
            scope=types_pb2.Scope(user_id=owner[1]),
            page_size=self.random.choice((2, 100)),
            page_token=self._page_token(),
        )
        if self.random.random() < 0.4:
            request.filter.CopyFrom(self._filter(owner))
        return f"{MEMORY}/ListMemories", request, ()

    def list_keys(self, owner: Owner) -> Made:
        request = pb.ListKeysRequest(scope=self._scope(owner), page_token=self._page_token())
        return f"{MEMORY}/ListKeys", request, ()

    def update(self, owner: Owner) -> Made:
        memory = types_pb2.Memory(
            id=self._any(self.world.ids, owner),
            content=f"{self._text()} {mark(owner)}",
            importance=self.random.randrange(1, 5),  # type: ignore[arg-type]
            scope=types_pb2.Scope(user_id=owner[1]),
        )
        request = pb.UpdateMemoryRequest(memory=memory, request_id=self._request_id())
        request.update_mask.paths.extend(self.random.choice((["content"], ["importance"])))
        return f"{MEMORY}/UpdateMemory", request, ()

    def forget(self, owner: Owner) -> Made:
        request = pb.ForgetRequest(
            scope=self._scope(owner),
            mode=self.random.choice((0, 1, 2, 3)),
            request_id=self._request_id(),
        )
        how = self.random.random()
        if how < 0.6:
            request.ids.ids.append(self._any(self.world.ids, owner))
        elif how < 0.75:
            request.key = self.random.choice(KEYS[2:])
        elif how < 0.85:
            request.content = self._text()
        elif how < 0.97:
            request.filter.CopyFrom(self._filter(owner))
        else:
            request.all = True
        request.dry_run = self.random.random() < 0.2
        return f"{MEMORY}/Forget", request, ()

    def resolve(self, owner: Owner) -> Made:
        request = pb.ResolveConflictRequest(
            scope=self._scope(owner), conflict_group=self._any(self.world.groups, owner)
        )
        how = self.random.random()
        if how < 0.4:
            request.winner_id = self._any(self.world.ids, owner)
        elif how < 0.7:
            request.keep_all = True
        else:
            request.undo = True
        return f"{MEMORY}/ResolveConflict", request, ()

    def export(self, owner: Owner) -> Made:
        request = pb.ExportMemoriesRequest(
            scope=self._scope(owner), include_vectors=self.random.random() < 0.3
        )
        return f"{MEMORY}/ExportMemories", request, ()

    def trace(self, owner: Owner) -> Made:
        request = recall_pb.GetRecallTraceRequest(
            scope=types_pb2.Scope(user_id=owner[1]), recall_id=self._any(self.world.recalls, owner)
        )
        if self.random.random() < 0.5:
            request.memory_id = self._any(self.world.ids, owner)
        # The recall may have named any other user of the tenant as shared.
        return f"{RECALL}/GetRecallTrace", request, USERS

    def list_traces(self, owner: Owner) -> Made:
        request = recall_pb.ListRecallTracesRequest(
            scope=types_pb2.Scope(user_id=owner[1]), page_token=self._page_token()
        )
        return f"{RECALL}/ListRecallTraces", request, ()

    def report_usage(self, owner: Owner) -> Made:
        request = recall_pb.ReportUsageRequest(
            scope=self._scope(owner), recall_id=self._any(self.world.recalls, owner), helpful=True
        )
        where = request.used if self.random.random() < 0.7 else request.corrected
        where.append(self._any(self.world.ids, owner))
        return f"{RECALL}/ReportUsage", request, ()

    def stats(self, owner: Owner) -> Made:
        request = admin_pb.GetStatsRequest()
        if self.random.random() < 0.5:
            request.scope.user_id = owner[1]
        return f"{ADMIN}/GetStats", request, ()

    def info(self, owner: Owner) -> Made:
        return f"{ADMIN}/GetServerInfo", admin_pb.GetServerInfoRequest(), ()

    def snapshot(self, owner: Owner) -> Made:
        """Any of the calls that concern everybody's data."""
        name, request = self.random.choice(OPERATOR_CALLS)
        return f"{ADMIN}/{name}", request, ()

    def not_offered(self, owner: Owner) -> Made:
        request = admin_pb.LinkIdentityRequest(user_id=owner[1], alias_user_ids=USERS)
        return f"{ADMIN}/LinkIdentity", request, ()
