"""Recall: what each field of a request does to the answer."""

from __future__ import annotations

import pytest

from recalld.server.errors import (
    DeadlinePassed,
    InvalidRequest,
    RevisionNotReached,
)
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import recall_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import (
    DAY_US,
    NOW_US,
    Core,
    condition,
    memory,
    must,
    scope,
    texts,
    timestamp,
)

Channel = pb.Channel
Abstain = pb.AbstainReason
Fusion = pb.Fusion
TEA = ["green tea with milk", "black tea with sugar", "tea from Assam", "tea kettle", "tea shop"]
OTHER = ["plays the bassoon", "lives in Leeds", "writes Go at work", "has two brothers"]


async def fill(core: Core, user: str = "u") -> list[str]:
    """Memories about tea and about other things; their ids."""
    made = [memory(text, event_time=NOW_US - n * DAY_US) for n, text in enumerate(TEA + OTHER)]
    return [result.id for result in (await core.remember(user, *made)).results]


async def test_finds_what_is_asked_for(core: Core) -> None:
    """A request brings back what it is about, best first, and not the rest."""
    await fill(core)
    answer = await core.recall("u", "black tea with sugar")
    assert texts(answer.hits)[0] == "black tea with sugar"
    assert not {*texts(answer.hits)} & {*OTHER}
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert not answer.abstained
    assert answer.revision == 1


@pytest.mark.parametrize("k", [1, 2, 9, 200])
async def test_k(core: Core, k: int) -> None:
    """At most k hits come, and with no cut as many as there are; the counts tell the rest."""
    await fill(core)
    answer = await core.recall("u", "tea", k=k, min_score=0.0)
    assert len(answer.hits) == min(k, 9)
    over = {item.reason: item.count for item in answer.excluded}
    assert over == ({pb.DropReason.DROP_REASON_OVER_K: 9 - k} if k < 9 else {})


async def test_smaller_k_is_a_prefix(core: Core) -> None:
    """The answer for a smaller k is the beginning of that for a larger one."""
    await fill(core)
    full = texts((await core.recall("u", "tea with milk", k=9, min_score=0.0)).hits)
    for k in range(1, 9):
        assert texts((await core.recall("u", "tea with milk", k=k, min_score=0.0)).hits) == full[:k]


async def test_default_k(core: Core) -> None:
    """Without a k there are five hits at most."""
    await core.remember("u", *[memory(f"tea number {n}") for n in range(9)])
    assert len((await core.recall("u", "tea", min_score=0.0)).hits) == 5


async def test_min_score_cuts(core: Core) -> None:
    """Exactly the hits that reach the lowest score come back, and below it an honest nothing."""
    await fill(core)
    everything = (await core.recall("u", "tea with milk", k=9, min_score=0.0)).hits
    middle = (everything[1].score + everything[2].score) / 2
    assert everything[1].score > middle > everything[2].score
    cut = await core.recall("u", "tea with milk", k=9, min_score=middle)
    assert texts(cut.hits) == texts(everything[:2])
    nothing = await core.recall("u", "tea with milk", min_score=1.0)
    assert (nothing.abstained, nothing.abstain_reason) == (
        True,
        Abstain.ABSTAIN_REASON_BELOW_CUT,
    )
    assert list(nothing.hits) == []


async def test_abstains_with_a_reason(core: Core) -> None:
    """An empty answer says whether nothing is known or nothing passes the filter."""
    await fill(core)
    unknown = await core.recall("nobody", "tea")
    assert unknown.abstain_reason == Abstain.ABSTAIN_REASON_NO_MEMORIES
    narrow = await core.recall("u", "tea", kinds=[8])
    assert narrow.abstain_reason == Abstain.ABSTAIN_REASON_NO_MATCH
    assert unknown.abstained
    assert narrow.abstained


async def test_kinds(core: Core) -> None:
    """Only the kinds asked for come back."""
    made = [memory(f"tea of kind {kind}", kind=kind) for kind in range(1, 9)]
    await core.remember("u", *made)
    answer = await core.recall("u", "tea", kinds=[2, 4], min_score=0.0, k=9)
    assert {hit.memory.kind for hit in answer.hits} == {2, 4}
    excluded = {item.reason: item.count for item in answer.excluded}
    assert excluded == {pb.DropReason.DROP_REASON_FILTER: 6}


async def test_only_the_user_asked_for(core: Core) -> None:
    """Another user's memories never come, but for the shared ones that are named."""
    await fill(core, "u")
    await fill(core, "v")
    await core.remember("docs", memory("tea ceremony handbook", kind=8))
    own = await core.recall("u", "tea", k=200, min_score=0.0)
    assert {hit.memory.scope.user_id for hit in own.hits} == {"u"}
    shared = await core.recall("u", "tea", k=200, min_score=0.0, shared_user_ids=["docs", "u"])
    assert {hit.memory.scope.user_id for hit in shared.hits} == {"u", "docs"}
    assert len(shared.hits) == 10
    scores = [hit.score for hit in shared.hits]
    assert scores == sorted(scores, reverse=True)
    alone = await core.recall("nobody", "tea", shared_user_ids=["docs"])
    assert texts(alone.hits) == ["tea ceremony handbook"]


async def test_memory_id(core: Core) -> None:
    """Memories like a given one come without itself; an unknown or foreign one is not found."""
    ids = await fill(core)
    other = (await core.remember("v", memory("tea"))).results[0].id
    answer = await core.recall("u", memory_id=ids[0], k=9, min_score=0.0)
    assert len(answer.hits) == 8
    assert ids[0] not in {hit.memory.id for hit in answer.hits}
    assert answer.hits[0].memory.content in TEA
    for bad in (other, "f" * 32):
        with pytest.raises(MemoryNotFound):
            await core.recall("u", memory_id=bad)


async def test_vector(core: Core) -> None:
    """A vector of the model asks like its text does, by meaning alone."""
    await fill(core)
    [vector] = core.embedder.embed(["black tea with sugar"], is_query=True)
    given = types_pb2.Vector(float32_le=(vector * 7).astype("<f4").tobytes())
    answer = await core.recall("u", vector=given, explain=True)
    assert texts(answer.hits)[0] == "black tea with sugar"
    [part] = answer.hits[0].parts.channels
    assert part.channel == Channel.CHANNEL_VECTOR
    assert part.raw == pytest.approx(1.0, abs=1e-6)


async def test_a_filter_alone_goes_by_the_time_of_the_event(core: Core) -> None:
    """What happened last comes first, also where it was stored first."""
    await core.remember("u", memory("late", key="k", key_cardinality=2, event_time=NOW_US))
    core.clock.time_us += DAY_US
    await core.remember(
        "u", memory("early", key="k", key_cardinality=2, event_time=NOW_US - DAY_US)
    )
    answer = await core.recall("u", filter=must(condition(key={"values": ["k"]})), k=9)
    assert texts(answer.hits) == ["late", "early"]


async def test_filter_alone(core: Core) -> None:
    """A filter without a request brings every match, newest first, without any embedding."""
    for day in (2, 5, 1, 4):
        core.clock.time_us = NOW_US + day
        await core.remember("u", memory(f"day {day}", key="k", kind=4, event_time=NOW_US + day))
    answer = await core.recall("u", filter=must(condition(key={"values": ["k"]})), k=9)
    assert texts(answer.hits) == ["day 5", "day 4", "day 2", "day 1"]
    assert all(list(hit.reasons) == ["matches the filter"] for hit in answer.hits)
    assert answer.timings.embed.ToMicroseconds() < 100_000
    none = await core.recall("u", filter=must(condition(key={"values": ["x"]})))
    assert none.abstain_reason == Abstain.ABSTAIN_REASON_NO_MATCH


async def test_superseded_only_when_asked(core: Core) -> None:
    """History comes only on request, marked by its status."""
    await core.remember("u", memory("lives in Leeds", key="home", event_time=NOW_US - DAY_US))
    await core.remember("u", memory("lives in York", key="home", event_time=NOW_US))
    await core.remember("u", memory("lives in a tent", expire_time=NOW_US + 1))
    core.clock.time_us += 2
    plain = await core.recall("u", "lives in", k=9, min_score=0.0)
    assert texts(plain.hits) == ["lives in York"]
    counts = {item.reason: item.count for item in plain.excluded}
    assert counts == {pb.DropReason.DROP_REASON_SUPERSEDED: 1, pb.DropReason.DROP_REASON_EXPIRED: 1}
    past = await core.recall("u", "lives in", k=9, min_score=0.0, include_superseded=True)
    assert {(hit.memory.content, hit.memory.status) for hit in past.hits} == {
        ("lives in York", 1),
        ("lives in Leeds", 2),
        ("lives in a tent", 4),
    }


async def test_as_of(core: Core) -> None:
    """At a time in the past holds what was true then, whenever it was stored."""
    for day, city in ((10, "Hull"), (0, "Leeds"), (5, "York")):
        await core.remember(
            "u", memory(f"lives in {city}", key="home", event_time=NOW_US - (20 - day) * DAY_US)
        )
    for day, city in ((0, "Leeds"), (4, "Leeds"), (5, "York"), (9, "York"), (10, "Hull")):
        moment = timestamp(NOW_US - (20 - day) * DAY_US)
        answer = await core.recall("u", "lives in", as_of=moment, min_score=0.0)
        assert texts(answer.hits) == [f"lives in {city}"], day
    before = await core.recall("u", "lives in", as_of=timestamp(NOW_US - 21 * DAY_US))
    assert before.abstained


async def test_known_at(core: Core) -> None:
    """At a record time in the past holds what the server knew then."""
    for day, city in ((1, "Leeds"), (3, "York")):
        core.clock.time_us = NOW_US + day * DAY_US
        await core.remember("u", memory(f"lives in {city}", key="home"))
    core.clock.time_us = NOW_US + 5 * DAY_US
    for day, cities in ((0, []), (1, ["lives in Leeds"]), (3, ["lives in York"])):
        moment = timestamp(NOW_US + day * DAY_US)
        answer = await core.recall("u", "lives in", known_at=moment, min_score=0.0)
        assert texts(answer.hits) == cities


async def test_min_revision(core: Core) -> None:
    """A revision that is not here yet fails; the present one does not."""
    revision = (await core.remember("u", memory("tea"))).revision
    await core.recall("u", "tea", min_revision=revision)
    with pytest.raises(RevisionNotReached, match=str(revision + 1)):
        await core.recall("u", "tea", min_revision=revision + 1)


async def test_same_question_same_answer(core: Core) -> None:
    """The same request at the same clock has the same answer, but for its name and timings."""
    await fill(core)
    answers = []
    for _ in range(3):
        answer = await core.recall("u", "tea with milk", explain=True)
        answer.ClearField("timings")
        answer.ClearField("recall_id")
        answers.append(answer.SerializeToString(deterministic=True))
    assert len(set(answers)) == 1


async def test_recall_changes_nothing(core: Core) -> None:
    """A recall leaves every memory and the revision as they were."""
    await fill(core)
    before = await core.listed("u"), core.writer.published("default")
    await core.recall("u", "tea", explain=True)
    assert (await core.listed("u"), core.writer.published("default")) == before


async def test_deadline(core: Core) -> None:
    """With no time for the embedder the words answer, and say so; with none at all it fails."""
    await fill(core)
    soon = core.clock.monotonic_s() + 0.004
    try:
        answer = await core.recall("u", "tea kettle", min_score=0.0, call={"deadline_s": soon})
    except DeadlinePassed:
        pass
    else:
        assert [*answer.degraded] in ([], ["embedder_deadline"])
        assert texts(answer.hits)[0] == "tea kettle"
    with pytest.raises(DeadlinePassed):
        await core.recall("u", "tea", call={"deadline_s": 0.0})


async def test_batch_answers_in_order(core: Core) -> None:
    """A batch has one answer a request, in order; one bad request fails all, by its place."""
    await fill(core)
    asked = [pb.RecallRequest(scope=scope("u"), text=text, k=1) for text in (*TEA[:2], OTHER[0])]
    batch = pb.BatchRecallRequest(requests=asked)
    answers = (await core.ask("BatchRecall", batch)).responses
    assert [texts(answer.hits) for answer in answers] == [[TEA[0]], [TEA[1]], [OTHER[0]]]
    batch.requests.add(scope=scope("u"), text="tea", k=0)
    with pytest.raises(InvalidRequest) as caught:
        await core.ask("BatchRecall", batch)
    assert caught.value.field == "requests[3].k"
    for count in (0, 33):
        with pytest.raises(InvalidRequest, match="requests"):
            await core.ask("BatchRecall", pb.BatchRecallRequest(requests=asked[:1] * count))
