"""Keyword arguments of the client's methods, written once for the sync and the async client.

These TypedDicts only describe; the values are read in requests.py and calls.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from recalld.client.filters import Expression
from recalld.client.inputs import Source, Turn
from recalld.client.values import (
    Channel,
    ForgetMode,
    Fusion,
    Importance,
    KeyCardinality,
    Kind,
    StatedBy,
    Status,
    Visibility,
)

MESSAGE_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Deadline of a call by its class, in seconds over all retries; every call has one.

    `recall_s`: recalls, contexts and other reads; `write_s`: whatever changes memories;
    `admin_s`: server facts, snapshots, exports and purges.
    """

    recall_s: float = 2.0
    write_s: float = 5.0
    admin_s: float = 60.0


class ConnectOptions(TypedDict, total=False):
    """Who asks, and how the server is reached.

    `user_id`, `agent_id`, `session_id`, `namespace`: scope of every call that names none.
    `token`: sent as `authorization: Bearer`; refused over plaintext TCP to another host unless
    `allow_insecure_token`. `tls`: with the system's roots or `ca_file`; `cert_file` and
    `key_file` (PEM, both or none) identify the client. `max_message_bytes`: limit of one message
    in either direction.
    """

    user_id: str
    agent_id: str
    session_id: str
    namespace: str
    token: str | None
    allow_insecure_token: bool
    tls: bool
    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    timeouts: Timeouts
    max_message_bytes: int


class CallOptions(TypedDict, total=False):
    """Scope in place of the client's, and `timeout`, the deadline in seconds."""

    user_id: str
    agent_id: str
    session_id: str
    namespace: str
    timeout: float


class WriteOptions(CallOptions, total=False):
    """Adds `request_id`: 1 to 128 bytes, one per logical write; unset: a fresh UUID."""

    request_id: str


class RememberOptions(WriteOptions, total=False):
    """Fields of the memory, as in `NewMemory`."""

    kind: Kind | str
    key: str
    value: Mapping[str, Any]
    relevant_when: Sequence[str]
    importance: Importance | str
    confidence: float
    stated_by: StatedBy | str
    source: Source
    visibility: Visibility | str
    event_time: datetime
    valid_from: datetime
    valid_to: datetime
    expire_time: datetime
    language: str
    metadata: Mapping[str, Any]
    key_cardinality: KeyCardinality | str
    vector: Sequence[float]
    vector_fingerprint: str


class UpdateOptions(WriteOptions, total=False):
    """Fields to change; None clears one. `etag`: fail unless it is the current one."""

    content: str
    kind: Kind | str | None
    key: str | None
    value: Mapping[str, Any] | None
    relevant_when: Sequence[str] | None
    importance: Importance | str | None
    confidence: float | None
    stated_by: StatedBy | str | None
    source: Source | None
    visibility: Visibility | str | None
    event_time: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    expire_time: datetime | None
    language: str | None
    metadata: Mapping[str, Any] | None
    etag: str


class ListOptions(CallOptions, total=False):
    """`page_size`: 1 to 1000, unset 100; `statuses`: unset ACTIVE and CONFLICTED."""

    filter: Expression | None
    statuses: Sequence[Status | str]
    page_size: int
    page_token: str


class ListKeysOptions(CallOptions, total=False):
    """`prefix`: keys under it, up to 256 bytes."""

    prefix: str


class ForgetOptions(WriteOptions, total=False):
    """Which memories (exactly one of the first five), how far, and whether only to count."""

    ids: Sequence[str]
    key: str
    filter: Expression
    content: str
    all_memories: bool
    mode: ForgetMode | str
    dry_run: bool
    etag: str


class ResolveOptions(WriteOptions, total=False):
    """How a conflict is settled (exactly one of the first three)."""

    winner_id: str
    keep_all: bool
    undo: bool
    etag: str


class RecallOptions(CallOptions, total=False):
    """Fields of the recall, as in `Query`."""

    vector: Sequence[float]
    memory_id: str
    context: Sequence[Turn | str]
    k: int | None
    filter: Expression | None
    kinds: Sequence[Kind | str]
    as_of: datetime | None
    known_at: datetime | None
    include_superseded: bool
    min_score: float | None
    min_revision: int
    shared_user_ids: Sequence[str]
    channels: Sequence[Channel | str]
    weights: Mapping[Channel | str, float]
    fusion: Fusion | str
    explain: bool
    now: datetime | None


class ContextOptions(RecallOptions, total=False):
    """Adds `token_budget` (64 to 32768, unset 600), `tokenizer`, `format` and `language`."""

    token_budget: int
    tokenizer: str
    format: str
    language: str


class UsageOptions(WriteOptions, total=False):
    """`used`: ids the answer used; `helpful`: whether it helped; `corrected`: wrong ids."""

    used: Sequence[str]
    helpful: bool
    corrected: Sequence[str]


class ExportOptions(CallOptions, total=False):
    """`statuses`: unset: all but FORGOTTEN."""

    filter: Expression | None
    statuses: Sequence[Status | str]
