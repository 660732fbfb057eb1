"""Forget with the mode PURGE, through the handlers: what goes, stays, and may come back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from recalld.server.errors import EtagMismatch
from recalld.server.purge import PART_ROW_COUNT_MAX
from recalld.server.textless import TEXTLESS_METHODS
from recalld.storage.errors import EraseFailed, MemoryNotFound
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.core import HOUR_US, NOW_US, Core, condition, memory, must, opened, texts

Mode = pb.ForgetMode
Outcome = pb.RememberOutcome
PURGE = Mode.FORGET_MODE_PURGE


async def fill(core: Core, user: str = "u") -> list[str]:
    """Three memories; returns their ids."""
    made = [
        memory("drinks green tea", key="drink"),
        memory("lives in Leeds"),
        memory("plays chess"),
    ]
    results = (await core.remember(user, *made, id=f"fill-{user}")).results
    return [result.id for result in results]


async def contents(core: Core, user: str = "u") -> set[str]:
    """Texts of all memories of a user, of any status."""
    return {found.content for found in await core.listed(user)}


async def test_a_purged_memory_is_nowhere(core: Core) -> None:
    """It is not listed, got, recalled, exported or undone; the receipt tells how many went."""
    tea, leeds, chess = await fill(core)
    answer = await core.forget("u", tea, mode=PURGE)
    assert (answer.count, list(answer.ids), answer.revision) == (1, [tea], 2)
    receipt = answer.receipt
    assert (len(receipt.id), receipt.row_count) == (32, 1)
    assert receipt.time.ToMicroseconds() == NOW_US
    assert await contents(core) == {"lives in Leeds", "plays chess"}
    assert "drinks green tea" not in texts((await core.recall("u", "green tea")).hits)
    with pytest.raises(MemoryNotFound):
        await core.get("u", tea)
    with pytest.raises(MemoryNotFound):
        await core.forget("u", tea, mode=Mode.FORGET_MODE_UNDO)
    assert [m.record.id for m in core.store.load()] == [leeds, chess]


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        ({"key": "drink"}, {"lives in Leeds", "plays chess"}),
        ({"content": "Lives  in LEEDS"}, {"drinks green tea", "plays chess"}),
        ({"filter": must(condition(key=types_pb2.StringSet(values=["drink"])))}, None),
        ({"all": True}, set()),
    ],
)
async def test_every_selector_purges(
    core: Core, selector: dict[str, Any], left: set[str] | None
) -> None:
    """Key, content, filter and the whole user are purged; a dry run counts the same first."""
    await fill(core)
    await fill(core, "other")
    counted = await core.forget("u", mode=PURGE, dry_run=True, **selector)
    assert not counted.HasField("receipt")
    assert len(await contents(core)) == 3
    answer = await core.forget("u", mode=PURGE, **selector)
    assert answer.count == counted.count == answer.receipt.row_count
    assert await contents(core) == ({"lives in Leeds", "plays chess"} if left is None else left)
    assert len(await contents(core, "other")) == 3


async def test_softly_forgotten_ones_are_purged_too(core: Core) -> None:
    """A purge of a user takes what was forgotten before, which is then not undone."""
    tea, *_ = await fill(core)
    await core.forget("u", tea)
    assert (await core.forget("u", all=True, mode=PURGE)).count == 3
    assert (await core.forget("u", all=True, mode=Mode.FORGET_MODE_UNDO)).count == 0


async def test_nothing_to_purge(core: Core) -> None:
    """No match gives no receipt; an unknown id is not found; a whole user always has one."""
    await fill(core)
    answer = await core.forget("u", key="none", mode=PURGE)
    assert (answer.count, answer.HasField("receipt")) == (0, False)
    with pytest.raises(MemoryNotFound):
        await core.forget("u", "f" * 32, mode=PURGE)
    nobody = await core.forget("nobody", all=True, mode=PURGE)
    assert (nobody.count, nobody.receipt.row_count, len(nobody.receipt.id)) == (0, 0, 32)


async def test_an_etag_guards(core: Core) -> None:
    """A memory that changed since is not purged."""
    tea, *_ = await fill(core)
    with pytest.raises(EtagMismatch):
        await core.forget("u", tea, mode=PURGE, etag='"0-0"')
    assert len(await contents(core)) == 3


async def test_what_a_purged_memory_outweighed_is_free(core: Core) -> None:
    """As after a soft forget: the other member of a conflict is not in one any more."""
    first = await core.remember("u", memory("lives in Leeds", key="home", stated_by=1))
    second = await core.remember("u", memory("lives in York", key="home", stated_by=2))
    assert second.results[0].outcome == Outcome.REMEMBER_OUTCOME_CONFLICT
    await core.forget("u", first.results[0].id, mode=PURGE)
    left = await core.get("u", second.results[0].id)
    assert (left.conflict_group, left.superseded_by) == ("", "")


async def test_what_was_replaced_keeps_its_heir(core: Core) -> None:
    """When a memory in the middle of replacements is purged, the oldest names the newest, so that
    the newest still answers for it; without a newer one it names nothing."""
    said = ("the gate's code is 5083", "the gate's code is 9164", "the gate's code is 7720")
    oldest, middle, newest = [
        (await core.remember("u", memory(text, key="gate"), id=text)).results[0].id for text in said
    ]
    assert (await core.get("u", oldest)).superseded_by == middle
    await core.forget("u", middle, mode=PURGE)
    assert (await core.get("u", oldest)).superseded_by == newest
    assert "7720" in (await core.recall("u", "code 5083 of the gate", k=1)).hits[0].memory.content
    await core.forget("u", newest, mode=PURGE)
    assert (await core.get("u", oldest)).superseded_by == ""


async def test_caches_let_go(core: Core) -> None:
    """The embedding of a purged text is made anew, and its traces are gone."""
    tea, *_ = await fill(core)
    recall = await core.recall("u", "green tea", explain=True)
    await core.traces.page("default", "u", None, 9)
    await core.forget("u", tea, mode=PURGE)
    assert await core.traces.page("default", "u", None, 9) == []
    misses = core.embedder.misses
    core.embedder.embed(["drink: drinks green tea"], is_query=False)
    assert core.embedder.misses == misses + 1
    assert recall.recall_id


async def test_cues_go_with_their_memory(core: Core) -> None:
    """Cues of a purged memory leave index and cache; those of others stay."""
    answer = await core.remember(
        "u",
        memory("green tea", relevant_when=["a hot drink"]),
        memory("black tea", relevant_when=["a cold drink"]),
    )
    await core.forget("u", answer.results[0].id, mode=PURGE)
    index = next(iter(core.partitions)).index
    assert index.generation.cues.count == 1
    misses = core.embedder.misses
    core.embedder.embed(["a hot drink"], is_query=True)
    assert core.embedder.misses == misses + 1
    (row,) = core.store.load()
    assert row.cues is not None and len(row.cues) == 1


async def test_a_repeated_request_has_one_answer(core: Core) -> None:
    """Under its id the same receipt comes again, and a repeated Remember writes nothing."""
    await fill(core)
    answer = await core.forget("u", all=True, mode=PURGE, request_id="p")
    assert await core.forget("u", all=True, mode=PURGE, request_id="p") == answer
    assert len(await fill(core)) == 3
    assert await contents(core) == set()


async def test_answers_that_tell_the_text_are_gone(core: Core) -> None:
    """A repeated update of a purged memory finds nothing, where it would have told the text."""
    tea, *_ = await fill(core)
    await core.update("u", tea, content="drinks mint tea", request_id="up")
    await core.forget("u", tea, mode=PURGE)
    assert core.store.find_request("default", "up") is None
    with pytest.raises(MemoryNotFound):
        await core.update("u", tea, content="drinks mint tea", request_id="up")


async def test_an_erasing_that_failed_goes_on_when_repeated(core: Core) -> None:
    """Without room the call fails, shows nothing all the same, and is completed by a repeat."""
    tea, *_ = await fill(core)
    core.eraser.is_failing = True
    with pytest.raises(EraseFailed):
        await core.forget("u", tea, mode=PURGE, request_id="p")
    assert len(await contents(core)) == 2
    core.eraser.is_failing = False
    answer = await core.forget("u", tea, mode=PURGE, request_id="p")
    assert (answer.count, answer.receipt.row_count) == (1, 1)
    assert core.eraser.examples[0].text == "drinks green tea"


async def test_a_caller_that_goes_away_does_not_stop_it(core: Core) -> None:
    """A cancelled call is purged and erased to its end."""
    tea, *_ = await fill(core)
    task = asyncio.create_task(core.forget("u", tea, mode=PURGE))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await core.writer.drain()
    assert len(await contents(core)) == 2


async def test_a_large_purge_comes_in_parts() -> None:
    """More than one commit takes are all purged under one receipt."""
    async with opened() as core:
        count = PART_ROW_COUNT_MAX + 10
        for start in range(0, count, 256):
            batch = [memory(f"event {n}", kind=4) for n in range(start, min(count, start + 256))]
            await core.remember("u", *batch)
        await core.remember("u", memory("stays"))
        kinds = types_pb2.Condition(kind=types_pb2.KindSet(values=[4]))
        answer = await core.forget("u", filter=must(kinds), mode=PURGE)
        assert (answer.count, answer.receipt.row_count) == (count, count)
        assert await contents(core) == {"stays"}
        assert core.store.check() == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Outcome.REMEMBER_OUTCOME_CREATED),  # Said again now.
        ({"event_time": NOW_US + HOUR_US}, Outcome.REMEMBER_OUTCOME_CREATED),
        ({"event_time": NOW_US - HOUR_US}, Outcome.REMEMBER_OUTCOME_REJECTED_PURGED),
        ({"event_time": NOW_US}, Outcome.REMEMBER_OUTCOME_REJECTED_PURGED),
        ({"stated_by": 4}, Outcome.REMEMBER_OUTCOME_REJECTED_PURGED),
        ({"stated_by": 4, "event_time": NOW_US + 1}, Outcome.REMEMBER_OUTCOME_CREATED),
        ({"key": "other", "event_time": NOW_US - 1}, Outcome.REMEMBER_OUTCOME_CREATED),
    ],
)
async def test_who_says_it_again_is_heard(
    core: Core, fields: dict[str, Any], expected: int
) -> None:
    """What was said before the purge, or is an import without a time, is refused."""
    await fill(core)
    await core.forget("u", all=True, mode=PURGE)
    core.clock.time_us += 2 * HOUR_US
    again = memory("Drinks GREEN tea", **({"key": "drink"} | fields))
    (result, other) = (await core.remember("u", again, memory("new"))).results
    assert (result.outcome, bool(result.id)) == (
        expected,
        expected == Outcome.REMEMBER_OUTCOME_CREATED,
    )
    assert other.outcome == Outcome.REMEMBER_OUTCOME_CREATED
    assert (await core.remember("v", again)).results[0].outcome == Outcome.REMEMBER_OUTCOME_CREATED


def test_textless_methods_exist_and_tell_nothing() -> None:
    """Each is a method of the contract whose answer holds no Memory."""
    known = {
        f"{service.full_name}/{method.name}": method.output_type
        for module in (pb, recall_service_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    for name in TEXTLESS_METHODS:
        waiting, seen = [known[name]], set()
        while waiting:
            message = waiting.pop()
            seen.add(message.full_name)
            inner = [field.message_type for field in message.fields if field.message_type]
            waiting += [one for one in inner if one.full_name not in seen]
        assert "recalld.v1.Memory" not in seen
