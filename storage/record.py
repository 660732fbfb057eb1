"""The memory record: the one plain type that the write path, the store and the read path share.

It never knows about the wire, the index or DuckDB. Enum numbers are those of `recalld.v1`
(a tidy test holds them equal), so no table translates between them.

Times are integers, microseconds since 1970-01-01T00:00:00Z; 0 means "not set" (the wire accepts
times from 1900 to 2200, and the one instant 1970-01-01T00:00:00Z is stored as 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Kind(IntEnum):
    """What sort of memory it is; decides slot or topic, half-life and floor."""

    UNSPECIFIED = 0
    FACT = 1
    PREFERENCE = 2
    STATE = 3
    EVENT = 4
    PROGRESS = 5
    DECISION = 6
    PROCEDURE = 7
    DOCUMENT = 8


class Importance(IntEnum):
    """How much the writer says it matters; PINNED never decays."""

    UNSPECIFIED = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    PINNED = 4


class StatedBy(IntEnum):
    """Whose word it is; the order of precedence is USER > TOOL > IMPORT > AGENT."""

    UNSPECIFIED = 0
    USER = 1
    AGENT = 2
    TOOL = 3
    IMPORT = 4


class Visibility(IntEnum):
    """Who may see it: every agent of the user, only the writing agent, only admin credentials."""

    UNSPECIFIED = 0
    SHARED = 1
    PRIVATE = 2
    SYSTEM = 3


class Status(IntEnum):
    """Where in its life the memory is; only ACTIVE and CONFLICTED are recalled by default."""

    UNSPECIFIED = 0
    ACTIVE = 1
    SUPERSEDED = 2
    CONFLICTED = 3
    EXPIRED = 4
    ARCHIVED = 5
    FORGOTTEN = 6


class KeyCardinality(IntEnum):
    """Whether a key holds one current value or a bounded set of them."""

    UNSPECIFIED = 0
    ONE = 1
    MANY = 2


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a memory lives (`tenant`, `user_id`: the partition) and where it came from."""

    tenant: str
    user_id: str
    agent_id: str = ""
    session_id: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory was said: enough to find the sentence again."""

    session_id: str = ""
    turn: int = 0
    message_id: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory as stored.

    Attributes:
        label: internal row number, > 0, unique in the store, never reused.
        id: public id, 32 lower-case hex digits, unguessable, never reused.
        kind..visibility: numbers of the enums above.
        key: slot or topic, NFC, at most 256 bytes of UTF-8; "" = none.
        content: the text, at most 8 KiB of UTF-8.
        value_json, metadata_json: compact JSON object texts; "" = not set.
        confidence: in [0, 1].
        event_time_us: when it was true or happened; never 0 (the server fills in its clock).
        create_time_us: record time; update_time_us: last change of any field.
        confirm_time_us: last time the same thing was said again; 0 = never.
        valid_from_us, valid_to_us: the writer's own words; what ended it by replacing it is apart.
        superseded_by: id of the memory that replaced it or, of a current one, that outweighs it;
            "" = none.
        conflict_group: shared by current memories that contradict each other; "" = none.
        settled_group: the conflict group it was in when that was settled, for undoing; "" = none.
        superseded_from_us: valid time from which its successor holds; 0 = not superseded.
        superseded_time_us: record time at which it became superseded; 0 = not superseded.
        content_hash: 16 bytes over the folded content, for duplicates and idempotency.
        revision: tenant revision at which this row was last written, > 0.
    """

    label: int
    id: str
    scope: Scope
    kind: int
    content: str
    key: str = ""
    key_cardinality: int = KeyCardinality.ONE
    value_json: str = ""
    metadata_json: str = ""
    relevant_when: tuple[str, ...] = ()
    importance: int = Importance.MEDIUM
    confidence: float = 1.0
    stated_by: int = StatedBy.USER
    source: Source = field(default_factory=Source)
    visibility: int = Visibility.SHARED
    language: str = ""
    event_time_us: int = 0
    valid_from_us: int = 0
    valid_to_us: int = 0
    create_time_us: int = 0
    update_time_us: int = 0
    confirm_time_us: int = 0
    expire_time_us: int = 0
    forget_time_us: int = 0
    last_used_time_us: int = 0
    access_count: int = 0
    status: int = Status.ACTIVE
    superseded_by: str = ""
    conflict_group: str = ""
    settled_group: str = ""
    superseded_from_us: int = 0
    superseded_time_us: int = 0
    content_hash: bytes = b""
    revision: int = 0
