"""The total order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.scoring.topk import SELECT_COUNT_MAX, kth_largest, select
from tests.scoring import naive

SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0, float("nan"), float("inf"), -1.0])
MEMORIES = st.lists(st.tuples(SCORES, st.integers(0, 3)), max_size=30)


def run(scores, create, labels, k):
    """Call select with the real types."""
    return select(
        np.array(scores, dtype=np.float32),
        np.array(create, dtype=np.int64),
        np.array(labels, dtype=np.int64),
        k,
    ).tolist()


@given(MEMORIES, st.integers(0, 40))
def test_the_best_are_those_of_a_full_sort(memories, k):
    """Top k is the head of the sort by score, then newer, then larger label; NaN never appears."""
    scores, create = [m[0] for m in memories], [m[1] for m in memories]
    labels = list(range(1, len(memories) + 1))
    assert run(scores, create, labels, k) == naive.top(scores, create, labels, k)


@given(MEMORIES, st.integers(1, 10), st.randoms())
def test_the_order_of_the_input_changes_nothing(memories, k, random):
    """Shuffled rows give the same labels."""
    rows = [(s, c, i + 1) for i, (s, c) in enumerate(memories)]
    shuffled = rows.copy()
    random.shuffle(shuffled)
    first = [rows[i][2] for i in run(*zip(*rows, strict=True), k)] if rows else []
    again = [shuffled[i][2] for i in run(*zip(*shuffled, strict=True), k)] if rows else []
    assert first == again


def test_ties_go_to_the_newer_then_to_the_larger_label():
    """Equal scores: newest first; same time too: the larger label first."""
    assert run([0.5, 0.5, 0.5, 0.9], [7, 9, 9, 0], [1, 2, 3, 4], 4) == [3, 2, 1, 0]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, -2.0]), min_size=1, max_size=20), st.data())
def test_the_kth_largest_is_that_of_a_sort(values, data):
    """The k-th largest counts equal values one by one."""
    k = data.draw(st.integers(1, len(values)))
    assert kth_largest(np.array(values, dtype=np.float32), k) == sorted(values, reverse=True)[k - 1]


def test_the_kth_largest_is_right_beyond_the_selection_limit():
    """For large k the other algorithm gives the same."""
    values = np.arange(1000, dtype=np.float32) % 300
    for k in (SELECT_COUNT_MAX, SELECT_COUNT_MAX + 1, 1000):
        assert kth_largest(values, k) == sorted(values.tolist(), reverse=True)[k - 1]
