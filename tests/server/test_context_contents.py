"""What is in a context, and what never is."""

from __future__ import annotations

import pytest

from recalld.storage.record import Importance, Kind, Visibility
from recalld.v1 import recall_service_pb2 as pb
from tests.server.context_readers import JSON, MARKDOWN, XML
from tests.server.contexts import build
from tests.server.core import DAY_US, NOW_US, Core, memory, opened, scope

Section = pb.ContextSection
Drop = pb.DropReason


async def test_nobody_elses_nothing_past_nothing_private(core: Core) -> None:
    """No memory of another user or agent, none superseded, expired or forgotten is ever in."""
    await core.remember("u", memory("tea of the user"))
    await core.remember("other", memory("tea of another", importance=Importance.PINNED))
    await core.remember("u", memory("old tea", key="tea"), memory("new tea", key="tea"))
    await core.remember("u", memory("tea until today", valid_to=NOW_US + 1))
    await core.remember("u", memory("tea that expires", expire_time=NOW_US + 1))
    await core.remember("u", memory("private tea", visibility=Visibility.PRIVATE), agent="a")
    gone = await core.remember("u", memory("forgotten tea"))
    await core.forget("u", gone.results[0].id)
    core.clock.time_us = NOW_US + DAY_US
    for recall in ({}, {"min_score": 0.0}, {"include_superseded": True}):
        answer = await build(core, "tea", recall=recall)
        assert [item.text for item in answer.items] == [
            "- (1d user) tea of the user",
            "- (1d user) new tea",
        ]
    reasons = {item.reason for item in answer.omitted}
    assert reasons == {Drop.DROP_REASON_SUPERSEDED, Drop.DROP_REASON_EXPIRED}


async def test_what_was_true_then(core: Core) -> None:
    """A request about another time gets what held then, and does not say that this is all."""
    await core.remember("u", memory("old tea", key="tea", event_time=NOW_US - 9 * DAY_US))
    await core.remember("u", memory("new tea", key="tea"))
    request = pb.RecallRequest(scope=scope("u"), text="tea")
    request.as_of.FromMicroseconds(NOW_US - 5 * DAY_US)
    answer = await core.ask("BuildContext", pb.BuildContextRequest(recall=request))
    assert [item.text for item in answer.items] == ["- (9d user) old tea"]
    assert not answer.complete


async def test_shared_knowledge(core: Core) -> None:
    """Of shared partitions only what passes the cut goes in; everything means the user's own."""
    await core.remember("u", memory("likes tea"), memory("has a cat"))
    await core.remember("team", memory("the tea is in the kitchen"), memory("bicycles: cellar"))
    answer = await build(core, "tea", recall={"shared_user_ids": ["team"]})
    assert {item.text.split(") ")[1] for item in answer.items} == {
        "likes tea",
        "has a cat",
        "the tea is in the kitchen",
    }


@pytest.mark.parametrize("form", [MARKDOWN, XML, JSON])
async def test_stable_bytes(form: int) -> None:
    """The same store gives the same bytes, and a whole one also to another request."""
    texts = [f"tea {name}" for name in ("green", "black", "white", "blue", "red")]
    contexts = []
    for _ in range(2):
        async with opened() as core:
            for n, text in enumerate(texts):
                await core.remember("u", memory(text, kind=1 + n, importance=1 + n % 3))
            for request in ("green tea", "green tea", "black tea"):
                answer = await build(core, request, format=form)
                assert answer.complete
                contexts.append(answer.text)
            small = [await build(core, "green tea", format=form, token_budget=90) for _ in "ab"]
            assert small[0].text == small[1].text
    assert len({*contexts}) == 1


async def test_an_allergy_among_trifles(core: Core) -> None:
    """A lasting constraint is in, whatever many newer trifles say about the request's words."""
    await core.remember("u", memory("Allergic to peanuts", key="allergy"))
    for start in range(0, 300, 100):
        core.clock.time_us += DAY_US
        made = [memory(f"bought a snack at shop {start + n} today") for n in range(100)]
        await core.remember("u", *made)
    core.clock.time_us += 100 * DAY_US
    answer = await build(core, "recommend a snack at a shop", recall={"min_score": 0.0})
    assert "Allergic to peanuts" in answer.text
    assert answer.items[0].section == Section.CONTEXT_SECTION_FACTS


async def test_kinds_of_omitted(core: Core) -> None:
    """Near-duplicates are named as such, and a context without them still holds everything."""
    await core.remember("u", memory("I like tea"), memory("The user like tea."), memory("a cat"))
    answer = await build(core)
    assert answer.complete
    assert [item.reason for item in answer.omitted] == [Drop.DROP_REASON_DUPLICATE]
    assert answer.text.count("like tea") == 1


async def test_many_candidates_leave_the_loop(core: Core) -> None:
    """A budget for thousands of items is filled too, from more than a recall ever returns."""
    for start in range(0, 600, 200):
        await core.remember("u", *[memory(f"tea {start + n}", kind=Kind.EVENT) for n in range(200)])
    answer = await build(core, token_budget=32768)
    assert answer.complete
    assert len(answer.items) == 600
