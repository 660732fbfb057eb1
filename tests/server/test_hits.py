"""Hits: the parts that make their scores, their bands, reasons and conflicts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.plan import Ranking
from recalld.scoring.best import IS_PAST, PART_COUNT, SCORE
from recalld.scoring.masks import EXCLUDED_COUNT
from recalld.scoring.params import Channel as Source
from recalld.scoring.params import Doubt
from recalld.scoring.params import Fusion as Plain
from recalld.scoring.rank import Weights
from recalld.server.hits import make_hits, wire_hit
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, memory, scope, timestamp
from tests.server.ranked import HIGH, LOW, record
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


def said_of(values: list[float], key: str, cue: str) -> tuple[bool, list[str]]:
    """Whether channels agree on a memory, and what speaks for it: the rules, one by one."""
    says = dict(zip(Source, values, strict=True))
    words, near = says[Source.KEYWORD] >= 0.15, says[Source.VECTOR] >= 0.5
    needed = says[Source.RELEVANCE] >= 0.5
    role = f"a cue of the writer: {cue}" if cue else "its role matters in this situation"
    reasons = [
        reason
        for holds, reason in (
            (says[Source.KEY] > 0, f"exact key: {key}"),
            (says[Source.IDENTIFIER] > 0, "exact identifier"),
            (words, "shared words"),
            (near, "similar meaning"),
            (says[Source.TIME] >= 1, "in the time asked about"),
            (needed, "matters to such requests"),
            (says[Source.RELATION] >= 0.25, "beside what was asked for"),
            (says[Source.ROLE] >= 0.1, role),
        )
        if holds
    ]
    if not reasons:
        is_faint = says[Source.VECTOR] > 0 or says[Source.RELEVANCE] > 0
        faint = "weak similarity" if is_faint else "no evidence"
        reasons = ["few shared words" if says[Source.KEYWORD] > 0 else faint]
    agreed = says[Source.KEY] > 0 or says[Source.IDENTIFIER] > 0
    agreed = agreed or (near and says[Source.RELEVANCE] >= 0.7) or (words and (near or needed))
    told = cue != "" and says[Source.ROLE] >= 0.5
    return agreed or (told and (near or needed or words)), reasons


LEVELS = st.sampled_from([0.0, 1e-6, 0.1, 0.15, 0.25, 0.4, 0.5, 0.7, 0.99, 1.0])
MADE = st.tuples(
    st.lists(LEVELS, min_size=len(Source), max_size=len(Source)),
    st.sampled_from([0.3, 0.5, 0.9]),  # score
    st.booleans(),  # past
    st.sampled_from([*Doubt]),
    st.sampled_from([-1, 0, 1]),  # cue
    st.booleans(),  # heir
    st.booleans(),  # what outweighs it is not the asker's to see
)


@given(
    st.lists(MADE, max_size=5),
    st.lists(st.booleans(), min_size=len(Source), max_size=len(Source)),
    st.booleans(),
)
def test_bands_and_reasons_follow_the_rules(
    made: list[tuple[Any, ...]], asked: list[bool], explain: bool
) -> None:
    """Every hit has the band and reasons of the naive rules, and is decoded as it was encoded."""
    count = len(made)
    said = np.array([one[0] * 2 for one in made], np.float32).reshape(count, 2 * len(Source))
    parts = np.zeros((count, PART_COUNT), np.float32)
    parts[:, SCORE] = [one[1] for one in made]
    parts[:, IS_PAST] = [one[2] for one in made]
    weights = Weights(Plain.WEIGHTED, np.array(asked, np.float32), -1.0)
    numbers = np.arange(1, count + 1)
    ranking = Ranking(
        *(numbers, numbers, parts, said, said, weights),
        doubts=np.array([one[3] for one in made], np.uint8),
        matched=count,
        considered=count,
        excluded=np.zeros(EXCLUDED_COUNT, np.int64),
        cues=np.array([one[4] for one in made], np.int64),
        inherited=np.array([one[5] for one in made], np.bool_),
    )
    records = {
        n: record(
            "x", n, key=f"k{n}", relevant_when=("snacks",), superseded_by="" if one[6] else "f"
        )
        for n, one in enumerate(made, start=1)
    }
    found = make_hits(ranking, records.get)
    against = ("", "possibly outdated", "contradicted by a stronger speaker", "only mused about")
    for hit, (values, score, past, stored, cue, heir, hidden) in zip(found, made, strict=True):
        doubt = Doubt.NONE if hidden and stored != Doubt.TENTATIVE else stored
        heard = [float(np.float32(v)) if asked[n] else 0.0 for n, v in enumerate(values)]
        agreed, reasons = said_of(heard, hit.record.key, "snacks" if cue == 0 else "")
        reasons += ["answers for what it replaced"] * heir + ["past its time"] * past
        reasons += [against[doubt]] * (doubt > 0)
        is_high = agreed and score >= 0.5 and not past and not doubt
        wire = pb.Hit.FromString(wire_hit(hit, b"", with_parts=explain))
        assert list(wire.reasons) == list(hit.reasons) == reasons
        assert wire.band == hit.band == (HIGH if is_high else LOW)
        assert wire.score == hit.score == float(np.float32(score))
        assert wire.HasField("parts") == explain
