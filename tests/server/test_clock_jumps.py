"""A wall clock that jumps, back and by years: nothing expires, loses its place or comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from recalld.client.testing import running_server
from recalld.storage.errors import MemoryNotFound
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2 as recall_pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, Core, memory, remember_request, scope
from tests.server.stubs import Stubs

WAIT_S = 60
YEARS_US = 10 * 365 * DAY_US
JUMPS_US = (-YEARS_US, -DAY_US, DAY_US, YEARS_US)
ACTIVE = types_pb2.MEMORY_STATUS_ACTIVE
EXPIRED = types_pb2.MEMORY_STATUS_EXPIRED
SUPERSEDED = types_pb2.MEMORY_STATUS_SUPERSEDED


@pytest.mark.parametrize("jump_us", JUMPS_US)
async def test_what_never_expires_stays(core: Core, jump_us: int) -> None:
    """Wherever the clock jumps, a memory without an end is recalled."""
    await core.remember("u", memory("likes green tea"))
    core.clock.time_us += jump_us
    answer = await core.recall("u", "green tea")
    assert [hit.memory.content for hit in answer.hits] == ["likes green tea"]
    assert (await core.listed("u", ACTIVE))[0].content == "likes green tea"


async def test_expiry_is_undone_with_the_jump(core: Core) -> None:
    """What a jump ahead lets expire is there again when the clock is set right."""
    await core.remember("u", memory("parcel comes", expire_time=NOW_US + DAY_US))
    core.clock.time_us += YEARS_US
    assert [m.status for m in await core.listed("u")] == [EXPIRED]
    core.clock.time_us = NOW_US
    assert [m.status for m in await core.listed("u")] == [ACTIVE]
    assert len((await core.recall("u", "parcel")).hits) == 1


@pytest.mark.parametrize("jump_us", JUMPS_US)
async def test_the_later_value_holds(core: Core, jump_us: int) -> None:
    """Of two values said as they arrived the later one holds, also when its time is earlier."""
    await core.remember("u", memory("lives in Leeds", key="home"))
    core.clock.time_us += jump_us
    await core.remember("u", memory("lives in Porto", key="home"))
    assert (await core.get("u", key="home")).content == "lives in Porto"
    found = {m.content: m.status for m in await core.listed("u")}
    assert found == {"lives in Leeds": SUPERSEDED, "lives in Porto": ACTIVE}
    revisions = {m.content: m.revision for m in await core.listed("u")}
    assert revisions["lives in Porto"] == core.writer.published("default") == 2


async def test_a_writer_s_own_time_still_counts(core: Core) -> None:
    """What a writer dates itself goes where it belongs, whenever it arrives."""
    await core.remember("u", memory("lives in Leeds", key="home", event_time=NOW_US - DAY_US))
    early = memory("lives in Porto", key="home", event_time=NOW_US - 2 * DAY_US)
    await core.remember("u", early)
    assert (await core.get("u", key="home")).content == "lives in Leeds"


@pytest.mark.parametrize("jump_us", JUMPS_US)
async def test_a_request_id_is_answered_once(core: Core, jump_us: int) -> None:
    """Under one request id a call is carried out once, whatever the clock says at the repeat."""
    first = await core.remember("u", memory("said once", kind=4), id="r1")
    core.clock.time_us += jump_us
    assert await core.remember("u", memory("said once", kind=4), id="r1") == first
    assert len(await core.listed("u")) == 1


async def test_undo_comes_back_with_the_clock(core: Core) -> None:
    """A jump ahead closes the time to undo only as long as it lasts; a jump back never does."""
    made = await core.remember("u", memory("likes green tea"))
    memory_id = made.results[0].id
    undo = pb.ForgetMode.FORGET_MODE_UNDO
    await core.forget("u", memory_id)
    core.clock.time_us = NOW_US + YEARS_US
    with pytest.raises(MemoryNotFound, match="30 days"):
        await core.forget("u", memory_id, mode=undo)
    core.clock.time_us = NOW_US - YEARS_US
    assert (await core.forget("u", memory_id, mode=undo)).count == 1
    assert (await core.get("u", memory_id)).status == ACTIVE


@pytest.fixture(scope="module")
def stubs() -> Iterator[Stubs]:
    """A real server whose clock callers set."""
    with running_server(args=["--test-clock"]) as server, Stubs(server.target) as made:
        yield made


def at(time_us: int) -> tuple[tuple[str, str], ...]:
    """Metadata that sets the clock of one call."""
    return (("recalld-now", datetime.fromtimestamp(time_us / 1e6, UTC).isoformat()),)


def test_a_real_server_whose_clock_jumps(stubs: Stubs) -> None:
    """Over the wire: order by arrival, expiry by the clock of the call, one answer to one id."""
    where = scope("u")

    def remember(time_us: int, item: types_pb2.Memory, request_id: str) -> pb.RememberResponse:
        request = remember_request("u", item, id=request_id)
        answer: pb.RememberResponse = stubs.memory.Remember(
            request, timeout=WAIT_S, metadata=at(time_us)
        )
        return answer

    def recalled(time_us: int) -> set[str]:
        request = recall_pb.RecallRequest(scope=where, text="tea parcel home", k=10)
        hits = stubs.recall.Recall(request, timeout=WAIT_S, metadata=at(time_us)).hits
        return {hit.memory.content for hit in hits}

    ahead_us, back_us = NOW_US + YEARS_US, NOW_US - YEARS_US
    remember(ahead_us, memory("home tea is green", key="tea"), "r1")
    last = remember(back_us, memory("home tea is black", key="tea"), "r2")
    remember(NOW_US, memory("parcel comes home", expire_time=NOW_US + DAY_US), "r3")
    assert recalled(NOW_US) == {"home tea is black", "parcel comes home"}
    assert recalled(ahead_us) == {"home tea is black"}
    assert recalled(back_us) == {"home tea is black", "parcel comes home"}
    assert remember(ahead_us, memory("home tea is black", key="tea"), "r2") == last
    assert stubs.state("u") == (3, 3)
