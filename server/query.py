"""What the channels of a recall are asked: vectors and words of the request and of recent turns."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from recalld.index.generation import Reading
from recalld.index.roles import RoleAsk
from recalld.scoring.params import Channel
from recalld.server import access, validate
from recalld.server.ask import Ask
from recalld.server.call import Call
from recalld.server.conversation import Spoken, earlier_words
from recalld.server.indexing import embedded_text
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.roles import Roles
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import recall_service_pb2 as pb

CONTEXT_WEIGHT = 0.5
"""Of the words of earlier turns, against those of the request."""
REQUEST_WEIGHT = 0.9
"""Of the request alone, against the request with the turns before it."""
INLINE_ROW_COUNT_MAX = 10_000
"""Partitions up to this size are searched on the event loop: by vector that takes less than half a
millisecond, about what a hop to a thread and the contention behind it cost."""
EMBED_SHARE_MAX = 0.5
"""Share of the time until the deadline that the embedder may be expected to take: with more, words
and keys answer at once instead of shortly before the deadline."""
EMBED_RESERVE_S, EMBED_RESERVE_SHARE = 0.005, 0.1
"""Time kept back from the deadline for search and answer when the embedder is slow: this much, and
this share of what is left where that is more, since a busy machine is late with all of it."""


def text_weights(texts: Sequence[str]) -> tuple[float, ...]:
    """Weight of each text: the request whole, the turns before it less."""
    return (1.0, *[CONTEXT_WEIGHT] * (len(texts) - 1))


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class Query:
    """What the channels are asked: the request itself, and what the recent turns add.

    Attributes:
        vectors: as `QueryPlan.vectors`, by the fingerprint of the model that made them.
        vector_weights: one per vector.
        texts: for the words: the request, and what was said in the turns before it.
        excluded: labels that must not answer.
        degraded: what was left out for want of time.
        readings: what the words say already, one per partition.
    """

    vectors: Mapping[str, NDArray[np.float32]]
    texts: tuple[str, ...]
    excluded: frozenset[int] = frozenset()
    degraded: tuple[str, ...] = ()
    readings: tuple[Reading | None, ...] = ()
    vector_weights: tuple[float, ...] = (1.0,)
    roles: RoleAsk | None = None
    situation: str = ""


async def make_query(
    models: Models,
    roles: Roles | None,
    request: pb.RecallRequest,
    asked: Ask,
    chosen: list[Partition],
    call: Call,
    field: str,
) -> Query:
    """All that the channels are asked; without a vector in time, the words alone."""
    query = await _read(models, request, asked, chosen, call, field)
    is_weighed = asked.multipliers.weights.get(Channel.ROLE, 1.0) > 0
    vectors = query.vectors.get(models.current.fingerprint)
    if roles is None or vectors is None or not asked.text or not is_weighed:
        return query
    wanted = roles.ask(vectors, query.vector_weights)
    if wanted is None:
        return replace(query, degraded=(*query.degraded, "roles_not_ready"))
    return replace(query, roles=wanted, situation=wanted.situation)


async def _read(
    models: Models,
    request: pb.RecallRequest,
    asked: Ask,
    chosen: list[Partition],
    call: Call,
    field: str,
) -> Query:
    """Vectors and texts of the request."""
    which = request.WhichOneof("query")
    path = f"{field}.{which}" if field else str(which)
    if which == "vector":
        given = validate.vector(request.vector, path, models.current.dim).reshape(1, -1)
        vectors = {models.current.fingerprint: given}
        return Query(vectors, (), degraded=_unasked(chosen, vectors))
    if which == "memory_id":
        validate.name(request.memory_id, path, required=True)
        return _like(request.memory_id, asked, chosen, call, models)
    if which is None or not chosen:
        return Query({}, ())
    texts = (asked.text, earlier_words(asked.turns)) if asked.turns else (asked.text,)
    readings: tuple[Reading | None, ...] = ()
    asked_of = _models_of(chosen, models)
    try:
        wait_s = EMBED_SHARE_MAX * call.remaining_s()
        pending = {
            model.fingerprint: model.submit(
                asked.spoken.texts, is_query=True, owner=call.tenant, within_s=wait_s
            )
            for model in asked_of
        }
        if not all(one.done() for one in pending.values()):
            # The words are looked up while the model is at work on another core.
            readings = _readings(chosen, texts, asked)
            left_s = call.remaining_s()
            wait_s = left_s - max(EMBED_RESERVE_S, EMBED_RESERVE_SHARE * left_s)
            async with asyncio.timeout(None if left_s == float("inf") else max(0.0, wait_s)):
                for one in pending.values():
                    await asyncio.wrap_future(one)
        found = {name: one.result() for name, one in pending.items()}
    except TimeoutError:
        return Query({}, texts, degraded=("embedder_deadline",), readings=readings)
    except EmbedQueueFull:
        return Query({}, texts, degraded=("embedder_overloaded",))
    dims = {model.fingerprint: model.dim for model in asked_of}
    query = by_vectors(found, asked.spoken, texts, dims)
    return replace(query, degraded=_unasked(chosen, found), readings=readings)


def _readings(
    chosen: Sequence[Partition], texts: tuple[str, ...], asked: Ask
) -> tuple[Reading | None, ...]:
    """What the words say already in partitions that are searched on the event loop."""
    weights = text_weights(texts)
    return tuple(
        part.index.read(texts, weights, asked.time)
        if len(part.index) <= INLINE_ROW_COUNT_MAX
        else None
        for part in chosen
    )


def _models_of(chosen: Sequence[Partition], models: Models) -> list[BatchingEmbedder]:
    """The models by which some partitions are searched, each once: nearly always a single one."""
    names = dict.fromkeys(part.index.fingerprint for part in chosen)
    return [model for name in names if (model := models.find(name)) is not None]


def _unasked(chosen: Sequence[Partition], vectors: Container[str]) -> tuple[str, ...]:
    """What `degraded` says where a partition is not asked by vectors of its own model."""
    for part in chosen:
        if part.index.fingerprint not in vectors:
            return ("reembedding",)
    return ()


def by_vectors(
    vectors: Mapping[str, NDArray[np.float32]],
    spoken: Spoken,
    texts: tuple[str, ...],
    dims: Mapping[str, int],
) -> Query:
    """The query of a request by its vectors of each model, whose widths are `dims`.

    Likeness is asked of the whole of what was said, what is needed of the request alone; and both
    the other way round, a little less, unless the whole is more than relevance knows.
    """
    if len(spoken.texts) == 1:
        return Query(vectors, texts)
    crossed = {}
    for name, (request, whole) in vectors.items():
        dim, turned = dims[name], whole if spoken.is_short else request
        crossed[name] = np.block([[whole[:dim], request[dim:]], [request[:dim], turned[dim:]]])
    return Query(crossed, texts, vector_weights=(1.0, REQUEST_WEIGHT))


def _like(memory_id: str, asked: Ask, chosen: list[Partition], call: Call, models: Models) -> Query:
    """The vector and words of a memory of the own partition."""
    own = next((part for part in chosen if part.user_id == asked.scope.user_id), None)
    if own is None:
        raise MemoryNotFound("no such memory of this user")
    record = access.require(own.get(memory_id), asked.scope, call)
    vectors = {}
    if models.find(own.index.fingerprint) is not None:
        vectors[own.index.fingerprint] = own.index.vectors_of([record.label])
    texts, itself = (embedded_text(record),), frozenset({record.label})
    return Query(vectors, texts, itself, degraded=_unasked(chosen, vectors))
