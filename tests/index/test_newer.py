"""Of statements that say the like the later one leads, unless the request names the other."""

import numpy as np
import pytest

from recalld.index.columns import IndexRow
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from tests.index.naive_search import PARAMS

DAY_US = 86_400_000_000
NOW = 100 * DAY_US


@pytest.mark.parametrize(
    ("text", "first"),
    [("where is my order", 2), ("where is my order DD-71", 1), ("where is my order DD-72", 2)],
)
def test_the_one_that_the_request_names_comes_first(text: str, first: int) -> None:
    """Two orders are told in like words: the later leads only where neither is named."""
    index = PartitionIndex(4, PARAMS)
    rows = [
        IndexRow(label, f"my order DD-7{label} is on its way", 1, event_time_us=label * DAY_US)
        for label in (1, 2)
    ]
    index.add(rows, np.tile(np.float32([1, 0, 0, 0]), (2, 1)))
    vectors = np.float32([[1, 0, 0, 0]])
    ranking = index.search(QueryPlan(View(NOW), vectors=vectors, texts=(text,), k=2))
    assert ranking.labels.tolist()[0] == first
