"""Next-day scenarios on the wire: storing their memories and putting their questions.

Every memory is written by itself with the server's clock at the time it was stored, oldest first.
The labels of a scenario never reach the server.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from uuid import uuid4

from recalld.bench.next_day import Case, Item, Store
from recalld.bench.report import Step
from recalld.bench.target import (
    CALL_TIMEOUT_S,
    Target,
    clock,
    importance_of,
    kind_of,
    stated_by_of,
    timestamp,
)
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import Memory, Scope, Turn

K = 5


@dataclass
class Owners:
    """Which memories of the server stand for which items, and who owns them."""

    prefix: str
    items: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    owner: dict[str, str] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)

    def user_id(self, user: str) -> str:
        """A user of the scenarios, as the server knows it."""
        return f"{self.prefix}/{user}"


def remember(target: Target, store: Store, prefix: str, step: Step) -> Owners:
    """Writes the memories of a store, oldest first; its users get this prefix."""
    owners = Owners(prefix)
    for (_, user), group in groupby(store.items, key=lambda i: (i.age_s, i.user)):
        items = list(group)
        now = store.time_of(items[0])
        request = RememberRequest(scope=Scope(user_id=owners.user_id(user)), request_id=uuid4().hex)
        for item in items:
            memory = _memory(item)
            memory.event_time.CopyFrom(timestamp(now))
            request.memories.append(MemoryInput(memory=memory))
        response = target.memory.Remember(request, metadata=clock(now), timeout=CALL_TIMEOUT_S)
        for item, result in zip(items, response.results, strict=True):
            owners.items[result.id].add(item.id)
            owners.owner[result.id] = user
            owners.superseded.update(result.superseded_ids)
        step(len(items))
    return owners


def _memory(item: Item) -> Memory:
    return Memory(
        kind=kind_of(item.kind),
        key=item.key,
        content=item.content,
        importance=importance_of(item.importance),
        confidence=item.confidence,
        stated_by=stated_by_of(item.stated_by),
    )


def request_of(case: Case, owners: Owners) -> RecallRequest:
    """The recall that puts a question to its store."""
    return RecallRequest(
        scope=Scope(user_id=owners.user_id(case.user)),
        text=case.text,
        context=[Turn(role=t["role"], text=t["text"]) for t in case.context],
        k=K,
    )
