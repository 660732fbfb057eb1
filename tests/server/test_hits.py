"""Hits: the parts that make their scores, their bands, reasons and conflicts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, memory, scope, timestamp
from tests.server.test_recall import fill

Channel = pb.Channel
Fusion = pb.Fusion
Band = pb.ConfidenceBand
ASKED: list[dict[str, Any]] = [
    {},
    {"fusion": Fusion.FUSION_RRF},
    {"channels": [Channel.CHANNEL_VECTOR]},
    {"channels": [Channel.CHANNEL_KEYWORD], "fusion": Fusion.FUSION_RRF},
    {"weights": [pb.ChannelWeight(channel=Channel.CHANNEL_KEYWORD, weight=2.5)]},
    {"context": [types_pb2.Turn(role="user", text="I was in Assam")]},
    {"now": timestamp(NOW_US + 40 * DAY_US)},
]


@pytest.mark.parametrize("fields", ASKED)
async def test_parts_make_the_score(core: Core, fields: dict[str, Any]) -> None:
    """The parts of a hit give its score, by the formula of the contract."""
    await fill(core)
    mark = {"importance": 4, "confidence": 0.3, "stated_by": 2, "kind": 3, "key": "drink.tea"}
    await core.remember("u", memory("drink.tea E-1042 oolong", **mark))
    answer = await core.recall(
        "u", "drink.tea E-1042 tea with milk", k=9, min_score=0.0, explain=True, **fields
    )
    assert len(answer.hits) == 9
    for hit in answer.hits:
        parts = hit.parts
        total = sum(part.weight * part.normalised for part in parts.channels)
        if parts.fusion == Fusion.FUSION_RRF:
            base = total
        else:
            base = 1 / (1 + math.exp(-(parts.bias + total)))
        assert parts.base == pytest.approx(base, abs=1e-6)
        product = parts.base * parts.decay * parts.importance * parts.confidence
        assert hit.score == pytest.approx(product, abs=1e-6)
        assert all(0 <= part.normalised <= 1 for part in parts.channels)


async def test_parts_only_on_request(core: Core) -> None:
    """Without `explain` a hit has no parts."""
    await fill(core)
    assert not (await core.recall("u", "tea")).hits[0].HasField("parts")


async def test_conflicts_are_reported(core: Core) -> None:
    """Memories that contradict each other come back with their group."""
    await core.remember("u", memory("lives in Leeds", key="home"))
    await core.remember("u", memory("lives in York", key="home", stated_by=2))
    answer = await core.recall("u", "lives in", min_score=0.0)
    [group] = answer.conflicts
    assert {*group.memory_ids} == {hit.memory.id for hit in answer.hits}
    assert len(group.memory_ids) == 2


async def test_a_conflict_names_all_sides(core: Core) -> None:
    """However few hits are asked for, their conflict has every member, hits first."""
    one = await core.remember("u", memory("lives in Leeds", key="home"))
    other = await core.remember("u", memory("lives in York", key="home", stated_by=2))
    answer = await core.recall("u", "lives in", k=1, min_score=0.0)
    [hit], [group] = answer.hits, answer.conflicts
    assert group.memory_ids[0] == hit.memory.id
    assert {*group.memory_ids} == {one.results[0].id, other.results[0].id}


async def test_band_needs_two_witnesses(core: Core) -> None:
    """A hit is HIGH when words and meaning agree, or a key or identifier is named; else LOW."""
    await fill(core)
    await core.remember("u", memory("calls the office", key="work.phone"))
    await core.remember("u", memory("Error E-1042 came up"))
    for text, content, band, reason in (
        ("green tea with milk", "green tea with milk", "HIGH", "shared words"),
        ("work.phone", "calls the office", "HIGH", "exact key: work.phone"),
        ("E-1042", "Error E-1042 came up", "HIGH", "exact identifier"),
    ):
        hit = (await core.recall("u", text, min_score=0.0)).hits[0]
        assert hit.memory.content == content
        assert hit.band == Band.Value(f"CONFIDENCE_BAND_{band}")
        assert reason in hit.reasons
    [vector] = core.embedder.embed(["green tea"], is_query=True)
    given = types_pb2.Vector(float32_le=vector.astype("<f4").tobytes())
    alone = await core.recall("u", vector=given, min_score=0.0)
    assert {hit.band for hit in alone.hits} == {Band.CONFIDENCE_BAND_LOW}


async def test_counts_of_what_was_left_out(core: Core) -> None:
    """Every memory that did not come back is counted once, under its reason."""
    await fill(core)
    await core.remember("u", memory("old", key="k"), memory("new", key="k"))
    gone = (await core.remember("u", memory("gone"))).results[0].id
    await core.forget("u", gone)
    await core.remember("u", memory("hidden", visibility=2), agent="a")
    answer = await core.recall("u", "tea", kinds=[1], k=3, min_score=0.0)
    counts = {
        pb.DropReason.Name(item.reason).removeprefix("DROP_REASON_"): item.count
        for item in answer.excluded
    }
    assert counts == {"SUPERSEDED": 1, "FORGOTTEN": 1, "VISIBILITY": 1, "OVER_K": 7}
    assert len(answer.hits) + sum(counts.values()) == 13


@pytest.mark.parametrize("fusion", [pb.Fusion.FUSION_WEIGHTED, pb.Fusion.FUSION_RRF])
@pytest.mark.parametrize(
    ("text", "place", "channels", "reasons"),
    [
        ("green tea with milk", 0, [], ["shared words", "similar meaning"]),
        ("green tea with milk", 0, [pb.Channel.CHANNEL_KEYWORD], ["shared words"]),
        ("green tea with milk", 0, [pb.Channel.CHANNEL_VECTOR], ["similar meaning"]),
        ("xylophone", 0, [pb.Channel.CHANNEL_KEYWORD], ["no evidence"]),
        ("xylophone", 8, [], ["weak similarity"]),
    ],
)
async def test_reasons_are_evidence_and_not_ranks(
    core: Core, fusion: int, text: str, place: int, channels: list[int], reasons: list[str]
) -> None:
    """Reasons name what speaks for a memory by itself, whichever way channels are fused."""
    await fill(core)
    answer = await core.recall("u", text, channels=channels, fusion=fusion, min_score=0.0, k=9)
    assert list(answer.hits[place].reasons) == reasons


async def test_a_batch_has_the_same_reasons(core: Core) -> None:
    """A recall in a batch gives the reasons, bands and parts of the recall alone."""
    await fill(core)
    alone = await core.recall("u", "green tea", explain=True)
    request = pb.RecallRequest(scope=scope("u"), text="green tea", explain=True)
    batch = await core.ask("BatchRecall", pb.BatchRecallRequest(requests=[request, request]))
    for answer in batch.responses:
        assert list(answer.hits) == list(alone.hits)
        assert answer.hits[0].HasField("parts")
