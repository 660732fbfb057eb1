"""The embedder that the server shares: cache, queue, order, failure, end."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index.batching import REQUEST_RUNS_IN_A_ROW_MAX, BatchingEmbedder
from recalld.index.embedder import Embedder
from recalld.index.errors import BadVector, EmbedderClosed, EmbedQueueFull
from recalld.index.hash_embedder import HashEmbedder
from tests.conformance.embedder_contract import EmbedderContract
from tests.index.gated import WAIT_S, Gated, rows


class TestBatchingContract(EmbedderContract):
    """The contract, through cache and queue."""

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        shared = BatchingEmbedder(HashEmbedder(), cache_max=4)
        yield shared
        shared.close()


def test_identity_is_that_of_the_wrapped_one(shared: BatchingEmbedder, inner: Gated) -> None:
    """Width, fingerprint, limit and calibration are those of the wrapped embedder."""
    for name in ("dim", "fingerprint", "max_tokens", "calibration"):
        assert getattr(shared, name) == getattr(inner, name)


def test_lone_request_runs_at_once(shared: BatchingEmbedder, inner: Gated) -> None:
    """A lone request is one run of one text."""
    shared.submit(["a"], is_query=True).result(WAIT_S)
    assert inner.runs == [(True, ["a"])]


def test_second_time_comes_from_the_cache(shared: BatchingEmbedder, inner: Gated) -> None:
    """A text asked again costs no run, and its future is done at once."""
    first = shared.embed(["a"], is_query=True)
    again = shared.submit(["a"], is_query=True)
    assert again.done() and np.array_equal(again.result(), first)
    assert (shared.hits, shared.misses, shared.batches, shared.texts) == (1, 1, 1, 1)
    assert len(inner.runs) == 1


def test_roles_do_not_share_vectors(shared: BatchingEmbedder, inner: Gated) -> None:
    """The same text as request and as memory is embedded twice."""
    shared.embed(["a"], is_query=True)
    shared.embed(["a"], is_query=False)
    assert inner.runs == [(True, ["a"]), (False, ["a"])]


def test_spellings_of_one_character_share_a_vector(shared: BatchingEmbedder, inner: Gated) -> None:
    """Composed and decomposed characters are one text."""
    shared.embed(["caf\u00e9"], is_query=True)
    shared.embed(["cafe\u0301"], is_query=True)
    assert inner.runs == [(True, ["caf\u00e9"])]


def test_answers_belong_to_the_caller(shared: BatchingEmbedder) -> None:
    """Writing into an answer does not change what the next caller gets."""
    for _ in range(2):
        shared.embed(["a"], is_query=False)[:] = 0
    assert np.array_equal(shared.embed(["a"], is_query=False), rows(["a"]))


def test_least_recently_used_goes_first(shared: BatchingEmbedder, inner: Gated) -> None:
    """A full cache drops the text that was not used for longest."""
    shared.embed([str(i) for i in range(8)], is_query=False)
    shared.embed(["0"], is_query=False)
    shared.embed(["new"], is_query=False)
    inner.runs.clear()
    shared.embed(["0"], is_query=False)
    assert inner.runs == []
    shared.embed(["1"], is_query=False)
    assert inner.runs == [(False, ["1"])]


def test_discarded_text_is_embedded_again(shared: BatchingEmbedder, inner: Gated) -> None:
    """A discarded text leaves the cache in both roles."""
    for is_query in (True, False):
        shared.embed(["secret"], is_query=is_query)
    shared.discard(["secret", "never seen"])
    inner.runs.clear()
    for is_query in (True, False):
        shared.embed(["secret"], is_query=is_query)
    assert len(inner.runs) == 2


def test_waiting_requests_are_merged(shared: BatchingEmbedder, inner: Gated) -> None:
    """Requests that come while the worker is busy share the next run, each text once."""
    inner.hold(shared)
    futures = [shared.submit([text], is_query=True) for text in ("a", "b", "a")]
    assert shared.waiting == 3
    inner.gate.set()
    answers = [future.result(WAIT_S) for future in futures]
    assert np.array_equal(np.vstack(answers), rows(["a", "b", "a"], True))
    assert inner.runs == [(True, ["a", "b"])] and shared.waiting == 0


def test_requests_overtake_memories(shared: BatchingEmbedder, inner: Gated) -> None:
    """A request that comes later than many memories runs before them."""
    inner.hold(shared)
    memories = shared.submit([f"m{i}" for i in range(40)], is_query=False)
    request = shared.submit(["q"], is_query=True)
    inner.gate.set()
    assert np.array_equal(request.result(WAIT_S), rows(["q"], True))
    assert np.array_equal(memories.result(WAIT_S), rows([f"m{i}" for i in range(40)]))
    sizes = [(is_query, len(texts)) for is_query, texts in inner.runs]
    assert sizes == [(True, 1)] + [(False, 4)] * 10


def test_memories_do_not_starve(inner: Gated) -> None:
    """After some runs of requests one slice of waiting memories runs."""
    shared = BatchingEmbedder(inner, requests_per_run_max=1)
    inner.hold(shared)
    futures = [shared.submit(["m"], is_query=False)]
    futures += [shared.submit([f"q{i}"], is_query=True) for i in range(8)]
    inner.gate.set()
    for future in futures:
        future.result(WAIT_S)
    shared.close()
    assert [is_query for is_query, _ in inner.runs].index(False) == REQUEST_RUNS_IN_A_ROW_MAX


def test_full_queue_takes_nothing(shared: BatchingEmbedder, inner: Gated) -> None:
    """A submission without room is refused whole, and there is room again afterwards."""
    inner.hold(shared)
    waiting = shared.submit([f"m{i}" for i in range(60)], is_query=False)
    with pytest.raises(EmbedQueueFull, match="5 texts to embed, room for 4"):
        shared.submit([f"n{i}" for i in range(5)], is_query=False)
    assert shared.waiting == 60
    inner.gate.set()
    waiting.result(WAIT_S)
    assert shared.embed(["n0"], is_query=False).shape == (1, 16)
    assert not any("n1" in texts for _, texts in inner.runs)


def test_synchronous_call_may_exceed_the_queue(inner: Gated) -> None:
    """`embed` takes any number of texts, for it asks for one slice after the other."""
    shared = BatchingEmbedder(inner, queue_texts_max=3)
    texts = [f"t{i}" for i in range(50)]
    assert np.array_equal(shared.embed(texts, is_query=False), rows(texts))
    assert max(len(texts) for _, texts in inner.runs) == 3
    shared.close()


def test_failure_stays_with_its_text(shared: BatchingEmbedder, inner: Gated) -> None:
    """A text that the model cannot embed fails its own caller, not those merged with it."""
    inner.hold(shared)
    good = shared.submit(["good"], is_query=True)
    bad = shared.submit(["poison"], is_query=True)
    inner.gate.set()
    assert np.array_equal(good.result(WAIT_S), rows(["good"], True))
    with pytest.raises(BadVector):
        bad.result(WAIT_S)
    assert shared.embed(["after"], is_query=True).shape == (1, 16)


def test_failed_slice_ends_its_submission(shared: BatchingEmbedder, inner: Gated) -> None:
    """After a failed slice the rest of that submission is not run."""
    with pytest.raises(BadVector):
        shared.submit(["poison", *(f"m{i}" for i in range(40))], is_query=False).result(WAIT_S)
    shared.embed(["after"], is_query=False)
    assert [len(texts) for _, texts in inner.runs] == [4, 1]
    assert shared.waiting == 0


def test_cancelled_submission_costs_no_run(shared: BatchingEmbedder, inner: Gated) -> None:
    """A submission cancelled while it waits is dropped, and its neighbours run."""
    inner.hold(shared)
    cancelled = shared.submit(["x"], is_query=True)
    kept = shared.submit(["y"], is_query=True)
    assert cancelled.cancel()
    inner.gate.set()
    kept.result(WAIT_S)
    assert inner.runs == [(True, ["y"])] and shared.waiting == 0
    with pytest.raises(CancelledError):
        cancelled.result(WAIT_S)


def test_close_settles_every_future(inner: Gated) -> None:
    """Closing finishes the run, fails what waits, refuses what comes, and may be repeated."""
    shared = BatchingEmbedder(inner)
    inner.gate.clear()
    running = shared.submit(["running"], is_query=True)
    assert inner.entered.wait(WAIT_S)
    waiting = shared.submit(["waiting"], is_query=True)
    dropped = shared.submit(["dropped"], is_query=False)
    dropped.cancel()
    closer = threading.Thread(target=shared.close)
    closer.start()
    inner.gate.set()
    closer.join(WAIT_S)
    assert np.array_equal(running.result(WAIT_S), rows(["running"], True))
    with pytest.raises(EmbedderClosed):
        waiting.result(WAIT_S)
    with pytest.raises(EmbedderClosed):
        shared.submit(["late"], is_query=True)
    shared.close()
    assert shared.waiting == 0


def test_no_cache(inner: Gated) -> None:
    """A cache of size 0 keeps nothing and changes no answer."""
    shared = BatchingEmbedder(inner, cache_max=0)
    answers = [shared.embed(["a"], is_query=False) for _ in range(2)]
    shared.close()
    assert np.array_equal(np.vstack(answers), rows(["a", "a"])) and len(inner.runs) == 2


@pytest.mark.parametrize(
    "limit", ["queue_texts_max", "requests_per_run_max", "memories_per_run_max", "cache_max"]
)
def test_limits_are_checked(limit: str) -> None:
    """A negative limit is refused."""
    with pytest.raises(ValueError, match="max"):
        BatchingEmbedder(HashEmbedder(), **{limit: -1})


@settings(max_examples=20, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=6), st.booleans()), max_size=20
    ),
    cache_max=st.integers(0, 5),
    run_max=st.integers(1, 4),
)
def test_any_mix_of_callers_gets_the_plain_answers(
    calls: list[tuple[list[str], bool]], cache_max: int, run_max: int
) -> None:
    """Whatever is cached, merged or sliced, every caller gets the wrapped embedder's rows."""
    shared = BatchingEmbedder(
        HashEmbedder(16),
        cache_max=cache_max,
        requests_per_run_max=run_max,
        memories_per_run_max=5 - run_max,
    )
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(shared.embed, texts, is_query=role) for texts, role in calls]
        for (texts, role), future in zip(calls, futures, strict=True):
            assert np.array_equal(future.result(WAIT_S), rows(texts, role))
    shared.close()
    assert shared.hits + shared.misses == sum(len(texts) for texts, _ in calls)
    assert shared.waiting == 0
