"""How many runs of the model requests cost: a lone one never waits for company."""

import contextlib

import pytest

from recalld.index.batching import BatchingEmbedder
from tests.index.gated import WAIT_S, Gated


def test_lone_request_waits_for_nobody(inner: Gated) -> None:
    """A lone request starts while nothing else comes, however large a run may be."""
    with contextlib.closing(BatchingEmbedder(inner, requests_per_run_max=64)) as shared:
        for number in range(1, 4):
            inner.entered.clear()
            future = shared.submit([f"alone {number}"], is_query=True)
            assert inner.entered.wait(WAIT_S)
            assert future.result(WAIT_S).shape == (1, 16)
            assert (shared.batches, shared.texts) == (number, number)


def test_requests_run_alone_where_that_is_asked(inner: Gated) -> None:
    """At one text a run every request costs one run, in the order of asking, and none is merged."""
    with contextlib.closing(BatchingEmbedder(inner, requests_per_run_max=1)) as shared:
        inner.hold(shared)
        waiting = [shared.submit([f"request {n}"], is_query=True) for n in range(5)]
        inner.gate.set()
        for future in waiting:
            future.result(WAIT_S)
    assert [texts for _, texts in inner.runs] == [[f"request {n}"] for n in range(5)]
    assert shared.batches == shared.texts == 6


@pytest.mark.parametrize(("callers", "runs"), [(1, 1), (8, 1), (32, 4)])
def test_waiting_requests_share_runs(inner: Gated, callers: int, runs: int) -> None:
    """Requests of many callers that wait while one runs cost a run for every eight of them."""
    with contextlib.closing(BatchingEmbedder(inner)) as shared:
        inner.hold(shared)
        waiting = [shared.submit([f"request {n}"], is_query=True) for n in range(callers)]
        inner.gate.set()
        for future in waiting:
            future.result(WAIT_S)
        assert len(inner.runs) == runs
