"""Channels of the ranking by their numbers on the wire, and how much a request makes of each."""

from __future__ import annotations

from typing import NamedTuple

from recalld.scoring.params import Channel
from recalld.server import limits, validate
from recalld.server.errors import InvalidRequest
from recalld.v1 import recall_service_pb2 as pb

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


class Multipliers(NamedTuple):
    """How much is made of each channel.

    Attributes:
        weights: by channel, where it is not 1.
        cue: as `QueryPlan.cue_weight`.
    """

    weights: dict[Channel, float]
    cue: float


def multipliers(
    request: pb.RecallRequest, at: str, present: frozenset[Channel], role_weight: float
) -> Multipliers:
    """0 for channels that are not wanted, then the caller's own; cues as their channel.

    Args:
        request: as sent.
        at: path of its fields, "" or ending in a dot.
        present: channels that this server's model has.
        role_weight: multiplier of the role channel where the request says nothing of it.

    Raises:
        InvalidRequest: a channel or weight is malformed, or there is no such channel.
    """
    wanted, own = _wanted(request, at), request.weights
    weights = {Channel.ROLE: role_weight}
    if wanted:
        known = {CHANNELS[channel] for channel in wanted if channel in CHANNELS} & present
        if not known:
            raise InvalidRequest(
                f"{at}channels", "names only channels that this server does not have yet"
            )
        weights = {channel: 0.0 for channel in Channel if channel not in known}
    says_role = bool(wanted)
    for i, item in enumerate(own):
        number = validate.enum(item.channel, pb.Channel, f"{at}weights[{i}].channel")
        channel = CHANNELS.get(number)
        if channel is None or channel not in present:
            raise InvalidRequest(
                f"{at}weights[{i}].channel", "is not a channel that this server has"
            )
        weights[channel] = validate.fraction(
            item.weight, f"{at}weights[{i}].weight", high=limits.WEIGHT_MAX
        )
        says_role |= channel == Channel.ROLE
    cue = weights.get(Channel.ROLE, 1.0)
    # A memory is no request, so what is like one asks no cues.
    if Channel.ROLE not in present or request.WhichOneof("query") == "memory_id":
        return Multipliers(weights, 0.0)
    return Multipliers(weights, cue if says_role else cue or CUE_WEIGHT)


def _wanted(request: pb.RecallRequest, at: str) -> set[int]:
    """Channels that the request names."""
    named = request.channels
    if not named:
        return set()
    return {validate.enum(channel, pb.Channel, f"{at}channels") for channel in named} - {0}
