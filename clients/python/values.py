"""The client's names for the wire's enums: strings such as "fact" and "high" instead of numbers.

Every enum is a `StrEnum`, so a member equals its text and either may be passed to the client.
A number that this version does not know (from a newer server) reads as UNSPECIFIED, never as an
error.

Invariants: a member's name is the wire name without its prefix; `tests/clients/test_values.py`
holds the two lists equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from recalld.v1 import memory_service_pb2, recall_service_pb2, types_pb2


class Kind(StrEnum):
    """What sort of memory it is; decides slot or topic, half-life and floor."""

    UNSPECIFIED = "unspecified"
    FACT = "fact"
    PREFERENCE = "preference"
    STATE = "state"
    EVENT = "event"
    PROGRESS = "progress"
    DECISION = "decision"
    PROCEDURE = "procedure"
    DOCUMENT = "document"


class Importance(StrEnum):
    """How much it matters, as the writer says; PINNED never decays."""

    UNSPECIFIED = "unspecified"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    PINNED = "pinned"


class StatedBy(StrEnum):
    """Whose word it is; in a conflict USER > TOOL > IMPORT > AGENT."""

    UNSPECIFIED = "unspecified"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"


class Visibility(StrEnum):
    """Who may read it: every agent of the user, only the writing agent, only admins."""

    UNSPECIFIED = "unspecified"
    SHARED = "shared"
    PRIVATE = "private"
    SYSTEM = "system"


class Status(StrEnum):
    """Where in its life a memory is; only ACTIVE and CONFLICTED are recalled by default."""

    UNSPECIFIED = "unspecified"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    CONFLICTED = "conflicted"
    EXPIRED = "expired"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


class KeyCardinality(StrEnum):
    """Whether a key holds one current value or a bounded set of them."""

    UNSPECIFIED = "unspecified"
    ONE = "one"
    MANY = "many"


class Outcome(StrEnum):
    """What happened to one memory of a `remember`."""

    UNSPECIFIED = "unspecified"
    CREATED = "created"
    REFRESHED = "refreshed"
    SUPERSEDED_PREVIOUS = "superseded_previous"
    CONFLICT = "conflict"
    REJECTED_SENSITIVE = "rejected_sensitive"
    EXPIRED_ON_ARRIVAL = "expired_on_arrival"
    REJECTED_PURGED = "rejected_purged"


class ForgetMode(StrEnum):
    """How far forgetting goes: SOFT can be undone for 30 days, PURGE leaves no byte."""

    UNSPECIFIED = "unspecified"
    SOFT = "soft"
    PURGE = "purge"
    UNDO = "undo"


class Band(StrEnum):
    """How sure the server is of a hit; LOW means "possibly relevant"."""

    UNSPECIFIED = "unspecified"
    HIGH = "high"
    LOW = "low"


class AbstainReason(StrEnum):
    """Why an answer is empty; UNSPECIFIED: it is not."""

    UNSPECIFIED = "unspecified"
    NO_MEMORIES = "no_memories"
    NO_MATCH = "no_match"
    BELOW_CUT = "below_cut"


class DropReason(StrEnum):
    """Why a memory was left out of an answer or a context."""

    UNSPECIFIED = "unspecified"
    FILTER = "filter"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    DUPLICATE = "duplicate"
    BELOW_CUT = "below_cut"
    OVER_K = "over_k"
    VISIBILITY = "visibility"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    NOT_YET_KNOWN = "not_yet_known"
    NOT_VALID_THEN = "not_valid_then"
    OVER_BUDGET = "over_budget"
    IS_QUERY = "is_query"
    NOT_PROPOSED = "not_proposed"


class Channel(StrEnum):
    """Sources of candidates and scores."""

    UNSPECIFIED = "unspecified"
    VECTOR = "vector"
    RELEVANCE = "relevance"
    KEYWORD = "keyword"
    KEY = "key"
    ROLE = "role"
    TIME = "time"
    RELATION = "relation"
    IDENTIFIER = "identifier"


class Fusion(StrEnum):
    """How channel scores become one."""

    UNSPECIFIED = "unspecified"
    WEIGHTED = "weighted"
    RRF = "rrf"


class ContextFormat(StrEnum):
    """How a context is written."""

    UNSPECIFIED = "unspecified"
    MARKDOWN = "markdown"
    XML = "xml"
    JSON = "json"


class ContextSection(StrEnum):
    """Part of a context, in the order in which parts stand."""

    UNSPECIFIED = "unspecified"
    FACTS = "facts"
    PROGRESS = "progress"
    DECISIONS = "decisions"
    PREFERENCES = "preferences"
    BACKGROUND = "background"
    POSSIBLY_RELEVANT = "possibly_relevant"
    CONFLICTS = "conflicts"


EnumT = TypeVar("EnumT", bound=StrEnum)

WIRE_ENUMS = {
    Kind: (types_pb2.MemoryKind, "MEMORY_KIND_"),
    Importance: (types_pb2.Importance, "IMPORTANCE_"),
    StatedBy: (types_pb2.StatedBy, "STATED_BY_"),
    Visibility: (types_pb2.Visibility, "VISIBILITY_"),
    Status: (types_pb2.MemoryStatus, "MEMORY_STATUS_"),
    KeyCardinality: (types_pb2.KeyCardinality, "KEY_CARDINALITY_"),
    Outcome: (memory_service_pb2.RememberOutcome, "REMEMBER_OUTCOME_"),
    ForgetMode: (memory_service_pb2.ForgetMode, "FORGET_MODE_"),
    Band: (recall_service_pb2.ConfidenceBand, "CONFIDENCE_BAND_"),
    AbstainReason: (recall_service_pb2.AbstainReason, "ABSTAIN_REASON_"),
    DropReason: (recall_service_pb2.DropReason, "DROP_REASON_"),
    Channel: (recall_service_pb2.Channel, "CHANNEL_"),
    Fusion: (recall_service_pb2.Fusion, "FUSION_"),
    ContextFormat: (recall_service_pb2.ContextFormat, "CONTEXT_FORMAT_"),
    ContextSection: (recall_service_pb2.ContextSection, "CONTEXT_SECTION_"),
}


def encode(enum: type[StrEnum], value: str, name: str) -> int:
    """The wire number of a member or its text, in any letter case.

    Args:
        enum: Which.
        value: Member or text.
        name: The argument that the message of an error names.

    Raises:
        ValueError: If the text is none of the enum's; the message lists what is.
    """
    wrapper, prefix = WIRE_ENUMS[enum]
    try:
        member = enum(str(value).lower())
    except ValueError:
        allowed = ", ".join(m.value for m in enum if m.name != "UNSPECIFIED")
        raise ValueError(f"{name}: {value!r} is none of {allowed}") from None
    return wrapper.Value(prefix + member.name)


def _members_by_number(enum: type[StrEnum]) -> Mapping[int, StrEnum]:
    wrapper, prefix = WIRE_ENUMS[enum]
    return MappingProxyType({wrapper.Value(prefix + member.name): member for member in enum})


# Looked up eight times for each memory of an answer, so made once.
_MEMBERS = MappingProxyType({enum: _members_by_number(enum) for enum in WIRE_ENUMS})


def decode(enum: type[EnumT], number: int) -> EnumT:
    """The member of a wire number; UNSPECIFIED for a number of a newer server."""
    members: Any = _MEMBERS[enum]
    return members.get(number) or members[0]
