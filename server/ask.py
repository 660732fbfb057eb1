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
from recalld.server.conversation import last_words
from recalld.server.errors import InvalidRequest, PermissionDenied
from recalld.server.sections import RankingSection
from recalld.storage.record import Scope, Status
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2

CURRENT = frozenset({Status.ACTIVE, Status.CONFLICTED})
PAST = frozenset({Status.SUPERSEDED, Status.EXPIRED})
ROLES = ("user", "assistant", "system", "tool")
CUE_WEIGHT = 1.0
"""Multiplier of the role channel for a cue that is near, where the channel has no weight of its
own: the writer's word needs no catalogue behind it."""

CHANNELS: dict[int, Channel] = {
    pb.Channel.CHANNEL_VECTOR: Channel.VECTOR,
    pb.Channel.CHANNEL_KEYWORD: Channel.KEYWORD,
    pb.Channel.CHANNEL_IDENTIFIER: Channel.IDENTIFIER,
    pb.Channel.CHANNEL_KEY: Channel.KEY,
    pb.Channel.CHANNEL_RELEVANCE: Channel.RELEVANCE,
    pb.Channel.CHANNEL_RELATION: Channel.RELATION,
    pb.Channel.CHANNEL_ROLE: Channel.ROLE,
    pb.Channel.CHANNEL_TIME: Channel.TIME,
}
"""Channel on the wire -> channel of the ranking; the others have no source of evidence yet."""

WIRE_CHANNELS = {channel: number for number, channel in CHANNELS.items()}


class Ask(NamedTuple):
    """One recall.

    Attributes:
        scope: who asks.
        users: partitions to search, the own one first.
        text: the request; "" when a vector, a memory or only a filter is given.
        turns: texts of the recent turns, oldest first.
        kinds: kinds wanted; empty = all.
        view: visibility, times and statuses.
        min_score: lowest score; None = below which it says nothing.
        cue_weight: as `QueryPlan.cue_weight`.
        degraded: what was changed about the request.
        time: what the request says of time.
    """

    scope: Scope
    users: tuple[str, ...]
    text: str
    turns: tuple[str, ...]
    k: int
    kinds: frozenset[int]
    view: View
    min_score: float | None
    fusion: Fusion
    weights: dict[Channel, float]
    cue_weight: float
    explain: bool
    degraded: tuple[str, ...]
    time: TimeAsked


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
    kinds = _kinds(request, at)
    if which is None and not request.HasField("filter") and not kinds:
        raise InvalidRequest(
            f"{at}query", "is required (text, vector or memory_id), or else a filter"
        )
    view, degraded = _view(request, scope, call, at)
    fusion = validate.enum(request.fusion, pb.Fusion, f"{at}fusion")
    weights = _weights(request, at, default)
    return Ask(
        scope=scope,
        users=tuple(dict.fromkeys((scope.user_id, *shared))),
        text=text,
        turns=_turns(request, at),
        k=k,
        kinds=kinds,
        view=view,
        min_score=validate.fraction(request.min_score, f"{at}min_score")
        if request.HasField("min_score")
        else default.min_score,
        fusion=Fusion(fusion) if fusion else default.fusion,
        weights=weights,
        cue_weight=_cue_weight(request, weights, default),
        explain=request.explain,
        degraded=degraded,
        time=_time(text, view, default.zone),
    )


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
    if not request.shared_user_ids:
        return ()
    validate.count(request.shared_user_ids, f"{at}shared_user_ids", 0, limits.SHARED_USER_COUNT_MAX)
    return [
        validate.name(user, f"{at}shared_user_ids[{i}]", required=True)
        for i, user in enumerate(request.shared_user_ids)
    ]


def _kinds(request: pb.RecallRequest, at: str) -> frozenset[int]:
    """Kinds wanted."""
    if not request.kinds:
        return frozenset()
    kinds = frozenset(
        validate.enum(kind, types_pb2.MemoryKind, f"{at}kinds") for kind in request.kinds
    )
    if 0 in kinds:
        raise InvalidRequest(f"{at}kinds", "must not hold UNSPECIFIED")
    return kinds


def _turns(request: pb.RecallRequest, at: str) -> tuple[str, ...]:
    """Texts of the recent turns."""
    if not request.context:
        return ()
    validate.count(request.context, f"{at}context", 0, limits.CONTEXT_TURN_COUNT_MAX)
    for i, turn in enumerate(request.context):
        if turn.role not in ROLES:
            raise InvalidRequest(f"{at}context[{i}].role", f"must be one of {', '.join(ROLES)}")
        validate.name(turn.message_id, f"{at}context[{i}].message_id")
        if turn.HasField("time"):
            times.from_wire(turn.time, f"{at}context[{i}].time")
    return tuple(
        validate.content(turn.text, f"{at}context[{i}].text", limits.CONTENT_BYTES_MAX)
        for i, turn in enumerate(request.context)
    )


def _view(
    request: pb.RecallRequest, scope: Scope, call: Call, at: str
) -> tuple[View, tuple[str, ...]]:
    """Who asks about when.

    A time asked about that lies in the future is clamped, and that is said.
    """
    degraded: list[str] = []
    now_us = call.now_us
    if request.HasField("now"):
        if not call.is_admin:
            raise PermissionDenied(f"{at}now: needs the admin role or a test clock")
        now_us = times.from_wire(request.now, f"{at}now")

    def moment(name: str) -> int:
        """A time asked about; 0 when the request says none."""
        if not request.HasField(name):
            return 0
        asked_us = times.from_wire(getattr(request, name), f"{at}{name}")
        if asked_us > now_us:
            degraded.append(f"{name}_clamped")
        return min(asked_us, now_us)

    view = View(
        now_us=now_us,
        agent_id=scope.agent_id,
        admin=call.is_admin,
        statuses=CURRENT | PAST if request.include_superseded else CURRENT,
        as_of_us=moment("as_of"),
        known_at_us=moment("known_at"),
    )
    return view, tuple(degraded)


def _time(text: str, view: View, zone: tzinfo) -> TimeAsked:
    """What the words of a request say of time, seen from the moment that it asks about.

    A long one tells, with times of its own, before it asks.
    """
    at_us = view.as_of_us or view.now_us
    if not text:
        return TimeAsked(now_us=at_us)
    asking = last_words(text)
    named = time_words.windows(asking, Standpoint(at_us, zone))
    return TimeAsked(named, time_words.asks_for_newest(asking), at_us)


def _weights(request: pb.RecallRequest, at: str, default: Defaults) -> dict[Channel, float]:
    """Multipliers: 0 for channels that are not wanted, then the caller's own."""
    present = default.channels
    weights = {Channel.ROLE: default.role_weight}
    wanted = _wanted(request, at)
    if wanted:
        known = {CHANNELS[channel] for channel in wanted if channel in CHANNELS} & present
        if not known:
            raise InvalidRequest(
                f"{at}channels", "names only channels that this server does not have yet"
            )
        weights = {channel: 0.0 for channel in Channel if channel not in known}
    for i, item in enumerate(request.weights):
        number = validate.enum(item.channel, pb.Channel, f"{at}weights[{i}].channel")
        if CHANNELS.get(number) not in present:
            raise InvalidRequest(
                f"{at}weights[{i}].channel", "is not a channel that this server has"
            )
        weights[CHANNELS[number]] = validate.fraction(
            item.weight, f"{at}weights[{i}].weight", high=limits.WEIGHT_MAX
        )
    return weights


def _wanted(request: pb.RecallRequest, at: str) -> set[int]:
    """Channels that the request names."""
    if not request.channels:
        return set()
    return {validate.enum(channel, pb.Channel, f"{at}channels") for channel in request.channels} - {
        0
    }


def _cue_weight(
    request: pb.RecallRequest, weights: dict[Channel, float], default: Defaults
) -> float:
    """Multiplier of cues: the usual one, or the caller's where it says something of their channel.

    A memory is no request, so what is like one asks no cues.
    """
    if Channel.ROLE not in default.channels or request.WhichOneof("query") == "memory_id":
        return 0.0
    weight = weights.get(Channel.ROLE, 1.0)
    is_given = bool(set(request.channels) - {0}) or any(
        CHANNELS.get(item.channel) == Channel.ROLE for item in request.weights
    )
    return weight if is_given else weight or CUE_WEIGHT
