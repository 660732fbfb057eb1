"""A recall request, checked: bad fields are named, and times are those that were asked about."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.server.errors import ContradictoryFilter, InvalidRequest, PermissionDenied
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, scope, texts, timestamp
from tests.server.test_recall import fill


async def test_future_times_are_clamped_and_said(core: Core) -> None:
    """A time in the future means now, and the answer says so."""
    await fill(core)
    later = timestamp(NOW_US + DAY_US)
    now = await core.recall("u", "tea", k=9)
    answer = await core.recall("u", "tea", k=9, as_of=later, known_at=later)
    assert [*answer.degraded] == ["as_of_clamped", "known_at_clamped"]
    assert texts(answer.hits) == texts(now.hits)


async def test_own_clock(core: Core) -> None:
    """An administrator may ask at another clock; age counts from there; others may not."""
    await core.remember("u", memory("tea at noon", kind=4))
    fields = {"now": timestamp(NOW_US + 30 * DAY_US), "explain": True, "min_score": 0.0}
    fresh = (await core.recall("u", "tea", explain=True, min_score=0.0)).hits[0]
    old = (await core.recall("u", "tea", **fields)).hits[0]
    assert fresh.parts.decay == 1.0
    assert old.parts.decay == pytest.approx(0.7, abs=1e-3)
    with pytest.raises(PermissionDenied):
        await core.recall("u", "tea", call={"admin": False}, **fields)


NAN = float("nan")
BAD: list[tuple[dict[str, Any], str]] = [
    ({"scope": types_pb2.Scope()}, "scope.user_id"),
    ({"scope": types_pb2.Scope(user_id=" ")}, "scope.user_id"),
    ({"text": ""}, "text"),
    ({"text": "x" * 8193}, "text"),
    ({"text": None}, "query"),
    ({"k": 0}, "k"),
    ({"k": -1}, "k"),
    ({"k": 201}, "k"),
    ({"k": 1_000_000_000}, "k"),
    ({"min_score": NAN}, "min_score"),
    ({"min_score": 1.01}, "min_score"),
    ({"min_score": -0.01}, "min_score"),
    ({"kinds": [1, 0]}, "kinds"),
    ({"kinds": [99]}, "kinds"),
    ({"fusion": 3}, "fusion"),
    ({"channels": [77]}, "channels"),
    ({"weights": [pb.ChannelWeight(channel=1, weight=NAN)]}, "weights[0].weight"),
    ({"weights": [pb.ChannelWeight(channel=1, weight=10.5)]}, "weights[0].weight"),
    ({"weights": [pb.ChannelWeight(channel=0, weight=1)]}, "weights[0].channel"),
    ({"context": [types_pb2.Turn(role="king", text="x")]}, "context[0].role"),
    ({"context": [types_pb2.Turn(role="user", text=" ")]}, "context[0].text"),
    (
        {"context": [types_pb2.Turn(role="user", text="x", time=timestamp(-(10**16)))]},
        "context[0].time",
    ),
    (
        {"context": [types_pb2.Turn(role="user", text="x", message_id="\x00")]},
        "context[0].message_id",
    ),
    ({"context": [types_pb2.Turn(role="user", text="x")] * 17}, "context"),
    ({"shared_user_ids": ["a", ""]}, "shared_user_ids[1]"),
    ({"shared_user_ids": list("abcdefghi")}, "shared_user_ids"),
    ({"as_of": timestamp(-(10**16))}, "as_of"),
    ({"known_at": timestamp(10**16)}, "known_at"),
    ({"now": timestamp(10**16)}, "now"),
    ({"text": None, "memory_id": ""}, "memory_id"),
    ({"text": None, "vector": types_pb2.Vector()}, "vector"),
    ({"text": None, "vector": types_pb2.Vector(float32_le=b"\0" * 12)}, "vector"),
    ({"filter": must(types_pb2.Condition())}, "filter.must[0]"),
]


@pytest.mark.parametrize(("fields", "named"), BAD)
@pytest.mark.parametrize("user", ["u", "nobody"])
async def test_refusals(core: Core, fields: dict[str, Any], named: str, user: str) -> None:
    """A bad field is refused by its path, whether anything is known of the user or not."""
    await fill(core)
    request = pb.RecallRequest(**{"scope": scope(user), "text": "tea", **fields})
    with pytest.raises(InvalidRequest) as caught:
        await core.ask("Recall", request)
    assert caught.value.field == named


async def test_contradictory_filter(core: Core) -> None:
    """A filter that can match nothing is an error of its own, for unknown users too."""
    empty = types_pb2.TimeRange(**{"from": timestamp(NOW_US), "to": timestamp(NOW_US)})
    for user in ("u", "nobody"):
        with pytest.raises(ContradictoryFilter):
            await core.recall(user, "tea", filter=must(condition(event_time=empty)))
