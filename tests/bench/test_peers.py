"""The comparison with other stores, by the two that the tests' environment has."""

import sys

import numpy as np
import pytest

from recalld.bench.corpus import nearest, unit_vectors
from recalld.bench.peers.compare import share_found, theirs
from recalld.bench.peers.stores import K


@pytest.mark.parametrize("name", ["numpy", "hnswlib"])
def test_a_peer_answers_in_a_process_of_its_own(tmp_path, name):
    """It gets the same vectors and questions, and its answers are held against exact search."""
    stored, queries = unit_vectors(60, 1), unit_vectors(3, 2)
    data = tmp_path / "data.npz"
    np.savez(data, stored=stored, queries=queries)
    found = theirs(name, sys.executable, data, nearest(stored, queries, K))
    assert found.recall_at_10 == 1.0
    assert 0 < found.p50_s <= found.p99_s
    assert found.figures(60)[f"{name}_60_recall_at_10"] == 1.0


def test_the_share_found_counts_whatever_the_order():
    """Two of four wanted ones are a half, in any order, however many were given beside them."""
    exact = np.array([[1, 2], [3, 4]])
    assert share_found([[2, 9, 8], [4]], exact) == 0.5
    assert share_found([[2, 1], [3, 4]], exact) == 1.0
