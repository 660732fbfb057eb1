"""Traces: every candidate with its fate, "why not this one?", and who may ask."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalld.server.config import TracesSection
from recalld.server.errors import InvalidPageToken, InvalidRequest, TraceNotFound
from recalld.storage.errors import MemoryNotFound
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, opened, scope

Drop = pb.DropReason
Channel = pb.Channel
TEA = ["green tea with milk", "black tea with sugar", "tea from Assam", "tea kettle", "tea shop"]
OTHER = ["plays the bassoon", "lives in Leeds", "writes Go at work", "has two brothers"]
WORDS = ("tea", "milk", "sugar", "Leeds", "bassoon", "茶", "牛奶", "E-1042", "brothers")


async def fill(core: Core, user: str = "u") -> dict[str, str]:
    """Memories about tea and about other things; ids by content."""
    made = [memory(text, event_time=NOW_US - n * DAY_US) for n, text in enumerate(TEA + OTHER)]
    results = (await core.remember(user, *made)).results
    return dict(zip(TEA + OTHER, [result.id for result in results], strict=True))


async def traced(
    core: Core, recall_id: str, user: str = "u", memory_id: str = "", agent: str = ""
) -> Any:
    request = pb.GetRecallTraceRequest(
        scope=scope(user, agent), recall_id=recall_id, memory_id=memory_id
    )
    return (await core.ask("GetRecallTrace", request)).trace


async def only(core: Core, recall_id: str, memory_id: str, **more: Any) -> Any:
    """What became of one memory."""
    [candidate] = (await traced(core, recall_id, memory_id=memory_id, **more)).candidates
    return candidate


async def page(core: Core, user: str = "u", **fields: Any) -> Any:
    request = pb.ListRecallTracesRequest(scope=scope(user), **fields)
    return await core.ask("ListRecallTraces", request)


def remade(parts: pb.ScoreParts) -> float:
    """The score that the parts make, by the formulas of the contract."""
    total = math.fsum(part.weight * part.normalised for part in parts.channels)
    if parts.fusion == pb.Fusion.FUSION_WEIGHTED:
        total = 1.0 if math.isinf(parts.bias) else 1 / (1 + math.exp(-(parts.bias + total)))
    return total * parts.decay * parts.importance * parts.confidence


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


async def test_only_asked_recalls_are_traced(core: Core) -> None:
    """Without `explain` and without sampling nothing is kept."""
    await fill(core)
    answer = await core.recall("u", "tea")
    with pytest.raises(TraceNotFound):
        await traced(core, answer.recall_id)
    assert (await page(core)).traces == []


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


@pytest.mark.parametrize(
    ("made", "fields", "reason"),
    [
        ({"kind": 4}, {"kinds": [1]}, "FILTER"),
        ({"key": "k"}, {"filter": must(condition(key={"values": ["other"]}))}, "FILTER"),
        ({"valid_to": NOW_US - DAY_US, "event_time": NOW_US - 9 * DAY_US}, {}, "EXPIRED"),
        ({"event_time": NOW_US}, {"as_of": NOW_US - 2 * DAY_US}, "NOT_VALID_THEN"),
        ({}, {"known_at": NOW_US - DAY_US}, "NOT_YET_KNOWN"),
        ({}, {"min_score": 1.0}, "BELOW_CUT"),
    ],
)
async def test_why_one_was_left_out(
    core: Core, made: dict[str, Any], fields: dict[str, Any], reason: str
) -> None:
    """Each reason is told of the memory that it concerns, with the score it would have had."""
    for name in ("as_of", "known_at"):
        if name in fields:
            fields = fields | {name: {"seconds": fields[name] // 1_000_000}}
    kept = (await core.remember("u", memory("likes oolong", **made))).results[0].id
    answer = await core.recall("u", "likes oolong", explain=True, **fields)
    candidate = await only(core, answer.recall_id, kept)
    assert candidate.drop_reason == Drop.Value(f"DROP_REASON_{reason}")
    assert candidate.rank == (1 if reason == "BELOW_CUT" else 0)
    assert remade(candidate.parts) == pytest.approx(candidate.score, abs=1e-6)
    assert candidate.score > 0.5
    assert not candidate.recomputed


async def test_the_memory_asked_with(core: Core) -> None:
    """The memory that a recall was asked with is told as that."""
    ids = await fill(core)
    asked_with = ids["tea shop"]
    answer = await core.recall("u", memory_id=asked_with, explain=True)
    assert (await only(core, answer.recall_id, asked_with)).drop_reason == Drop.DROP_REASON_IS_QUERY


async def test_one_beyond_those_kept(core: Core) -> None:
    """A memory beyond the 200 kept is judged anew, with rank, score and reason, and says so."""
    await core.remember("u", *[memory(f"cup of tea number {n}") for n in range(205)])
    odd = (await core.remember("u", memory("plays the bassoon"))).results[0].id
    answer = await core.recall("u", "cup of tea", k=3, explain=True, min_score=0.0)
    trace = await traced(core, answer.recall_id)
    assert [c.rank for c in trace.candidates] == list(range(1, 201))
    assert odd not in {c.memory_id for c in trace.candidates}
    found = await only(core, answer.recall_id, odd)
    assert (found.rank, found.drop_reason) == (206, Drop.DROP_REASON_OVER_K)
    assert found.recomputed and not found.changed_since
    assert remade(found.parts) == pytest.approx(found.score, abs=1e-6)
    assert 0 < found.score < trace.candidates[-1].score


async def test_one_stored_later(core: Core) -> None:
    """A memory stored after the recall was not yet known to it."""
    await fill(core)
    answer = await core.recall("u", "tea", explain=True)
    core.clock.time_us += DAY_US
    later = (await core.remember("u", memory("white tea"))).results[0].id
    found = await only(core, answer.recall_id, later)
    assert found.drop_reason == Drop.DROP_REASON_NOT_YET_KNOWN
    assert found.recomputed and found.changed_since


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


async def test_traces_outlive_the_server() -> None:
    """After a restart the kept candidates answer; for others the reason of the refusal is clear."""
    image = MemoryImage()
    async with opened(MemoryStore(image)) as core:
        await core.remember("u", *[memory(f"cup of tea number {n}") for n in range(205)])
        odd = (await core.remember("u", memory("plays the bassoon"))).results[0].id
        answer = await core.recall("u", "cup of tea", k=3, explain=True, min_score=0.0)
        before = await traced(core, answer.recall_id)
    async with opened(MemoryStore(image)) as core:
        assert await traced(core, answer.recall_id) == before
        last = before.candidates[-1]
        assert await only(core, answer.recall_id, last.memory_id) == last
        with pytest.raises(TraceNotFound, match="recall again with explain"):
            await only(core, answer.recall_id, odd)
        core.clock.time_us += DAY_US
        later = (await core.remember("u", memory("white tea"))).results[0].id
        found = await only(core, answer.recall_id, later)
        assert found.drop_reason == Drop.DROP_REASON_NOT_YET_KNOWN


async def test_others_see_nothing(core: Core) -> None:
    """A trace of another user, and a memory of another user, are not found."""
    ids = await fill(core)
    foreign = (await fill(core, "v"))["tea shop"]
    answer = await core.recall("u", "tea", explain=True)
    with pytest.raises(TraceNotFound):
        await traced(core, answer.recall_id, "v")
    with pytest.raises(TraceNotFound):
        await traced(core, answer.recall_id, "nobody")
    with pytest.raises(MemoryNotFound):
        await only(core, answer.recall_id, foreign)
    with pytest.raises(MemoryNotFound):
        await only(core, answer.recall_id, "f" * 32)
    assert (await page(core, "v")).traces == []
    assert (await only(core, answer.recall_id, ids["tea shop"])).memory_id == ids["tea shop"]


async def test_what_an_agent_keeps_private(core: Core) -> None:
    """A private memory shows in the trace of its own agent only."""
    await fill(core)
    made = (await core.remember("u", memory("secret tea", visibility=2), agent="a")).results[0].id
    own = await core.recall("u", "secret tea", agent="a", explain=True)
    assert (await only(core, own.recall_id, made, agent="a")).rank == 1
    seen = {c.memory_id for c in (await traced(core, own.recall_id, agent="b")).candidates}
    assert len(seen) == 9 and made not in seen
    with pytest.raises(MemoryNotFound):
        await only(core, own.recall_id, made, agent="b")
    other = await core.recall("u", "secret tea", agent="b", explain=True)
    found = await only(core, other.recall_id, made, agent="a")
    assert (found.drop_reason, found.score) == (Drop.DROP_REASON_VISIBILITY, 0.0)


async def test_of_a_forgotten_memory_only_the_id_is_told(core: Core) -> None:
    """Once forgotten, a memory's score and parts are gone from every trace."""
    ids = await fill(core)
    gone = ids["tea shop"]
    answer = await core.recall("u", "tea shop", explain=True)
    assert (await only(core, answer.recall_id, gone)).score > 0
    await core.forget("u", gone)
    bare = pb.TraceCandidate(memory_id=gone, drop_reason=Drop.DROP_REASON_FORGOTTEN)
    assert await only(core, answer.recall_id, gone) == bare
    assert bare in list((await traced(core, answer.recall_id)).candidates)


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


async def test_lists(core: Core) -> None:
    """Lists are paged, newest first, without candidates, and hold each trace once."""
    await fill(core)
    made = []
    for number in range(5):
        core.clock.time_us += 1_000_000
        made.append((await core.recall("u", f"tea {number}", explain=True)).recall_id)
        if number == 2:
            await core.traces.close()
    first = await page(core, page_size=2)
    second = await page(core, page_size=2, page_token=first.next_page_token)
    third = await page(core, page_size=2, page_token=second.next_page_token)
    assert third.next_page_token == ""
    listed = [t for answer in (first, second, third) for t in answer.traces]
    assert [t.recall_id for t in listed] == made[::-1]
    assert not any(t.candidates for t in listed)
    assert [t.matched_count for t in listed] == [9] * 5
    with pytest.raises(InvalidPageToken):
        await page(core, "v", page_token=first.next_page_token)


async def test_bad_requests(core: Core) -> None:
    """An empty or overlong recall id and a negative page size are refused by name."""
    for fields, field in (({}, "recall_id"), ({"recall_id": "r" * 257}, "recall_id")):
        with pytest.raises(InvalidRequest) as refused:
            await core.ask("GetRecallTrace", pb.GetRecallTraceRequest(scope=scope("u"), **fields))
        assert refused.value.field == field
    with pytest.raises(InvalidRequest, match="page_size"):
        await page(core, page_size=-1)
    with pytest.raises(TraceNotFound):
        await traced(core, "no such recall")
