"""ReportUsage."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.server.errors import InvalidRequest, RequestIdReused
from recalld.storage.errors import MemoryNotFound
from recalld.storage.memory_store import MemoryStore
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import DAY_US, NOW_US, Core, memory, opened, scope, timestamp


async def report(core: Core, user: str = "u", **fields: Any) -> pb.ReportUsageResponse:
    """Reports on a recall; `agent` says who."""
    where = scope(user, fields.pop("agent", ""))
    request = pb.ReportUsageRequest(scope=where, **{"recall_id": "r" * 32, **fields})
    answer: pb.ReportUsageResponse = await core.ask("ReportUsage", request)
    return answer


async def remembered(core: Core, content: str = "likes tea", **fields: Any) -> str:
    """Id of a new memory of user u."""
    return str((await core.remember("u", memory(content, **fields))).results[0].id)


async def test_used_memories_are_counted(core: Core) -> None:
    """Each report raises the count of a used memory by one and its last use to the clock."""
    used, other = await remembered(core), await remembered(core, "likes jazz")
    await report(core, used=[used])
    core.clock.time_us += DAY_US
    answer = await report(core, used=[used, used])
    found = await core.get("u", used)
    assert (found.access_count, found.last_used_time) == (2, timestamp(NOW_US + DAY_US))
    assert answer.revision == found.revision
    assert (await core.get("u", other)).access_count == 0


async def test_reports_survive_a_restart() -> None:
    """Counts and times of use are in the store, not only in memory."""
    store = MemoryStore()
    async with opened(store) as core:
        used = await remembered(core)
        await report(core, used=[used])
    async with opened(store) as again:
        found = await again.get("u", used)
        assert (found.access_count, found.last_used_time) == (1, timestamp(NOW_US))


async def test_use_undoes_age_and_no_more(core: Core) -> None:
    """A used memory scores as when it was fresh; a hundred reports add nothing to the first."""
    used = await remembered(core, event_time=NOW_US - 400 * DAY_US)
    asked = {"min_score": 0.0, "explain": True}
    old = (await core.recall("u", "likes tea", **asked)).hits[0]
    await report(core, used=[used])
    once = (await core.recall("u", "likes tea", **asked)).hits[0]
    for _ in range(100):
        await report(core, used=[used])
    often = (await core.recall("u", "likes tea", **asked)).hits[0]
    assert old.parts.decay < once.parts.decay == 1.0
    assert old.score < once.score == often.score


async def test_wrong_lowers_confidence_down_to_a_floor(core: Core) -> None:
    """A report of wrong halves the confidence, never below 0.1, and is no use of the memory."""
    wrong = await remembered(core, confidence=0.8)
    seen = []
    for _ in range(5):
        await report(core, corrected=[wrong])
        seen.append((await core.get("u", wrong)).confidence)
    assert seen == pytest.approx([0.4, 0.2, 0.1, 0.1, 0.1])
    found = await core.get("u", wrong)
    assert (found.access_count, found.HasField("last_used_time")) == (0, False)


async def test_a_lower_confidence_is_not_raised(core: Core) -> None:
    """A confidence below the floor stays as its writer set it."""
    wrong = await remembered(core, confidence=0.05)
    await report(core, corrected=[wrong])
    assert (await core.get("u", wrong)).confidence == pytest.approx(0.05)


async def test_a_repeat_counts_once(core: Core) -> None:
    """The same request id gives the first answer and counts once; another body is refused."""
    used = await remembered(core)
    first = await report(core, used=[used], request_id="once")
    assert await report(core, used=[used], request_id="once") == first
    assert (await core.get("u", used)).access_count == 1
    with pytest.raises(RequestIdReused):
        await report(core, used=[used], helpful=True, request_id="once")


async def test_recalls_never_write() -> None:
    """A hundred recalls change no byte of any row."""
    store = MemoryStore()
    async with opened(store) as core:
        for content in ("likes tea", "在成都出差", "order DD-7742 was shipped"):
            await remembered(core, content)

        def rows() -> list[Any]:
            return [(m.record, m.vector.tobytes(), m.fingerprint) for m in store.load()]  # type: ignore[union-attr]

        before, revisions = rows(), store.revisions()
        for number in range(100):
            core.clock.time_us += DAY_US
            await core.recall("u", ("tea", "昨天在哪", "DD-7742", "latest order")[number % 4])
        assert (rows(), store.revisions()) == (before, revisions)


async def test_helpful_alone_changes_no_memory(core: Core) -> None:
    """Whether a recall helped is counted by the server and writes no row."""
    used = await remembered(core)
    before = await core.get("u", used)
    assert (await report(core, helpful=False)).revision == 0
    await report(core, helpful=True, request_id="h")
    assert await core.get("u", used) == before
    counted = core.metrics.registry.get_sample_value
    assert counted("recalld_recalls_reported_total", {"helpful": "no"}) == 1
    assert counted("recalld_recalls_reported_total", {"helpful": "yes"}) == 1


async def test_one_unknown_id_fails_all(core: Core) -> None:
    """An id of nobody, of another user or of another agent's secret is the same NOT_FOUND."""
    mine = await remembered(core)
    theirs = (await core.remember("v", memory("likes milk"))).results[0].id
    kept = await core.remember("u", memory("secret", visibility=2), agent="a")
    for strange in ("0" * 32, theirs, kept.results[0].id):
        for name in ("used", "corrected"):
            other = {"used", "corrected"} - {name}
            with pytest.raises(MemoryNotFound):
                await report(core, **{name: [strange], other.pop(): [mine]})
    with pytest.raises(MemoryNotFound):
        await report(core, "nobody", used=[mine])
    found = await core.get("u", mine)
    assert (found.access_count, found.confidence) == (0, 1.0)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"recall_id": ""}, "recall_id"),
    ({}, "used"),
    ({"used": ["x"] * 201}, "used"),
    ({"corrected": ["x"] * 201}, "corrected"),
    ({"used": [" "]}, "used[0]"),
    ({"used": ["a"], "corrected": ["b", "a"]}, "corrected"),
    ({"used": ["a"], "request_id": "x" * 129}, "request_id"),
]


@pytest.mark.parametrize(("fields", "field"), BAD)
async def test_bad_reports_are_named(core: Core, fields: dict[str, Any], field: str) -> None:
    """A malformed or contradictory report is refused with the field's name."""
    with pytest.raises(InvalidRequest) as caught:
        await report(core, **fields)
    assert caught.value.field == field
