"""What the client gives back: frozen dataclasses, no wire messages.

They hold what the server said and nothing else; none of them talks to a server. Times are
timezone-aware `datetime` in UTC, scores lie in 0..1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recalld.client.inputs import Source
from recalld.client.sensitive import ScreenedField
from recalld.client.values import (
    AbstainReason,
    Band,
    Channel,
    ContextSection,
    DropReason,
    Fusion,
    Importance,
    KeyCardinality,
    Kind,
    Outcome,
    StatedBy,
    Status,
    Visibility,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One stored memory."""

    id: str
    content: str
    kind: Kind
    user_id: str
    agent_id: str = ""
    session_id: str = ""
    namespace: str = ""
    key: str = ""
    value: dict[str, Any] | None = None
    relevant_when: tuple[str, ...] = ()
    importance: Importance = Importance.MEDIUM
    confidence: float = 1.0
    stated_by: StatedBy = StatedBy.USER
    source: Source | None = None
    visibility: Visibility = Visibility.SHARED
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    create_time: datetime | None = None
    update_time: datetime | None = None
    confirm_time: datetime | None = None
    last_used_time: datetime | None = None
    expire_time: datetime | None = None
    status: Status = Status.ACTIVE
    superseded_by: str = ""
    conflict_group: str = ""
    access_count: int = 0
    language: str = ""
    metadata: dict[str, Any] | None = None
    key_cardinality: KeyCardinality = KeyCardinality.UNSPECIFIED
    etag: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class RememberResult:
    """What happened to one memory, and to those it met; what of it was replaced as sensitive."""

    id: str
    outcome: Outcome
    superseded_ids: tuple[str, ...]
    conflicting_ids: tuple[str, ...]
    etag: str
    screened: tuple[ScreenedField, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """Answer of a `remember`: results in the order given, and the revision of the write."""

    results: tuple[RememberResult, ...]
    revision: int

    @property
    def id(self) -> str:
        """Id of the only memory of this write."""
        return self._only().id

    @property
    def outcome(self) -> Outcome:
        """Outcome of the only memory of this write."""
        return self._only().outcome

    def _only(self) -> RememberResult:
        if len(self.results) != 1:
            raise ValueError(f"{len(self.results)} memories were written: look at .results")
        return self.results[0]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; an empty `next_page_token` means it is the last."""

    memories: tuple[Memory, ...]
    next_page_token: str
    total_size: int


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key in use: kind of its newest memory, current memories under it, newest event time."""

    key: str
    kind: Kind
    count: int
    newest_time: datetime | None


@dataclass(frozen=True, slots=True)
class PurgeReceipt:
    """What a purge removed; holds no content."""

    id: str
    time: datetime | None
    row_count: int
    snapshot_count: int
    verified_file_count: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many memories were (or, in a dry run, would be) forgotten; ids: the first 1000."""

    count: int
    ids: tuple[str, ...]
    revision: int
    receipt: PurgeReceipt | None


@dataclass(frozen=True, slots=True)
class ChannelScore:
    """Score of one channel; it adds `weight * normalised`."""

    channel: Channel
    raw: float
    normalised: float
    weight: float


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Parts of a score: `score = base * decay * importance * confidence`.

    With WEIGHTED fusion `base = 1 / (1 + exp(-(bias + sum of weight * normalised)))`.
    """

    channels: tuple[ChannelScore, ...]
    fusion: Fusion
    bias: float
    base: float
    decay: float
    importance: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory, with its score in 0..1 and why it is here."""

    memory: Memory
    score: float
    band: Band
    reasons: tuple[str, ...]
    parts: ScoreParts | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Memories that contradict each other."""

    conflict_group: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Hits, best first, or an honest nothing (`abstained`). Iterating gives the hits."""

    recall_id: str
    hits: tuple[Hit, ...]
    abstained: bool
    abstain_reason: AbstainReason
    conflicts: tuple[Conflict, ...]
    revision: int
    degraded: tuple[str, ...]
    situation: str
    excluded: dict[DropReason, int]
    timings_ms: dict[str, float]

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """Number of hits."""
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One line of a context."""

    memory_id: str
    section: ContextSection
    text: str
    token_count: int
    score: float
    band: Band


@dataclass(frozen=True, slots=True)
class OmittedItem:
    """One memory that was left out of a context."""

    memory_id: str
    reason: DropReason
    token_count: int


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt-ready text within the token budget, and what it is made of."""

    text: str
    token_count: int
    tokenizer: str
    items: tuple[ContextItem, ...]
    omitted: tuple[OmittedItem, ...]
    complete: bool
    recall: RecallResult


@dataclass(frozen=True, slots=True)
class Reembedding:
    """How far embedding anew is, after a change of the model; counts of the whole server.

    Attributes:
        memory_count: Memories to be embedded anew when the server started.
        memories_left: Those of them that are not yet.
        users_left: Users that are still searched by the previous model, or by words and keys.
        users_held_back: Those of them whose new vectors did not find what is stored.
    """

    memory_count: int
    memories_left: int
    users_left: int
    users_held_back: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Version, calls that work (`Service/Method`), limits and embedder of the server.

    `reembedding` is None where every memory had vectors of the embedder when the server started.
    """

    version: str
    api_revision: int
    capabilities: frozenset[str]
    limits: dict[str, int]
    embedder_name: str
    embedder_fingerprint: str
    dimension: int
    tokenizers: tuple[str, ...]
    start_time: datetime | None
    test_clock: bool
    reembedding: Reembedding | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and sizes of the caller's tenant, or of one user."""

    memory_count: int
    statuses: dict[Status, int]
    kinds: dict[Kind, int]
    user_count: int
    revision: int
    data_bytes: int
    rss_bytes: int
    uptime_s: float
