"""Python client of recalld, the memory sidecar for AI agents.

    from recalld.client import Client, F

    with Client(user_id="u1") as memory:
        memory.remember("Allergic to peanuts", key="allergy", importance="high")
        for hit in memory.recall("recommend a snack"):
            print(hit.score, hit.memory.content)

Needs only grpcio and protobuf; imports nothing of the server.
"""

from recalld.client.aio import AsyncClient
from recalld.client.client import Client
from recalld.client.errors import RecalldError
from recalld.client.filters import Expression, F
from recalld.client.inputs import NewMemory, Query, Source, Turn
from recalld.client.models import (
    Context,
    Hit,
    KeyEntry,
    Memory,
    RecallResult,
    Remembered,
)
from recalld.client.options import Timeouts
from recalld.client.values import (
    Band,
    ForgetMode,
    Importance,
    Kind,
    Outcome,
    StatedBy,
    Status,
    Visibility,
)

__all__ = [
    "AsyncClient",
    "Band",
    "Client",
    "Context",
    "Expression",
    "F",
    "ForgetMode",
    "Hit",
    "Importance",
    "KeyEntry",
    "Kind",
    "Memory",
    "NewMemory",
    "Outcome",
    "Query",
    "RecallResult",
    "RecalldError",
    "Remembered",
    "Source",
    "StatedBy",
    "Status",
    "Timeouts",
    "Turn",
    "Visibility",
]
