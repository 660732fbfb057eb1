"""A server that lets go of everything it can, against one that holds everything all the time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.server.errors import ServerError
from recalld.storage.errors import StorageError
from recalld.storage.memory_store import MemoryImage
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.core import memory, opened, scope
from tests.server.faulty import FaultyStore

USERS = ("ann", "bob", "cy")
TINY_BYTES = 1
"""A budget for no more than the partition used last."""
WORDS = st.sampled_from(
    ["green tea", "black tea", "peanuts", "lives in Leeds", "花生过敏", "喝绿茶"]
)
STEPS = st.one_of(
    st.tuples(
        st.just("remember"),
        st.sampled_from(USERS),
        WORDS,
        st.sampled_from(["", "drink", "home"]),
        st.sampled_from([(), ("ordering food",)]),
    ),
    st.tuples(st.sampled_from(["recall", "list", "forget", "undo"]), st.sampled_from(USERS), WORDS),
    st.tuples(st.sampled_from(["use", "edit", "purge"]), st.sampled_from(USERS), st.integers(0, 3)),
    st.tuples(st.just("restart")),
)


class Twin:
    """A server of which the test asks the same as of another one."""

    def __init__(self, bytes_max: int, *, restarts: bool) -> None:
        self.image = MemoryImage()
        self.bytes_max, self.restarts = bytes_max, restarts
        self.stack = contextlib.AsyncExitStack()
        self.ids: dict[str, list[str]] = {user: [] for user in USERS}

    async def open(self) -> None:
        core = opened(FaultyStore(self.image), memory_max_bytes=self.bytes_max)
        self.core = await self.stack.enter_async_context(core)

    async def do(self, what: str, user: str = "", *about: Any) -> object:
        """Does one step; answers with all of its outcome but the random ids."""
        core, known = self.core, self.ids.get(user, [])
        if what == "restart" and self.restarts:
            await self.stack.aclose()
            await self.open()
        elif what == "remember":
            text, key, cues = about
            made = await core.remember(user, memory(text, key=key, relevant_when=cues))
            known.extend(one.id for one in made.results if one.id not in known)
            return [one.outcome for one in made.results], made.revision
        elif what == "recall":
            answer = await core.recall(user, about[0], explain=True, min_score=0.0, k=9)
            return [(shown(hit.memory), scored(hit)) for hit in answer.hits]
        elif what == "list":
            # Memories of one instant are listed in the order of their random ids.
            return sorted(shown(one) for one in await core.listed(user))
        elif what in ("forget", "undo"):
            mode = pb.ForgetMode.FORGET_MODE_UNDO if what == "undo" else 0
            return (await core.forget(user, content=about[0], mode=mode)).count
        elif about and about[0] < len(known):
            return await self.change(what, user, known, about[0])
        return None

    async def change(self, what: str, user: str, known: list[str], place: int) -> object:
        """Changes one memory."""
        if what == "use":
            request = recall_service_pb2.ReportUsageRequest(
                scope=scope(user), recall_id="r", used=[known[place]]
            )
            return (await self.core.ask("ReportUsage", request)).revision
        if what == "edit":
            changed = await self.core.update(user, known[place], "content", content="oolong")
            return shown(changed.memory)
        purge = pb.ForgetMode.FORGET_MODE_PURGE
        return (await self.core.forget(user, known.pop(place), mode=purge)).count


async def outcome(step: Awaitable[object]) -> object:
    """What a step answers, or how it is refused."""
    try:
        return await step
    except (StorageError, ServerError) as error:
        return type(error), str(error)


def scored(hit: recall_service_pb2.Hit) -> bytes:
    """A hit without its memory."""
    plain = recall_service_pb2.Hit()
    plain.CopyFrom(hit)
    plain.ClearField("memory")
    return plain.SerializeToString(deterministic=True)


def shown(one: types_pb2.Memory) -> bytes:
    """A memory without what is random in it."""
    plain = types_pb2.Memory()
    plain.CopyFrom(one)
    for name in ("id", "etag", "superseded_by", "conflict_group"):
        plain.ClearField(name)
    return plain.SerializeToString(deterministic=True)


@given(st.lists(STEPS, max_size=25))
@settings(max_examples=30, deadline=None)
def test_nobody_can_tell(steps: list[tuple[Any, ...]]) -> None:
    """Whatever is written, read, let go of and restarted: every answer, score, use count and
    revision is that of a server that holds everything all the time."""

    async def run() -> None:
        twins = Twin(TINY_BYTES, restarts=True), Twin(1 << 30, restarts=False)
        for twin in twins:
            await twin.open()
        try:
            for step in (*steps, *(("list", user) for user in USERS)):
                lazy, whole = [await outcome(twin.do(*step)) for twin in twins]
                assert lazy == whole, step
        finally:
            for twin in twins:
                await twin.stack.aclose()

    asyncio.run(run())
