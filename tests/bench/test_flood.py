"""The flood's calls: of the method that its kind asks for, and never two texts alike."""

from __future__ import annotations

import pytest

from recalld.bench.flood import BATCHES, IN_FLIGHT, KINDS, REMEMBER_METHOD, request
from recalld.bench.load import RECALL_METHOD
from recalld.v1.memory_service_pb2 import RememberRequest
from recalld.v1.recall_service_pb2 import RecallRequest


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_calls_are_answered_from_a_cache(kind: str) -> None:
    """Whatever is embedded differs from call to call."""
    made = [request(kind, number) for number in range(3 * IN_FLIGHT)]
    texts = []
    for method, body in made:
        if method == REMEMBER_METHOD:
            texts += [item.memory.content for item in RememberRequest.FromString(body).memories]
        elif text := RecallRequest.FromString(body).text:
            texts.append(text)
    assert len(set(texts)) == len(texts)
    per_call = ({"filter": 0, "text": 1} | BATCHES)[kind]
    assert len(texts) == per_call * len(made)
    assert {method for method, _ in made} == {REMEMBER_METHOD if kind in BATCHES else RECALL_METHOD}
