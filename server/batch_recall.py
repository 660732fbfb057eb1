"""BatchRecall: several recalls in one call, answered in their order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from recalld.server import encoded, validate
from recalld.server.call import Call
from recalld.server.errors import InvalidRequest
from recalld.server.limits import BATCH_RECALL_COUNT_MAX, RESPONSE_BYTES_MAX
from recalld.server.recall import Recall
from recalld.v1 import recall_service_pb2 as pb

RESPONSES = pb.BatchRecallResponse.RESPONSES_FIELD_NUMBER


@dataclass(frozen=True)
class BatchRecall:
    """Handler of BatchRecall."""

    recall: Recall

    async def __call__(self, request: pb.BatchRecallRequest, call: Call) -> bytes:
        """Up to 32 recalls; one bad request fails all of them."""
        validate.count(request.requests, "requests", 1, BATCH_RECALL_COUNT_MAX)
        answers = await asyncio.gather(
            *(
                self.recall.answer(item, call, f"requests[{i}]")
                for i, item in enumerate(request.requests)
            )
        )
        body = b"".join(encoded.field(RESPONSES, answer) for answer in answers)
        if len(body) > RESPONSE_BYTES_MAX:
            raise InvalidRequest(
                "requests", f"the answers have more than {RESPONSE_BYTES_MAX} bytes; ask for fewer"
            )
        return body
