"""What the caller gives: frozen dataclasses of a memory to store and a recall to run.

An attribute left at its default is not sent, so the server's default holds. Nothing here talks to
a server or checks: requests.py refuses wrong types, the server what is over its limits; both name
the field. Times are timezone-aware
`datetime`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recalld.client.filters import Expression
from recalld.client.values import (
    Channel,
    Fusion,
    Importance,
    KeyCardinality,
    Kind,
    StatedBy,
    Visibility,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory was said: conversation, turn (from 0), message id, document URI."""

    session_id: str = ""
    turn: int = 0
    message_id: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation; `role` is user, assistant, system or tool."""

    text: str
    role: str = "user"
    time: datetime | None = None
    message_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """One memory to store; only `content` is required.

    `event_time` is when it happened or was true (unset: the server's clock), `valid_from` and
    `valid_to` bound its truth in the world, `expire_time` ends its recall. `vector` is given only
    by callers that run the server's own model, together with its `vector_fingerprint`.
    """

    content: str
    kind: Kind | str | None = None
    key: str = ""
    value: Mapping[str, Any] | None = None
    relevant_when: Sequence[str] = ()
    importance: Importance | str | None = None
    confidence: float | None = None
    stated_by: StatedBy | str | None = None
    source: Source | None = None
    visibility: Visibility | str | None = None
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expire_time: datetime | None = None
    language: str = ""
    metadata: Mapping[str, Any] | None = None
    key_cardinality: KeyCardinality | str | None = None
    vector: Sequence[float] | None = None
    vector_fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One recall: at most one of `text`, `vector`, `memory_id`; none needs a `filter`.

    `k` in 1..200 (server default 5); `context` are the turns before, oldest first, up to 16, a
    plain string counts as the user's; `min_score` in 0..1, 0 takes the cut away (the other side of
    a conflict comes along below it, and says so in its reasons); `as_of` asks what was true then,
    `known_at` what the server knew then; `weights` per channel in 0..10.
    """

    text: str | None = None
    vector: Sequence[float] | None = None
    memory_id: str | None = None
    context: Sequence[Turn | str] = ()
    k: int | None = None
    filter: Expression | None = None
    kinds: Sequence[Kind | str] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    include_superseded: bool = False
    min_score: float | None = None
    min_revision: int = 0
    shared_user_ids: Sequence[str] = ()
    channels: Sequence[Channel | str] = ()
    weights: Mapping[Channel | str, float] = field(default_factory=dict)
    fusion: Fusion | str | None = None
    explain: bool = False
    now: datetime | None = None
