"""BatchRecall: several recalls in one call, answered in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from recalld.server import encoded, validate
from recalld.server.call import Call
from recalld.server.errors import InvalidRequest
from recalld.server.limits import BATCH_RECALL_COUNT_MAX, RESPONSE_BYTES_MAX
from recalld.server.recall import Recall
from recalld.v1 import recall_service_pb2 as pb

WAITING = frozenset({"text", "vector"})
"""Requests that may wait: for the embedder, or for the search of a large partition. What only looks
something up is done before a task of its own would have begun."""
RESPONSES = pb.BatchRecallResponse.RESPONSES_FIELD_NUMBER


@dataclass(frozen=True)
class BatchRecall:
    """Handler of BatchRecall."""

    recall: Recall

    async def __call__(self, request: pb.BatchRecallRequest, call: Call) -> bytes:
        """Up to 32 recalls; one bad request fails all of them."""
        validate.count(request.requests, "requests", 1, BATCH_RECALL_COUNT_MAX)
        answers = await self._answers(request.requests, call)
        body = b"".join(encoded.field(RESPONSES, answer) for answer in answers)
        if len(body) > RESPONSE_BYTES_MAX:
            raise InvalidRequest(
                "requests", f"the answers have more than {RESPONSE_BYTES_MAX} bytes; ask for fewer"
            )
        return body

    async def _answers(self, requests: Sequence[pb.RecallRequest], call: Call) -> list[bytes]:
        """One answer a request; those that wait for other threads do so beside one another."""
        asked = ((item, call, f"requests[{i}]") for i, item in enumerate(requests))
        if any(item.WhichOneof("query") in WAITING for item in requests):
            return await asyncio.gather(*(self.recall.answer(*one) for one in asked))
        return [await self.recall.answer(*one) for one in asked]
