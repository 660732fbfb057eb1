"""A real server that asks for tokens, and calls to it in a role."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from recalld.server.permissions import Role
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.server.core import condition, must, scope
from tests.server.stubs import TIMEOUT_S, Stubs


class Door:
    """Calls to the server in a role."""

    def __init__(self, stubs: Stubs, tokens: dict[Role, str]) -> None:
        self.stubs = stubs
        self.tokens = tokens

    def call(self, method: Any, request: Message, role: Role = Role.WRITER) -> Any:
        """The answer, a stream's as a list."""
        pairs = (("authorization", f"Bearer {self.tokens[role]}"),)
        answer = method(request, metadata=pairs, timeout=TIMEOUT_S)
        return answer if isinstance(answer, Message) else list(answer)

    def remember(self, user: str, agent: str, *memories: types_pb2.Memory) -> list[Any]:
        """Stores as an agent."""
        items = [pb.MemoryInput(memory=item) for item in memories]
        request = pb.RememberRequest(scope=scope(user, agent), memories=items)
        return list(self.call(self.stubs.memory.Remember, request).results)

    def update(self, user: str, agent: str, memory_id: str, **fields: Any) -> types_pb2.Memory:
        """Changes one memory."""
        changed = types_pb2.Memory(id=memory_id, scope=scope(user, agent), **fields)
        request = pb.UpdateMemoryRequest(memory=changed)
        made: types_pb2.Memory = self.call(self.stubs.memory.UpdateMemory, request).memory
        return made

    def recall(self, user: str, agent: str, **fields: Any) -> recall_pb.RecallResponse:
        """Everything under the key `city`, unless something else is asked."""
        fields = fields or {"filter": must(condition(key={"values": ["city"]}))}
        request = recall_pb.RecallRequest(scope=scope(user, agent), k=50, min_score=0, **fields)
        made: recall_pb.RecallResponse = self.call(self.stubs.recall.Recall, request)
        return made

    def get(self, user: str, agent: str, memory_id: str) -> types_pb2.Memory:
        """One memory."""
        request = pb.GetMemoryRequest(scope=scope(user, agent), id=memory_id)
        found: types_pb2.Memory = self.call(self.stubs.memory.GetMemory, request).memory
        return found
