"""Builds wire requests from what the caller gave; knows no channel and no reply.

Invariants: what the caller left out is left unset on the wire; every builder takes a `Scope`
that is already resolved; limits are the server's business, types are checked here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recalld.client import values, wiretypes
from recalld.client.filters import Expression, compile_filter
from recalld.client.inputs import NewMemory, Query, Source, Turn
from recalld.client.wiretypes import build, listed, shown
from recalld.v1 import memory_service_pb2 as memory_pb2
from recalld.v1 import recall_service_pb2 as recall_pb2
from recalld.v1 import types_pb2

RESOLUTIONS = ("winner_id", "keep_all", "undo")
FORGET_SELECTORS = ("ids", "key", "filter", "content", "all_memories")
VECTOR_FIELDS = ("vector", "vector_fingerprint")


def _source(source: Source) -> types_pb2.Source:
    if not isinstance(source, Source):
        raise TypeError(f"source: {shown(source)} is no Source")
    return build(types_pb2.Source, **dataclasses.asdict(source))


_ENUM_FIELDS = {
    "kind": values.Kind,
    "importance": values.Importance,
    "stated_by": values.StatedBy,
    "visibility": values.Visibility,
    "key_cardinality": values.KeyCardinality,
}
_TIME_FIELDS = ("event_time", "valid_from", "valid_to", "expire_time")
_STRUCT_FIELDS = ("value", "metadata")
_PLAIN_FIELDS = ("content", "key", "confidence", "language")
MEMORY_FIELDS = frozenset(
    {*_ENUM_FIELDS, *_TIME_FIELDS, *_STRUCT_FIELDS, *_PLAIN_FIELDS, "relevant_when", "source"}
)


def memory_message(fields: Mapping[str, Any]) -> types_pb2.Memory:
    """The wire memory of some of `MEMORY_FIELDS`; a field that is None stays unset."""
    message: dict[str, Any] = {}
    for name, given in fields.items():
        if given is None:
            continue
        if name in _ENUM_FIELDS:
            message[name] = values.encode(_ENUM_FIELDS[name], given, name)
        elif name in _TIME_FIELDS:
            message[name] = wiretypes.timestamp(name, given)
        elif name in _STRUCT_FIELDS:
            message[name] = wiretypes.to_struct(name, given)
        elif name == "source":
            message[name] = _source(given)
        elif name == "relevant_when":
            message[name] = listed(name, given)
        else:
            message[name] = given
    return build(types_pb2.Memory, **message)


def remember(scope: types_pb2.Scope, memories: Sequence[NewMemory]) -> memory_pb2.RememberRequest:
    """Request of Remember."""
    inputs = []
    for number, memory in enumerate(memories):
        if not isinstance(memory, NewMemory):
            raise TypeError(f"content[{number}]: {shown(memory)} is no NewMemory")
        fields = {
            field.name: getattr(memory, field.name)
            for field in dataclasses.fields(memory)
            if field.name not in VECTOR_FIELDS
        }
        inputs.append(
            build(
                memory_pb2.MemoryInput,
                memory=memory_message(fields),
                vector=wiretypes.vector(memory.vector),
                vector_fingerprint=memory.vector_fingerprint,
            )
        )
    return memory_pb2.RememberRequest(scope=scope, memories=inputs)


def get(scope: types_pb2.Scope, id: str | None, key: str | None) -> memory_pb2.GetMemoryRequest:
    """Request of GetMemory, by exactly one of id and key."""
    if (id is None) == (key is None):
        raise ValueError("get: give either id or key")
    return build(memory_pb2.GetMemoryRequest, scope=scope, id=id, key=key)


def list_memories(
    scope: types_pb2.Scope,
    *,
    filter: Expression | None = None,
    statuses: Sequence[str] = (),
    page_size: int = 0,
    page_token: str = "",
) -> memory_pb2.ListMemoriesRequest:
    """Request of ListMemories."""
    return build(
        memory_pb2.ListMemoriesRequest,
        scope=scope,
        filter=optional_filter(filter),
        statuses=[
            values.encode(values.Status, s, "statuses") for s in listed("statuses", statuses)
        ],
        page_size=page_size,
        page_token=page_token,
    )


def update(
    scope: types_pb2.Scope, id: str, fields: Mapping[str, Any], etag: str
) -> memory_pb2.UpdateMemoryRequest:
    """Request of UpdateMemory; the mask names exactly the fields given."""
    unknown = sorted(set(fields) - MEMORY_FIELDS)
    if unknown:
        raise TypeError(f"update: unexpected keyword argument {unknown[0]!r}")
    if not fields:
        raise ValueError("update: no field to change")
    memory = memory_message(fields)
    memory.MergeFrom(build(types_pb2.Memory, id=id, scope=scope))
    request = build(memory_pb2.UpdateMemoryRequest, memory=memory, etag=etag)
    request.update_mask.paths.extend(sorted(fields))
    return request


def forget(
    scope: types_pb2.Scope,
    *,
    mode: str | None = None,
    dry_run: bool = False,
    etag: str = "",
    **selectors: Any,
) -> memory_pb2.ForgetRequest:
    """Request of Forget, with exactly one of `FORGET_SELECTORS`."""
    unknown = sorted(set(selectors) - set(FORGET_SELECTORS))
    if unknown:
        raise TypeError(f"forget: unexpected keyword argument {unknown[0]!r}")
    chosen = {name: given for name, given in selectors.items() if given not in (None, False)}
    if len(chosen) != 1:
        raise ValueError(f"forget: give exactly one of {', '.join(FORGET_SELECTORS)}")
    name, given = chosen.popitem()
    encoders: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "ids": ("ids", lambda ids: build(memory_pb2.IdSet, ids=listed("ids", ids))),
        "filter": ("filter", compile_filter),
        "all_memories": ("all", bool),
    }
    wire_name, encode = encoders.get(name, (name, lambda text: text))
    return build(
        memory_pb2.ForgetRequest,
        scope=scope,
        mode=values.encode(values.ForgetMode, mode or values.ForgetMode.UNSPECIFIED, "mode"),
        dry_run=dry_run,
        etag=etag,
        **{wire_name: encode(given)},
    )


def resolve(
    scope: types_pb2.Scope, conflict_group: str, *, etag: str = "", **resolutions: Any
) -> memory_pb2.ResolveConflictRequest:
    """Request of ResolveConflict, with exactly one of `RESOLUTIONS`."""
    unknown = sorted(set(resolutions) - set(RESOLUTIONS))
    if unknown:
        raise TypeError(f"resolve: unexpected keyword argument {unknown[0]!r}")
    chosen = {name: given for name, given in resolutions.items() if given not in (None, False)}
    if len(chosen) != 1:
        raise ValueError(f"resolve: give exactly one of {', '.join(RESOLUTIONS)}")
    return build(
        memory_pb2.ResolveConflictRequest,
        scope=scope,
        conflict_group=conflict_group,
        etag=etag,
        **chosen,
    )


def recall(scope: types_pb2.Scope, query: Query) -> recall_pb2.RecallRequest:
    """Request of Recall."""
    asked = [name for name in ("text", "vector", "memory_id") if getattr(query, name) is not None]
    if len(asked) > 1:
        raise ValueError(f"recall: give only one of {' and '.join(asked)}")
    return build(
        recall_pb2.RecallRequest,
        scope=scope,
        text=query.text,
        vector=wiretypes.vector(query.vector),
        memory_id=query.memory_id,
        context=[_turn(turn) for turn in listed("context", query.context)],
        k=query.k,
        filter=optional_filter(query.filter),
        kinds=[values.encode(values.Kind, kind, "kinds") for kind in listed("kinds", query.kinds)],
        as_of=wiretypes.timestamp("as_of", query.as_of),
        known_at=wiretypes.timestamp("known_at", query.known_at),
        include_superseded=query.include_superseded,
        min_score=query.min_score,
        min_revision=query.min_revision,
        shared_user_ids=listed("shared_user_ids", query.shared_user_ids),
        channels=[
            values.encode(values.Channel, name, "channels")
            for name in listed("channels", query.channels)
        ],
        weights=_weights(query.weights),
        fusion=values.encode(values.Fusion, query.fusion or values.Fusion.UNSPECIFIED, "fusion"),
        explain=query.explain,
        now=wiretypes.timestamp("now", query.now),
    )


def _weights(given: Mapping[values.Channel | str, float]) -> list[recall_pb2.ChannelWeight]:
    if not isinstance(given, Mapping):
        raise TypeError(f"weights: {shown(given)} is no mapping")
    return [
        build(
            recall_pb2.ChannelWeight,
            channel=values.encode(values.Channel, name, "weights"),
            weight=weight,
        )
        for name, weight in given.items()
    ]


def _turn(turn: Turn | str) -> types_pb2.Turn:
    given = Turn(turn) if isinstance(turn, str) else turn
    if not isinstance(given, Turn):
        raise TypeError(f"context: {shown(given)} is neither text nor a Turn")
    return build(
        types_pb2.Turn,
        role=given.role,
        text=given.text,
        time=wiretypes.timestamp("context.time", given.time),
        message_id=given.message_id,
    )


def build_context(
    scope: types_pb2.Scope,
    query: Query,
    *,
    token_budget: int = 0,
    tokenizer: str = "",
    format: str | None = None,
    language: str = "",
) -> recall_pb2.BuildContextRequest:
    """Request of BuildContext."""
    wanted = format or values.ContextFormat.UNSPECIFIED
    return build(
        recall_pb2.BuildContextRequest,
        recall=recall(scope, query),
        token_budget=token_budget,
        tokenizer=tokenizer,
        format=values.encode(values.ContextFormat, wanted, "format"),
        language=language,
    )


def optional_filter(expression: Expression | None) -> types_pb2.Filter | None:
    """The wire filter; None stays None."""
    return None if expression is None else compile_filter(expression)
