"""The shared embedder between owners: turns, shares of the queue, caches apart."""

from __future__ import annotations

import numpy as np
import pytest

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from tests.index.gated import WAIT_S, Gated, rows


def test_owners_take_turns(inner: Gated) -> None:
    """A request of one owner waits for one request of another, not for all of them."""
    shared = BatchingEmbedder(inner, requests_per_run_max=1)
    inner.hold(shared)
    futures = [shared.submit([f"a{i}"], is_query=True, owner="a") for i in range(5)]
    futures += [shared.submit([f"b{i}"], is_query=True, owner="b") for i in range(2)]
    inner.gate.set()
    for future in futures:
        future.result(WAIT_S)
    shared.close()
    ran = [texts[0] for _, texts in inner.runs]
    assert ran == ["a0", "b0", "a1", "b1", "a2", "a3", "a4"]


def test_owners_share_a_slice(shared: BatchingEmbedder, inner: Gated) -> None:
    """A slice of memories holds texts of every owner that waits, in turns."""
    inner.hold(shared)
    long = shared.submit([f"a{i}" for i in range(6)], is_query=False, owner="a")
    short = shared.submit(["b0", "b1"], is_query=False, owner="b")
    inner.gate.set()
    assert np.array_equal(short.result(WAIT_S), rows(["b0", "b1"]))
    assert np.array_equal(long.result(WAIT_S), rows([f"a{i}" for i in range(6)]))
    assert [texts for _, texts in inner.runs] == [
        ["a0", "b0", "a1", "b1"],
        ["a2", "a3", "a4", "a5"],
    ]


def test_no_owner_fills_a_shared_queue(inner: Gated) -> None:
    """One owner gets half of a shared queue, however much it sends; a second one still gets in."""
    shared = BatchingEmbedder(inner, queue_texts_max=8, is_shared=True)
    inner.hold(shared)
    shared.submit(["a0"], is_query=True, owner="a")
    shared.submit(["a1", "a2", "a3"], is_query=False, owner="a")
    with pytest.raises(EmbedQueueFull, match="1 texts to embed, room for 0"):
        shared.submit(["a4"], is_query=True, owner="a")
    assert shared.submit(["b0", "b1", "b2"], is_query=True, owner="b")
    inner.gate.set()
    shared.close()


def test_a_first_batch_is_bound_by_the_queue_alone(inner: Gated) -> None:
    """An owner of whom nothing waits may fill what is free, so that one large batch always can."""
    shared = BatchingEmbedder(inner, queue_texts_max=8, is_shared=True)
    inner.hold(shared)
    shared.submit([f"a{i}" for i in range(8)], is_query=False, owner="a")
    assert shared.waiting == 8
    inner.gate.set()
    shared.close()


def test_owners_do_not_share_vectors(shared: BatchingEmbedder, inner: Gated) -> None:
    """What one owner asked makes no text faster for another; discarding drops it for both."""
    for owner in ("a", "b", "a"):
        shared.submit(["x"], is_query=True, owner=owner).result(WAIT_S)
    assert [texts for _, texts in inner.runs] == [["x"], ["x"]]
    shared.discard(["x"])
    for owner in ("a", "b"):
        assert not shared.submit(["x"], is_query=True, owner=owner).done()
