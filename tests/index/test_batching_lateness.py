"""What the shared embedder does not begin: texts that would be late, and those nobody waits for."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from tests.index.gated import WAIT_S, Gated


@pytest.fixture
def held() -> Iterator[Gated]:
    """An embedder that waits in the middle of its next run."""
    gated = Gated()
    gated.gate.clear()
    yield gated
    gated.gate.set()


@pytest.fixture
def embedder(held: Gated) -> Iterator[BatchingEmbedder]:
    made = BatchingEmbedder(held, requests_per_run_max=1, memories_per_run_max=2)
    yield made
    held.gate.set()
    made.close()


def test_too_late_is_refused(embedder: BatchingEmbedder, held: Gated) -> None:
    """A text that others would delay beyond its use is refused, with when to come again."""
    slow = embedder.submit(["a"], is_query=True)
    assert held.entered.wait(WAIT_S)
    time.sleep(0.05)
    held.gate.set()
    slow.result(WAIT_S)
    held.gate.clear()
    held.entered.clear()
    embedder.submit(["b"], is_query=True)
    assert held.entered.wait(WAIT_S)
    embedder.submit(["c"], is_query=True)
    with pytest.raises(EmbedQueueFull) as refused:
        embedder.submit(["d"], is_query=True, within_s=0.001)
    assert refused.value.retry_after_s > 0.001
    assert embedder.submit(["a"], is_query=True, within_s=0.0).done()
    assert embedder.waiting == 1


def test_first_in_line_is_never_too_late(embedder: BatchingEmbedder, held: Gated) -> None:
    """Where nothing waits a text is taken however little time it has: the pace may be outdated."""
    held.gate.set()
    embedder.submit(["a"], is_query=True).result(WAIT_S)
    assert embedder.submit(["b"], is_query=True, within_s=0.0).result(WAIT_S).shape == (1, 16)


def test_cancelled_between_its_runs(embedder: BatchingEmbedder, held: Gated) -> None:
    """An order of many texts that is cancelled runs no further than its present slice."""
    order = embedder.submit([f"m{i}" for i in range(6)], is_query=False)
    assert held.entered.wait(WAIT_S)
    assert order.cancel()
    held.gate.set()
    embedder.submit(["last"], is_query=False).result(WAIT_S)
    assert [texts for _, texts in held.runs] == [["m0", "m1"], ["last"]]
