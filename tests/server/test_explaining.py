"""Traces: every candidate with its fate, "why not this one?", and who may ask."""

from __future__ import annotations

import math
from typing import Any

import pytest

from recalld.server.errors import InvalidPageToken, InvalidRequest, TraceNotFound
from recalld.storage.errors import MemoryNotFound
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, NOW_US, Core, condition, memory, must, opened, scope

Drop = pb.DropReason
TEA = ["green tea with milk", "black tea with sugar", "tea from Assam", "tea kettle", "tea shop"]
OTHER = ["plays the bassoon", "lives in Leeds", "writes Go at work", "has two brothers"]


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


async def test_only_asked_recalls_are_traced(core: Core) -> None:
    """Without `explain` and without sampling nothing is kept."""
    await fill(core)
    answer = await core.recall("u", "tea")
    with pytest.raises(TraceNotFound):
        await traced(core, answer.recall_id)
    assert (await page(core)).traces == []


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
