"""A recall request, checked and plain.

What is asked, of whom, at which time, under which limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple

from recalld.index import time_words
from recalld.index.calendar_windows import Standpoint
from recalld.index.filter import View
from recalld.index.time_channel import TimeAsked
from recalld.scoring.params import Channel, Fusion
from recalld.server import codec, limits, times, validate
from recalld.server.call import Call
from recalld.server.channels import Multipliers, multipliers
from recalld.server.conversation import UNSPOKEN, Spoken, speak
from recalld.server.errors import InvalidRequest, PermissionDenied
from recalld.server.sections import RankingSection
from recalld.storage.record import Scope, Status
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2

CURRENT = frozenset({Status.ACTIVE, Status.CONFLICTED})
CURRENT_AND_PAST = CURRENT | {Status.SUPERSEDED, Status.EXPIRED}
ROLES = ("user", "assistant", "system", "tool")
NO_TIME = TimeAsked()


class Ask(NamedTuple):
    """One recall.

    Attributes:
        scope: who asks.
        users: partitions to search, the own one first.
        text: the request; "" when a vector, a memory or only a filter is given.
        turns: texts of the recent turns, oldest first.
        spoken: what is embedded of text and turns.
        view: visibility, times and statuses.
        min_score: lowest score; None = below which it says nothing.
        multipliers: of the channels.
        degraded: what was changed about the request.
        time: what the request says of time.
    """

    scope: Scope
    users: tuple[str, ...]
    text: str
    turns: tuple[str, ...]
    spoken: Spoken
    k: int
    view: View
    min_score: float | None
    fusion: Fusion
    multipliers: Multipliers
    explain: bool
    degraded: tuple[str, ...]
    time: TimeAsked


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the configuration and the model say where a request does not.

    Attributes:
        min_score: lowest score to return; None = below which it says nothing.
        fusion: how channels become one.
        channels: those that this server's model has.
        role_weight: multiplier of the role channel.
        zone: in which the days of a request's words begin.
    """

    min_score: float | None
    fusion: Fusion
    channels: frozenset[Channel]
    role_weight: float
    zone: tzinfo


def decode(
    request: pb.RecallRequest, call: Call, field: str, k_default: int, default: Defaults
) -> Ask:
    """Check a request.

    Args:
        request: as sent.
        call: the call.
        field: path of the request, "" or `recall` or `requests[3]`.
        k_default: hits when the request does not say.
        default: the server's cut and fusion.

    Raises:
        InvalidRequest: some field is malformed or over its limit.
        PermissionDenied: it sets the clock without being allowed to.
    """
    at = f"{field}." if field else ""
    scope = codec.scope(request.scope, call.tenant, f"{at}scope")
    k = validate.whole(request.k, f"{at}k", 1, limits.K_MAX) if request.HasField("k") else k_default
    text, which = "", request.WhichOneof("query")
    if which == "text":
        text = validate.content(request.text, f"{at}text", limits.CONTENT_BYTES_MAX)
    shared = _shared(request, at)
    if not _has_kinds(request, at) and which is None and not request.HasField("filter"):
        raise InvalidRequest(
            f"{at}query", "is required (text, vector or memory_id), or else a filter"
        )
    view, degraded = _view(request, scope, call, at)
    fusion, min_score = default.fusion, default.min_score
    if request.fusion:
        fusion = Fusion(validate.enum(request.fusion, pb.Fusion, f"{at}fusion"))
    if request.HasField("min_score"):
        min_score = validate.fraction(request.min_score, f"{at}min_score")
    made_of_each = multipliers(request, at, default.channels, default.role_weight)
    turns = _turns(request, at)
    spoken = speak(text, turns) if text else UNSPOKEN
    return Ask(
        scope,
        tuple(dict.fromkeys((scope.user_id, *shared))) if shared else (scope.user_id,),
        text,
        turns,
        spoken,
        k,
        view,
        min_score,
        fusion,
        made_of_each,
        request.explain,
        degraded,
        _time(spoken.texts[0], view, default.zone) if text else NO_TIME,
    )


def defaults(ranking: RankingSection, channels: frozenset[Channel]) -> Defaults:
    """The configuration in the ranking's own terms.

    Args:
        ranking: settings.
        channels: those that this server's model has.
    """
    return Defaults(
        min_score=ranking.min_score,
        fusion=Fusion.RRF if ranking.fusion == "rrf" else Fusion.WEIGHTED,
        channels=channels,
        role_weight=ranking.role_weight,
        zone=ranking.zone,
    )


def _shared(request: pb.RecallRequest, at: str) -> Sequence[str]:
    """Users of the shared partitions."""
    users = request.shared_user_ids
    if not users:
        return ()
    validate.count(users, f"{at}shared_user_ids", 0, limits.SHARED_USER_COUNT_MAX)
    return [
        validate.name(user, f"{at}shared_user_ids[{i}]", required=True)
        for i, user in enumerate(users)
    ]


def _has_kinds(request: pb.RecallRequest, at: str) -> bool:
    """Whether kinds are wanted; they are checked."""
    kinds = request.kinds
    if not kinds:
        return False
    if 0 in {validate.enum(kind, types_pb2.MemoryKind, f"{at}kinds") for kind in kinds}:
        raise InvalidRequest(f"{at}kinds", "must not hold UNSPECIFIED")
    return True


def _turns(request: pb.RecallRequest, at: str) -> tuple[str, ...]:
    """Texts of the recent turns."""
    turns = request.context
    if not turns:
        return ()
    validate.count(turns, f"{at}context", 0, limits.CONTEXT_TURN_COUNT_MAX)
    for i, turn in enumerate(turns):
        if turn.role not in ROLES:
            raise InvalidRequest(f"{at}context[{i}].role", f"must be one of {', '.join(ROLES)}")
        validate.name(turn.message_id, f"{at}context[{i}].message_id")
        if turn.HasField("time"):
            times.from_wire(turn.time, f"{at}context[{i}].time")
    return tuple(
        validate.content(turn.text, f"{at}context[{i}].text", limits.CONTENT_BYTES_MAX)
        for i, turn in enumerate(turns)
    )


def _view(
    request: pb.RecallRequest, scope: Scope, call: Call, at: str
) -> tuple[View, tuple[str, ...]]:
    """Who asks about when.

    A time asked about that lies in the future is clamped, and that is said.
    """
    now_us, as_of_us, known_at_us = call.now_us, 0, 0
    degraded: tuple[str, ...] = ()
    if request.HasField("now"):
        if not call.is_admin:
            raise PermissionDenied(f"{at}now: needs the admin role or a test clock")
        now_us = times.from_wire(request.now, f"{at}now")
    if request.HasField("as_of"):
        as_of_us = times.from_wire(request.as_of, f"{at}as_of")
        if as_of_us > now_us:
            as_of_us, degraded = now_us, ("as_of_clamped",)
    if request.HasField("known_at"):
        known_at_us = times.from_wire(request.known_at, f"{at}known_at")
        if known_at_us > now_us:
            known_at_us, degraded = now_us, (*degraded, "known_at_clamped")
    statuses = CURRENT_AND_PAST if request.include_superseded else CURRENT
    view = View(
        now_us,
        scope.agent_id,
        call.is_admin,
        statuses=statuses,
        as_of_us=as_of_us,
        known_at_us=known_at_us,
    )
    return view, degraded


def _time(asking: str, view: View, zone: tzinfo) -> TimeAsked:
    """What the last words of a request say of time, seen from the moment that it asks about.

    A long one tells, with times of its own, before it asks.
    """
    at_us = view.as_of_us or view.now_us
    named = time_words.windows(asking, Standpoint(at_us, zone))
    return TimeAsked(named, time_words.asks_for_newest(asking), at_us)
