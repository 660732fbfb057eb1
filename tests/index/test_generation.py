"""What most memories of a partition are, which decides how they are found."""

from __future__ import annotations

import numpy as np
import pytest

from recalld.index.columns import IndexRow
from recalld.index.partition import PartitionIndex
from recalld.scoring.params import DOCUMENT, EVENT, FACT, PREFERENCE, Makeup
from tests.index.naive_search import PARAMS

HOUR_US = 3_600_000_000


def partition_of(kinds: list[int], apart_us: int = HOUR_US) -> PartitionIndex:
    """A partition of rows of these kinds, told one after the other."""
    index = PartitionIndex(2, PARAMS)
    rows = [
        IndexRow(n, "x", kind, event_time_us=n * apart_us, create_time_us=n * apart_us)
        for n, kind in enumerate(kinds, 1)
    ]
    index.add(rows, np.tile(np.array([[1, 0]], np.float32), (len(rows), 1)))
    return index


@pytest.mark.parametrize(
    ("kinds", "makeup"),
    [
        ([FACT, PREFERENCE, EVENT], Makeup.STATEMENTS),
        ([FACT, EVENT], Makeup.STATEMENTS),
        ([EVENT, DOCUMENT, FACT], Makeup.EVENTS),
    ],
)
def test_makeup_is_what_most_rows_are(kinds: list[int], makeup: Makeup) -> None:
    """More than half of the rows decide."""
    assert partition_of(kinds).generation.makeup == makeup


def test_removed_rows_do_not_count() -> None:
    """What was removed says nothing of what is left."""
    index = partition_of([EVENT, EVENT, FACT])
    index.remove([1, 2])
    assert index.generation.makeup == Makeup.STATEMENTS


def test_rows_beside_one_another_are_turns() -> None:
    """Events told within minutes are turns of talk."""
    assert partition_of([EVENT] * 4, apart_us=1_000_000).generation.makeup == Makeup.TURNS
