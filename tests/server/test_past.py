"""Words of time from request to answer, and memories past their time."""

from __future__ import annotations

import pytest

from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, Core, memory, scope, texts

STATE, EVENT = 3, 4
HIGH = pb.ConfidenceBand.CONFIDENCE_BAND_HIGH
WEEK = "working from the Lisbon office this week"


async def test_a_state_past_its_week_is_doubted(core: Core) -> None:
    """A state is HIGH in its week, and after it neither HIGH nor before what is current."""
    await core.remember("u", memory(WEEK, kind=STATE))
    await core.remember("u", memory("the Lisbon office has a roof terrace"))
    fresh = (await core.recall("u", "working from the Lisbon office")).hits
    assert fresh[0].memory.content == WEEK
    assert (fresh[0].band, "past its time" in fresh[0].reasons) == (HIGH, False)
    core.clock.time_us += 7 * DAY_US
    later = (await core.recall("u", "working from the Lisbon office", min_score=0.0)).hits
    assert texts(later) == ["the Lisbon office has a roof terrace", WEEK]
    assert (later[1].band == HIGH, later[1].reasons[-1]) == (False, "past its time")
    assert later[1].memory.status == 1


async def test_asking_of_its_time_finds_it(core: Core) -> None:
    """A request that names the days of a state, or looks from then, gets it as it was."""
    await core.remember("u", memory(WEEK, kind=STATE))
    then = core.clock.time_us
    core.clock.time_us += 7 * DAY_US
    for text, fields in (("which office last week", {}), ("Lisbon office", {"as_of": then})):
        if "as_of" in fields:
            fields = {"as_of": memory("", event_time=then).event_time}
        hit = (await core.recall("u", text, **fields)).hits[0]
        assert "past its time" not in hit.reasons


async def test_saying_it_again_renews_it(core: Core) -> None:
    """Said again, the words are those of the later day."""
    await core.remember("u", memory(WEEK, kind=STATE))
    core.clock.time_us += 7 * DAY_US
    await core.remember("u", memory(WEEK, kind=STATE))
    hit = (await core.recall("u", "Lisbon office")).hits[0]
    assert "past its time" not in hit.reasons


async def test_an_announced_event_is_marked_and_keeps_its_score(core: Core) -> None:
    """An event that has been is not HIGH, says so, and scores as before."""
    await core.remember("u", memory("dentist appointment tomorrow", kind=EVENT))
    core.clock.time_us += DAY_US // 2
    before = (await core.recall("u", "dentist appointment")).hits[0]
    core.clock.time_us += 3 * DAY_US
    after = (await core.recall("u", "dentist appointment", explain=True)).hits[0]
    assert (before.band, after.band == HIGH) == (HIGH, False)
    assert after.reasons[-1] == "past its time"
    assert after.parts.decay == pytest.approx(0.7)


async def test_an_event_with_a_time_ahead_is_marked_after_it(core: Core) -> None:
    """An appointment whose time is given, not said, is current until its day is over."""
    when = core.clock.time_us + 3 * DAY_US
    await core.remember("u", memory("dentist appointment", kind=EVENT, event_time=when))
    before = (await core.recall("u", "dentist appointment")).hits[0]
    core.clock.time_us += 5 * DAY_US
    after = (await core.recall("u", "dentist appointment")).hits[0]
    assert (before.band, "past its time" in before.reasons) == (HIGH, False)
    assert (after.band == HIGH, after.reasons[-1]) == (False, "past its time")


async def test_the_context_says_so(core: Core) -> None:
    """A context that holds everything keeps what is past apart and says that it is."""
    await core.remember("u", memory(WEEK, kind=STATE), memory("likes tea"))
    core.clock.time_us += 7 * DAY_US
    request = pb.BuildContextRequest(recall=pb.RecallRequest(scope=scope("u"), text="Lisbon tea"))
    built = await core.ask("BuildContext", request)
    possibly = pb.ContextSection.CONTEXT_SECTION_POSSIBLY_RELEVANT
    (item,) = [item for item in built.items if "Lisbon" in item.text]
    assert (item.section, "past its time" in item.text) == (possibly, True)


async def test_the_window_of_a_request_ranks(core: Core) -> None:
    """Of two like events the one in the time asked about comes first, and says why."""
    for days in (1, 30):
        when = core.clock.time_us - days * DAY_US
        await core.remember("u", memory("dinner with Priya", kind=EVENT, event_time=when))
    answer = await core.recall("u", "昨天 dinner with Priya", explain=True)
    first, second = answer.hits
    assert first.memory.event_time.seconds > second.memory.event_time.seconds
    assert "in the time asked about" in first.reasons
    assert "in the time asked about" not in second.reasons
    assert pb.Channel.CHANNEL_TIME in [part.channel for part in first.parts.channels]


async def test_the_later_of_like_statements_comes_first(core: Core) -> None:
    """Of nearly equal statements the later one leads, for any k, and the parts still add up."""
    old = "the thesis draft has 4000 words in it now, says the counter of the editor"
    new = "the thesis draft has 6000 words in it now, says the counter of the editor"
    # The old one is more important, so it would lead by its score.
    for text, importance in ((old, 4), (new, 1)):
        await core.remember("u", memory(text, kind=EVENT, importance=importance))
        core.clock.time_us += DAY_US
    asked = "how many words has the thesis draft?"
    hits = (await core.recall("u", asked, explain=True)).hits
    assert texts(hits) == [new, old]
    for hit in hits:
        parts = hit.parts
        product = parts.base * parts.decay * parts.importance * parts.confidence
        assert abs(product - hit.score) < 1e-6
    assert texts((await core.recall("u", asked, k=1)).hits) == [new]
