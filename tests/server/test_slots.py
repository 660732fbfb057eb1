"""What happens when a new value meets the current one of its slot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.v1 import memory_service_pb2, types_pb2
from tests.server.core import DAY_US, HOUR_US, NOW_US, Core, memory, opened

Outcome = memory_service_pb2.RememberOutcome
Status = types_pb2.MemoryStatus
Speaker = types_pb2.StatedBy
CREATED = Outcome.REMEMBER_OUTCOME_CREATED
REFRESHED = Outcome.REMEMBER_OUTCOME_REFRESHED
SUPERSEDED = Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS
CONFLICT = Outcome.REMEMBER_OUTCOME_CONFLICT
EXPIRED = Outcome.REMEMBER_OUTCOME_EXPIRED_ON_ARRIVAL


async def say(core: Core, content: str, day: int, **fields: object) -> object:
    """One value of the slot `city`, said so many days after the fixed date; its result."""
    made = memory(content, **{"key": "city", "event_time": NOW_US + day * DAY_US, **fields})
    return (await core.remember("u", made)).results[0]


async def current(core: Core) -> list[str]:
    """What is current in the slot, by content."""
    found = await core.listed("u", Status.MEMORY_STATUS_ACTIVE, Status.MEMORY_STATUS_CONFLICTED)
    return sorted(item.content for item in found)


async def test_first_value_is_created(core: Core) -> None:
    """A value that meets an empty slot is CREATED."""
    result = await say(core, "Leeds", 0)
    assert result.outcome == CREATED
    assert list(result.superseded_ids) == []


async def test_later_event_takes_the_slot(core: Core) -> None:
    """A later value supersedes the earlier one, which ends where the later one starts."""
    first = await say(core, "Leeds", 0)
    second = await say(core, "York", 3)
    assert second.outcome == SUPERSEDED
    assert list(second.superseded_ids) == [first.id]
    old = await core.get("u", first.id)
    assert (old.status, old.superseded_by) == (Status.MEMORY_STATUS_SUPERSEDED, second.id)
    assert old.valid_to.ToMicroseconds() == NOW_US + 3 * DAY_US
    assert await current(core) == ["York"]


async def test_own_earlier_end_stays(core: Core) -> None:
    """A superseded value keeps an end of its own that lies before its successor's start."""
    first = await say(core, "Leeds", 0, valid_to=NOW_US + DAY_US)
    await say(core, "York", 3)
    assert (await core.get("u", first.id)).valid_to.ToMicroseconds() == NOW_US + DAY_US


async def test_older_event_is_history_on_arrival(core: Core) -> None:
    """A value that arrives late but happened earlier is stored as history of the current one."""
    present = await say(core, "York", 3)
    late = await say(core, "Leeds", 0)
    assert late.outcome == EXPIRED
    stored = await core.get("u", late.id)
    assert (stored.status, stored.superseded_by) == (Status.MEMORY_STATUS_SUPERSEDED, present.id)
    assert stored.valid_to.ToMicroseconds() == NOW_US + 3 * DAY_US
    assert await current(core) == ["York"]


@settings(max_examples=30)
@given(st.permutations(range(5)))
async def test_history_does_not_depend_on_the_order_of_arrival(days: list[int]) -> None:
    """In whatever order values arrive, each holds from its event to that of the next one."""
    async with opened() as core:
        for day in days:
            await say(core, f"city {day}", day)
        for item in await core.listed("u"):
            start, end = (item.event_time.ToMicroseconds() - NOW_US) // DAY_US, item.valid_to
            if start == 4:
                assert not item.HasField("valid_to")
            else:
                assert end.ToMicroseconds() == NOW_US + (start + 1) * DAY_US
                heir = await core.get("u", item.superseded_by)
                assert heir.content == f"city {start + 1}"


async def test_older_than_a_confirmation_is_history(core: Core) -> None:
    """A value that was said again later than an arriving one keeps its slot."""
    kept = await say(core, "Leeds", 0)
    await say(core, "Leeds", 5)
    late = await say(core, "York", 3)
    assert late.outcome == EXPIRED
    stored = await core.get("u", late.id)
    assert stored.superseded_by == kept.id
    assert stored.valid_to.ToMicroseconds() == NOW_US + 5 * DAY_US
    assert await current(core) == ["Leeds"]


async def test_same_value_is_refreshed(core: Core) -> None:
    """The same words again are REFRESHED: one row, confirmed, with the stronger of each mark."""
    low, high = types_pb2.Importance.IMPORTANCE_LOW, types_pb2.Importance.IMPORTANCE_HIGH
    first = await say(core, "Leeds", 0, importance=high, confidence=0.4)
    second = await say(core, "  leeds ", 2, importance=low, confidence=0.9)
    assert (second.id, second.outcome) == (first.id, REFRESHED)
    found = await core.get("u", first.id)
    assert found.confirm_time.ToMicroseconds() == NOW_US + 2 * DAY_US
    assert (found.importance, found.confidence) == (high, 0.9)
    assert len(await core.listed("u")) == 1


async def test_refresh_moves_the_end(core: Core) -> None:
    """A value said again with another end holds until that one; without one, its end stays."""
    first = await say(core, "Leeds", -1, valid_to=NOW_US + DAY_US)
    await say(core, "Leeds", 0, valid_to=NOW_US + 4 * DAY_US)
    await say(core, "Leeds", 0)
    assert (await core.get("u", first.id)).valid_to.ToMicroseconds() == NOW_US + 4 * DAY_US


async def test_word_repeats_a_guess(core: Core) -> None:
    """An agent's guess that the user says too counts as said by the user."""
    await say(core, "Leeds", 0, stated_by=Speaker.STATED_BY_AGENT)
    result = await say(core, "Leeds", 1)
    assert result.outcome == REFRESHED
    assert (await core.get("u", result.id)).stated_by == Speaker.STATED_BY_USER


async def test_over_value_said_again_is_recalled_again(core: Core) -> None:
    """A value that ran out and is said again holds again."""
    first = await say(core, "Leeds", -3, valid_to=NOW_US - DAY_US)
    again = await say(core, "Leeds", 0)
    assert again.outcome == SUPERSEDED
    assert await current(core) == ["Leeds"]
    assert (await core.get("u", first.id)).valid_to.ToMicroseconds() == NOW_US - DAY_US


async def test_guess_against_word_is_a_conflict(core: Core) -> None:
    """An agent's later guess does not take the slot of what the user said: both stay, marked."""
    word = await say(core, "Leeds", 0)
    guess = await say(core, "York", 3, stated_by=Speaker.STATED_BY_AGENT)
    assert guess.outcome == CONFLICT
    assert list(guess.conflicting_ids) == [word.id]
    said, guessed = await core.get("u", word.id), await core.get("u", guess.id)
    assert said.status == Status.MEMORY_STATUS_ACTIVE
    assert guessed.status == Status.MEMORY_STATUS_CONFLICTED
    assert said.conflict_group == guessed.conflict_group != ""
    assert (await core.get("u", key="city")).content == "Leeds"


async def test_second_guess_takes_the_place_of_the_first(core: Core) -> None:
    """A second guess against the same word supersedes the first one and is contested like it."""
    word = await say(core, "Leeds", 0)
    first = await say(core, "York", 3, stated_by=Speaker.STATED_BY_AGENT)
    second = await say(core, "Hull", 4, stated_by=Speaker.STATED_BY_AGENT)
    assert second.outcome == CONFLICT
    assert list(second.superseded_ids) == [first.id]
    assert list(second.conflicting_ids) == [word.id]
    groups = {(await core.get("u", item.id)).conflict_group for item in (word, second)}
    assert len(groups) == 1
    assert await current(core) == ["Hull", "Leeds"]


async def test_word_overrules_a_later_guess(core: Core) -> None:
    """What the user said supersedes an agent's guess, though the guess is about a later time."""
    guess = await say(core, "York", 3, stated_by=Speaker.STATED_BY_AGENT)
    word = await say(core, "Leeds", 0)
    assert word.outcome == SUPERSEDED
    assert list(word.superseded_ids) == [guess.id]
    assert await current(core) == ["Leeds"]


async def test_word_that_repeats_a_conflicting_guess_settles_it(core: Core) -> None:
    """When the user says what an agent had guessed against an earlier word, that is the value."""
    await say(core, "Leeds", 0)
    await say(core, "York", 1, stated_by=Speaker.STATED_BY_AGENT)
    result = await say(core, "York", 2)
    assert result.outcome == SUPERSEDED
    assert await current(core) == ["York"]
    assert (await core.get("u", key="city")).stated_by == Speaker.STATED_BY_USER


async def test_guess_against_an_over_word_is_no_conflict(core: Core) -> None:
    """A guess meets no contradiction in a word that no longer holds."""
    await say(core, "Leeds", -5, valid_to=NOW_US - DAY_US)
    guess = await say(core, "York", -1, stated_by=Speaker.STATED_BY_AGENT)
    assert guess.outcome == SUPERSEDED
    assert await current(core) == ["York"]


@pytest.mark.parametrize("kind", ["EVENT", "DOCUMENT"])
async def test_topics_add_up(core: Core, kind: str) -> None:
    """Events and documents under one key add up."""
    number = types_pb2.MemoryKind.Value(f"MEMORY_KIND_{kind}")
    for day, content in enumerate(["one", "two", "three"]):
        assert (await say(core, content, day, kind=number)).outcome == CREATED
    assert await current(core) == ["one", "three", "two"]


async def test_slots_of_agents_and_namespaces_are_apart(core: Core) -> None:
    """The same key of another agent or namespace is another slot."""
    for where in ({}, {"agent": "a"}, {"agent": "b"}, {"namespace": "n"}):
        answer = await core.remember("u", memory(f"x {where}", key="city"), **where)
        assert answer.results[0].outcome == CREATED


async def test_set_adds_up_to_ten_and_archives_the_weakest(core: Core) -> None:
    """A set holds ten values: the least important, then least sure, then oldest is archived."""
    many = types_pb2.KeyCardinality.KEY_CARDINALITY_MANY
    low = types_pb2.Importance.IMPORTANCE_LOW
    for number in range(10):
        weak = {"importance": low} if number == 4 else {}
        result = await say(core, f"v{number}", number, key="tags", key_cardinality=many, **weak)
        assert result.outcome == CREATED
    assert len(await current(core)) == 10
    await say(core, "v10", 10, key="tags", key_cardinality=many)
    archived = await core.listed("u", Status.MEMORY_STATUS_ARCHIVED)
    assert [item.content for item in archived] == ["v4"]
    await say(core, "v11", 11, key="tags", key_cardinality=many)
    archived = await core.listed("u", Status.MEMORY_STATUS_ARCHIVED)
    assert sorted(item.content for item in archived) == ["v0", "v4"]


async def test_over_members_do_not_push_out_live_ones(core: Core) -> None:
    """Members of a set that ran out take no place in it."""
    for number in range(10):
        await say(core, f"v{number}", -5, key="hobby", expire_time=NOW_US + HOUR_US)
    core.clock.time_us += DAY_US
    low = types_pb2.Importance.IMPORTANCE_LOW
    await say(core, "live", 1, key="hobby", importance=low)
    assert await current(core) == ["live"]


async def test_catalogue_keys_are_sets(core: Core) -> None:
    """A key that the catalogue lists as a set is one without being told."""
    await say(core, "peanuts", 0, key="allergy")
    await say(core, "shrimps", 1, key="allergy")
    assert await current(core) == ["peanuts", "shrimps"]


async def test_expired_on_arrival(core: Core) -> None:
    """A memory whose expire_time is past is stored, and is history on arrival."""
    result = await say(core, "Leeds", -2, expire_time=NOW_US - 1)
    assert result.outcome == EXPIRED
    assert (await core.get("u", result.id)).status == Status.MEMORY_STATUS_EXPIRED


async def test_batch_supersedes_within_itself(core: Core) -> None:
    """Within one batch a later item of a slot supersedes an earlier one, at equal times too."""
    made = [memory(content, key="city") for content in ("Leeds", "York", "York")]
    results = (await core.remember("u", *made)).results
    assert [item.outcome for item in results] == [CREATED, SUPERSEDED, REFRESHED]
    assert list(results[1].superseded_ids) == [results[0].id]
    assert results[2].id == results[1].id
    assert await current(core) == ["York"]
    for item in results:
        assert (await core.get("u", item.id)).etag == item.etag
