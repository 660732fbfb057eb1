"""Exact search."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index.exact import ExactBackend, VectorBlock
from tests.conformance.index_contract import DIM, IndexContract, unit_vectors


class TestExactBackend(IndexContract):
    """The contract, with nothing missed."""

    def make(self) -> ExactBackend:
        return ExactBackend(DIM)


@settings(max_examples=25)
@given(st.integers(1, 3000), st.integers(1, 30), st.integers(0, 1000))
def test_no_neighbour_is_missed(count, k, seed):
    """The two-pass search gives the similarities of a full float64 sort, at any size."""
    vectors = unit_vectors(count, seed)
    backend = ExactBackend(DIM)
    backend.add(np.arange(1, count + 1), vectors)
    query = unit_vectors(1, seed + 1)[0]
    truth = np.sort(vectors.astype(np.float64) @ query.astype(np.float64))[::-1][:k]
    assert np.allclose(backend.search(query, k)[1], truth, atol=1e-6)


def test_a_block_grows_without_moving_what_others_read():
    """An older view of a block shows the same rows after the block has grown many times."""
    vectors = unit_vectors(300)
    block = VectorBlock.empty(DIM)
    views = []
    for start in range(0, 300, 7):
        block = block.appended(vectors[start : start + 7])
        views.append(block)
    for view in views:
        assert np.array_equal(view.vectors[: view.count], vectors[: view.count])
    kept = block.compacted(np.array([3, 299]))
    assert np.array_equal(kept.vectors, vectors[[3, 299]])
