"""One recall seen whole: ranks, scores, parts and fates of its candidates."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalld.server.errors import TraceNotFound
from recalld.server.sections import TracesSection
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, NOW_US, Core, memory, opened, scope
from tests.server.test_explaining import fill, only, page, remade, traced

Drop = pb.DropReason
Channel = pb.Channel
WORDS = ("tea", "milk", "sugar", "Leeds", "bassoon", "茶", "牛奶", "E-1042", "brothers")


async def test_a_trace_holds_every_candidate(core: Core) -> None:
    """Every memory has its rank, its score, and its reason for being left out."""
    ids = await fill(core)
    await core.remember("u", memory("drinks tea at four", key="habit"))
    await core.remember("u", memory("drinks tea at five", key="habit"))
    answer = await core.recall("u", "black tea with sugar", k=2, min_score=0.1, explain=True)
    trace = await traced(core, answer.recall_id)
    assert [c.memory_id for c in trace.candidates[:2]] == [h.memory.id for h in answer.hits]
    assert [c.score for c in trace.candidates[:2]] == pytest.approx([h.score for h in answer.hits])
    ranked = [c for c in trace.candidates if c.rank]
    assert [c.rank for c in ranked] == list(range(1, 11))
    for place, candidate in enumerate(ranked):
        if place < 2:
            assert candidate.drop_reason == Drop.DROP_REASON_UNSPECIFIED
        elif candidate.score < 0.1:
            assert candidate.drop_reason == Drop.DROP_REASON_BELOW_CUT
        else:
            assert candidate.drop_reason == Drop.DROP_REASON_OVER_K
    assert {c.drop_reason for c in ranked} == {
        0,
        Drop.DROP_REASON_BELOW_CUT,
        Drop.DROP_REASON_OVER_K,
    }
    [old] = [c for c in trace.candidates if not c.rank]
    assert old.drop_reason == Drop.DROP_REASON_SUPERSEDED
    assert 0 < old.score < 1
    assert (trace.matched_count, trace.returned_count, trace.k) == (10, 2, 2)
    assert trace.min_score == pytest.approx(0.1)
    assert (trace.revision, trace.excluded) == (answer.revision, answer.excluded)
    assert trace.config_hash
    assert ids["lives in Leeds"] in {c.memory_id for c in ranked}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    stored=st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
            st.integers(1, 8),
            st.integers(1, 4),
            st.integers(0, 400),
            st.sampled_from(["", "tea", "home"]),
        ),
        min_size=1,
        max_size=8,
    ),
    asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    fusion=st.sampled_from([pb.Fusion.FUSION_WEIGHTED, pb.Fusion.FUSION_RRF]),
    weights=st.dictionaries(
        st.sampled_from([Channel.CHANNEL_VECTOR, Channel.CHANNEL_KEYWORD, Channel.CHANNEL_KEY]),
        st.floats(0, 10),
    ),
    k=st.integers(1, 4),
)
async def test_parts_make_the_score(
    stored: list[tuple[str, int, int, int, str]],
    asked: str,
    fusion: int,
    weights: dict[int, float],
    k: int,
) -> None:
    """The parts of every hit and every candidate make its score, within 1e-6."""
    async with opened() as core:
        for text, kind, importance, days, key in stored:
            made = memory(
                text,
                kind=kind,
                importance=importance,
                key=key,
                event_time=NOW_US - days * DAY_US,
                confidence=days / 400,
            )
            await core.remember("u", made)
        answer = await core.recall(
            "u",
            asked,
            explain=True,
            fusion=fusion,
            k=k,
            weights=[pb.ChannelWeight(channel=c, weight=w) for c, w in weights.items()],
        )
        trace = await traced(core, answer.recall_id)
        assert all(c.HasField("parts") for c in trace.candidates if c.rank)
        for part in [*answer.hits, *(c for c in trace.candidates if c.HasField("parts"))]:
            assert remade(part.parts) == pytest.approx(part.score, abs=1e-6)
        again = {c.memory_id: c for c in trace.candidates}
        for rank, hit in enumerate(answer.hits, start=1):
            assert again[hit.memory.id].rank == rank
            assert again[hit.memory.id].score == pytest.approx(hit.score, abs=1e-6)


async def test_explaining_changes_no_answer(core: Core) -> None:
    """The same request gets the same hits with and without a trace."""
    await fill(core)
    plain = await core.recall("u", "tea with sugar", k=4, min_score=0.0)
    asked = await core.recall("u", "tea with sugar", k=4, min_score=0.0, explain=True)
    assert [(h.memory, h.score) for h in plain.hits] == [(h.memory, h.score) for h in asked.hits]
    assert not plain.hits[0].HasField("parts") and asked.hits[0].HasField("parts")


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (1.0, 3)])
async def test_samples(share: float, count: int) -> None:
    """A share of 1 traces every recall of every kind, one of 0 none."""
    async with opened(traces=TracesSection(sample_share=share)) as core:
        await fill(core)
        await core.recall("u", "tea")
        await core.ask(
            "BuildContext", pb.BuildContextRequest(recall={"scope": scope("u"), "text": "tea"})
        )
        batch = pb.BatchRecallRequest(requests=[{"scope": scope("u"), "text": "milk"}])
        await core.ask("BatchRecall", batch)
        await core.traces.close()
        assert len((await page(core)).traces) == count


async def test_only_a_filter_asked(core: Core) -> None:
    """Where only a filter was asked, ranks are told, and no scores for what it left out."""
    await fill(core)
    other = (await core.remember("u", memory("an event", kind=4))).results[0].id
    answer = await core.recall("u", kinds=[1], k=3, explain=True)
    trace = await traced(core, answer.recall_id)
    assert [c.score for c in trace.candidates[:9]] == [1.0] * 9
    assert [c.drop_reason for c in trace.candidates[:9]] == [0] * 3 + [Drop.DROP_REASON_OVER_K] * 6
    left = await only(core, answer.recall_id, other)
    assert (left.drop_reason, left.HasField("parts")) == (Drop.DROP_REASON_FILTER, False)


async def test_shared_partitions(core: Core) -> None:
    """Candidates of all partitions stand in one order; a shared one's are told, too."""
    await fill(core)
    shared = (await core.remember("team", memory("tea is in the kitchen"))).results[0].id
    answer = await core.recall(
        "u", "tea is in the kitchen", shared_user_ids=["nobody", "team"], explain=True
    )
    trace = await traced(core, answer.recall_id)
    assert list(trace.shared_user_ids) == ["nobody", "team"]
    assert trace.candidates[0].memory_id == shared
    assert [c.rank for c in trace.candidates] == list(range(1, 11))
    scores = [c.score for c in trace.candidates]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(TraceNotFound):
        await traced(core, answer.recall_id, "team")


async def test_what_did_not_fit_a_context(core: Core) -> None:
    """In the trace of a context, what did not fit the budget is told as that."""
    await core.remember("u", *[memory(f"tea {n} " + "with a long story " * 9) for n in range(20)])
    request = pb.BuildContextRequest(token_budget=200)
    request.recall.scope.CopyFrom(scope("u"))
    request.recall.text = "tea"
    request.recall.explain = True
    built = await core.ask("BuildContext", request)
    trace = await traced(core, built.recall.recall_id)
    fates: dict[int, set[str]] = {}
    for candidate in trace.candidates:
        fates.setdefault(candidate.drop_reason, set()).add(candidate.memory_id)
    assert fates[0] == {item.memory_id for item in built.items}
    assert fates[Drop.DROP_REASON_OVER_BUDGET] == {item.memory_id for item in built.omitted}
