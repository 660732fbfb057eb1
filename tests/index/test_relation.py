"""Neighbours in a conversation, and what they say for one another."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.columns import Columns, IndexRow
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.relation import find_neighbours
from recalld.scoring.params import PRIVATE, Channel
from tests.index.naive_search import PARAMS, neighbours

MINUTE_US = 60_000_000
NOW = 10**15


def columns_of(rows: list[IndexRow]) -> Columns:
    """Columns that hold the rows in this order."""
    return Columns.empty().appended(rows)


def labels(columns: Columns) -> set[tuple[int, int]]:
    """Pairs of neighbours by label."""
    found = find_neighbours(columns)
    return set(
        zip(
            columns.labels[found.earlier].tolist(),
            columns.labels[found.later].tolist(),
            strict=True,
        )
    )


TURN = st.builds(
    IndexRow,
    label=st.just(0),
    text=st.just("x"),
    kind=st.just(1),
    key=st.sampled_from(["", "", "home"]),
    event_time_us=st.sampled_from([0, 1, MINUTE_US, 2 * MINUTE_US, 9 * MINUTE_US]),
    session_id=st.sampled_from(["", "a", "b"]),
    source_session_id=st.sampled_from(["", "a"]),
    agent_id=st.sampled_from(["", "agent"]),
)


@given(st.lists(TURN, max_size=12), st.randoms(use_true_random=False))
def test_neighbours_equal_the_naive_ones_in_any_order_of_rows(turns, random):
    """The pairs are those of a plain sort, and the same however the rows came in."""
    rows = [replace(turn, label=label) for label, turn in enumerate(turns, 1)]
    expected = neighbours(rows)
    assert labels(columns_of(rows)) == expected
    random.shuffle(rows)
    assert labels(columns_of(rows)) == expected


def talk(*turns: tuple[str, dict]) -> PartitionIndex:
    """A partition of turns a minute apart, all as near to any request."""
    index = PartitionIndex(4, PARAMS)
    rows = [
        IndexRow(label, text, 1, event_time_us=label * MINUTE_US, **fields)
        for label, (text, fields) in enumerate(turns, 1)
    ]
    index.add(rows, np.tile(np.float32([1, 0, 0, 0]), (len(rows), 1)))
    return index


def test_an_answer_comes_with_its_question():
    """The turn behind the one that holds the words of the request comes second, others after it."""
    index = talk(
        ("we had soup", {}),
        ("when did you adopt the puppy", {}),
        ("last May", {}),
        ("the weather is fine", {}),
    )
    ranking = index.search(QueryPlan(View(NOW), texts=("adopt puppy",), k=4))
    assert ranking.labels.tolist()[0] == 2
    assert set(ranking.labels.tolist()[1:3]) == {1, 3}
    gained = min(1.0, ranking.normalised[Channel.KEYWORD, 0] / 0.6)
    assert np.allclose(ranking.normalised[Channel.RELATION, :3], [0, gained, gained])


def test_a_memory_that_may_not_be_seen_says_nothing_of_its_neighbours():
    """Words of another agent's private turn raise no visible one."""
    hidden = {"visibility": PRIVATE, "agent_id": "other"}
    seen = {"agent_id": "other"}
    index = talk(("adopt puppy", hidden), ("last May", seen))
    ranking = index.search(QueryPlan(View(NOW), texts=("adopt puppy",), k=4))
    assert ranking.labels.tolist() == [2]
    assert ranking.normalised[Channel.RELATION].tolist() == [0.0]
    asked = View(NOW, agent_id="other")
    ranking = index.search(QueryPlan(asked, texts=("adopt puppy",), k=4))
    assert ranking.labels.tolist() == [1, 2]
    assert ranking.normalised[Channel.RELATION, 1] > 0.2
