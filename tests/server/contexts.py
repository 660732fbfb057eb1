"""Contexts asked of a core."""

from __future__ import annotations

from typing import Any

from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import Core, scope


async def build(core: Core, text: str = "tea", user: str = "u", **fields: Any) -> Any:
    """A context for a request; `recall` holds more fields of it."""
    asked = pb.RecallRequest(scope=scope(user), text=text, **fields.pop("recall", {}))
    return await core.ask("BuildContext", pb.BuildContextRequest(recall=asked, **fields))


def included(answer: Any) -> set[str]:
    """Ids of what is in."""
    return {item.memory_id for item in answer.items}
