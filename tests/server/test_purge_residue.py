"""What a purge leaves in memory: nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CoroutineType, FrameType, FunctionType, ModuleType

from recalld.v1 import memory_service_pb2, recall_service_pb2
from tests.server.core import Core, memory


def texts_within(root: object) -> Iterator[str | bytes]:
    """Every text and byte string that an object holds on to, however deep; code is left out."""
    seen: set[int] = set()
    left = [root]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(
            one, (type, ModuleType, FunctionType, FrameType, CoroutineType)
        ):
            continue
        seen.add(id(one))
        if isinstance(one, (str, bytes, bytearray)):
            yield bytes(one) if isinstance(one, bytearray) else one
        left.extend(gc.get_referents(one))


async def test_nothing_in_memory_holds_the_text(core: Core) -> None:
    """After recalls, contexts and traces of it no object of the server has a purged text."""
    await core.remember("u", memory("drinks green tea"))
    words = "kumquat jam with"
    stored = await core.remember("u", memory(f"wants {words} the tea"))
    jam = stored.results[0].id
    for explain in (False, True):
        # As a caller gets it: encoded, what comes of that is kept.
        await core.recall("u", "what goes with tea", explain=explain)
    request = recall_service_pb2.BuildContextRequest(token_budget=200)
    request.recall.scope.user_id, request.recall.text = "u", "what goes with tea"
    await core.ask("BuildContext", request)
    await core.listed("u")

    def is_held() -> bool:
        return any(
            words in text if isinstance(text, str) else words.encode() in text
            for text in texts_within(core)
        )

    assert is_held()
    await core.forget("u", jam, mode=memory_service_pb2.FORGET_MODE_PURGE)
    core.eraser.examples.clear()  # The double keeps what it is asked to look for in files.
    assert not is_held()
