"""Bodies of the calls that benches send: recalls by vector, key and text, writes, a bad one."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from recalld.bench.corpus import content
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest
from recalld.v1.types_pb2 import (
    Condition,
    Filter,
    KindSet,
    Memory,
    MemoryKind,
    Scope,
    StringSet,
    Vector,
)

REMEMBER_METHOD = "/recalld.v1.MemoryService/Remember"
K = 5
FILTERS = {
    1: Condition(namespace_prefix="3/73"),
    10: Condition(namespace_prefix="3"),
    100: Condition(kind=KindSet(values=[MemoryKind.MEMORY_KIND_FACT])),
}
"""Filters by how many per cent of a corpus's memories match."""


def by_vector(
    user_ids: Sequence[str],
    queries: NDArray[np.float32],
    k: int = K,
    condition: Condition | None = None,
    min_score: float | None = None,
) -> list[bytes]:
    """Recalls with given vectors float32[n, dim], the users in turn."""
    bodies = []
    for i, query in enumerate(queries):
        request = RecallRequest(scope=Scope(user_id=user_ids[i % len(user_ids)]), k=k)
        request.vector.float32_le = query.astype("<f4").tobytes()
        if condition is not None:
            request.filter.must.append(condition)
        if min_score is not None:
            request.min_score = min_score
        bodies.append(request.SerializeToString())
    return bodies


def by_key(user_id: str, numbers: Iterable[int]) -> list[bytes]:
    """Recalls with nothing but a key to filter on."""
    scope = Scope(user_id=user_id)
    conditions = (Condition(key=StringSet(values=[f"slot.{number}"])) for number in numbers)
    return [
        RecallRequest(scope=scope, filter=Filter(must=[condition]), k=K).SerializeToString()
        for condition in conditions
    ]


def by_text(user_id: str, count: int) -> list[bytes]:
    """Recalls with different texts of a usual length."""
    scope = Scope(user_id=user_id)
    texts = (f"Where did I put item {i * 31}, and who asked for it?" for i in range(count))
    return [RecallRequest(scope=scope, text=text, k=K).SerializeToString() for text in texts]


def invalid() -> bytes:
    """A recall that asks for nothing and is refused."""
    return RecallRequest(scope=Scope(user_id="u")).SerializeToString()


def write(
    user_id: str,
    first: int,
    count: int,
    vectors: NDArray[np.float32] | None = None,
    fingerprint: str = "",
) -> bytes:
    """A write of `count` memories of a corpus, from number `first` on.

    Args:
        user_id: whose.
        first, count: numbers of the memories.
        vectors: float32[count, dim] of the model `fingerprint`; None: the server embeds the texts.
        fingerprint: goes with the vectors.
    """
    request = RememberRequest(scope=Scope(user_id=user_id))
    for i in range(count):
        memory = Memory(
            kind=MemoryKind.MEMORY_KIND_FACT, key=f"slot.{first + i}", content=content(first + i)
        )
        item = MemoryInput(memory=memory)
        if vectors is not None:
            item.vector.CopyFrom(Vector(float32_le=vectors[i].astype("<f4").tobytes()))
            item.vector_fingerprint = fingerprint
        request.memories.append(item)
    return request.SerializeToString()
