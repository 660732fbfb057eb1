"""Memories for benches."""

import numpy as np

from recalld.bench import corpus
from recalld.bench.bench_recall import recall_at_10
from recalld.bench.requests import FILTERS


def test_filters_match_the_share_that_they_name():
    """Of a hundred memories the filter of 1 % matches one, that of 10 % ten, the last all."""
    spaces = [corpus.namespace(number) for number in range(100)]
    for share in (1, 10):
        prefix = FILTERS[share].namespace_prefix
        assert sum(s == prefix or s.startswith(f"{prefix}/") for s in spaces) == share
    assert FILTERS[100].WhichOneof("test") == "kind"


def test_nearest_is_the_sorted_product():
    """The exact answer is what sorting every similarity by hand gives."""
    vectors, queries = corpus.unit_vectors(40, 1), corpus.unit_vectors(3, 2)
    found = corpus.nearest(vectors, queries, 4)
    for query, numbers in zip(queries, found, strict=True):
        by_hand = sorted(range(40), key=lambda n: -float(np.dot(vectors[n], query)))
        assert numbers.tolist() == by_hand[:4]


def test_a_filled_directory_is_served_whole(tmp_path):
    """What was written past the server is found by it, exactly, under every filter."""
    size = corpus.fill(tmp_path, {"user-300": 300, "other": 5})
    assert size.rows == 305
    assert size.vector_bytes == 305 * 384 * 4
    assert size.text_bytes == sum(len(corpus.content(n)) for n in (*range(300), *range(5)))
    with corpus.serving(tmp_path) as server:
        for share in FILTERS:
            queries = corpus.unit_vectors(4, 3)
            found = recall_at_10(server, 300, queries, share)
            assert found == 1.0
