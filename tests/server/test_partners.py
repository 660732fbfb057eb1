"""The other side of a conflict in an answer, through a real server."""

from __future__ import annotations

from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.core import NOW_US, memory, remember_request, scope
from tests.server.stubs import Stubs

REASON = "other side of a conflict"


def tie(stubs: Stubs, user: str) -> list[str]:
    """Two equal values of one key, of which a request for green tea is near to the first only."""
    said = [
        memory(text, key="drink", event_time=NOW_US)
        for text in ("green tea with honey every morning", "只喝咖啡")
    ]
    results = stubs.memory.Remember(remember_request(user, *said)).results
    assert results[1].outcome == pb.REMEMBER_OUTCOME_CONFLICT
    return [result.id for result in results]


def test_the_other_side_says_so(stubs: Stubs, user: str) -> None:
    """It comes along below the lowest score that was asked for, and it alone says why; where it is
    a hit of its own, it does not."""
    near, far = tie(stubs, user)
    request = recall_service_pb2.RecallRequest(
        scope=scope(user), text="green tea with honey every morning", min_score=0.0
    )
    scores = {hit.memory.id: hit for hit in stubs.recall.Recall(request).hits}
    assert [REASON in hit.reasons for hit in scores.values()] == [False, False]
    assert scores[far].score < scores[near].score
    request.min_score = (scores[far].score + scores[near].score) / 2
    answer = stubs.recall.Recall(request)
    assert [(hit.memory.id, REASON in hit.reasons) for hit in answer.hits] == [
        (near, False),
        (far, True),
    ]
    assert answer.hits[1].score == scores[far].score
    assert answer.hits[1].reasons[-1] == REASON
    assert {hit.memory.status for hit in answer.hits} == {types_pb2.MEMORY_STATUS_CONFLICTED}
