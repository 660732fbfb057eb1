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
from recalld.server.indexing import embedded_text
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.roles import Roles
from recalld.server.tokens import CJK
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import recall_service_pb2 as pb

CONTEXT_TURN_COUNT = 2
CONTEXT_WEIGHT = 0.5
INLINE_ROW_COUNT_MAX = 2_000
"""Partitions up to this size are searched on the event loop: a hop to a thread costs more."""
REQUEST_TOKENS_MAX = 48
"""Relevance is trained on requests up to this long; of dialogues and documents it knows nothing."""
TOKENS_PER_CJK, TOKENS_PER_OTHER = 0.65, 0.23
EMBED_SHARE_MAX = 0.5
"""Share of the time until the deadline that the embedder may be expected to take: with more, words
and keys answer at once instead of shortly before the deadline."""
EMBED_RESERVE_S, EMBED_RESERVE_SHARE = 0.005, 0.1
"""Time kept back from the deadline for search and answer when the embedder is slow: this much, and
this share of what is left where that is more, since a busy machine is late with all of it."""


def text_weights(texts: Sequence[str]) -> tuple[float, ...]:
    """Weight of each text: the request whole, the turns before it less."""
    return (1.0, *[CONTEXT_WEIGHT] * (len(texts) - 1))


@dataclass(frozen=True, slots=True)
class Query:
    """What the channels are asked: the request itself first, then what the recent turns add.

    Attributes:
        vectors: as `QueryPlan.vectors`, by the fingerprint of the model that made them.
        texts: for the words.
        excluded: labels that must not answer.
        degraded: what was left out for want of time.
        readings: what the words say already, one per partition.
        with_relevance: whether the request is of a length that relevance is trained on.
    """

    vectors: Mapping[str, NDArray[np.float32]]
    texts: tuple[str, ...]
    excluded: frozenset[int] = frozenset()
    degraded: tuple[str, ...] = ()
    readings: tuple[Reading | None, ...] = ()
    with_relevance: bool = True
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
    is_weighed = asked.weights.get(Channel.ROLE, 1.0) > 0
    vectors = query.vectors.get(models.current.fingerprint)
    if roles is None or vectors is None or not asked.text or not is_weighed:
        return query
    wanted = roles.ask(vectors, text_weights(query.texts))
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
        given = validate.vector(request.vector, path, models.current.dim)[np.newaxis]
        vectors = {models.current.fingerprint: given}
        return Query(vectors, (), degraded=_unasked(chosen, vectors))
    if which == "memory_id":
        validate.name(request.memory_id, path, required=True)
        return _like(request.memory_id, asked, chosen, call, models)
    if which is None or not chosen:
        return Query({}, ())
    texts = (asked.text, *asked.turns[-CONTEXT_TURN_COUNT:])
    readings: tuple[Reading | None, ...] = ()
    is_short = request_size(asked.text) <= REQUEST_TOKENS_MAX
    try:
        wait_s = EMBED_SHARE_MAX * call.remaining_s()
        pending = {
            model.fingerprint: model.submit(
                texts, is_query=True, owner=call.tenant, within_s=wait_s
            )
            for model in _models_of(chosen, models)
        }
        degraded = _unasked(chosen, pending)
        if all(one.done() for one in pending.values()):
            found = {name: one.result() for name, one in pending.items()}
            return Query(found, texts, degraded=degraded, with_relevance=is_short)
        # The words are looked up while the model is at work on another core.
        weights = text_weights(texts)
        readings = tuple(
            part.index.read(texts, weights, asked.time)
            if len(part.index) <= INLINE_ROW_COUNT_MAX
            else None
            for part in chosen
        )
        left_s = call.remaining_s()
        wait_s = left_s - max(EMBED_RESERVE_S, EMBED_RESERVE_SHARE * left_s)
        async with asyncio.timeout(None if left_s == float("inf") else max(0.0, wait_s)):
            found = {name: await asyncio.wrap_future(one) for name, one in pending.items()}
    except TimeoutError:
        return Query({}, texts, degraded=("embedder_deadline",), readings=readings)
    except EmbedQueueFull:
        return Query({}, texts, degraded=("embedder_overloaded",))
    return Query(found, texts, degraded=degraded, readings=readings, with_relevance=is_short)


def _models_of(chosen: Sequence[Partition], models: Models) -> list[BatchingEmbedder]:
    """The models by which some partitions are searched, each once: nearly always a single one."""
    names = dict.fromkeys(part.index.fingerprint for part in chosen)
    return [model for name in names if (model := models.find(name)) is not None]


def _unasked(chosen: Sequence[Partition], vectors: Container[str]) -> tuple[str, ...]:
    """What `degraded` says where a partition is not asked by vectors of its own model."""
    is_whole = all(part.index.fingerprint in vectors for part in chosen)
    return () if is_whole else ("reembedding",)


def request_size(text: str) -> float:
    """Tokens of a request, roughly: by the default model, measured on both languages."""
    wide = len(CJK.findall(text))
    return wide * TOKENS_PER_CJK + (len(text) - wide) * TOKENS_PER_OTHER


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
