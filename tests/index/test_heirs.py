"""Heirs: what replaced a memory answers for it."""

from typing import Any

import numpy as np
import pytest

from recalld.index.columns import Columns, IndexRow
from recalld.index.filter import View
from recalld.index.heirs import find_heirs
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring.params import (
    ACTIVE,
    FORGOTTEN,
    PRIVATE,
    SUPERSEDED,
    Channel,
    Doubt,
    RankParams,
)

NEAR, FAR = np.eye(4, dtype=np.float32)[0], np.eye(4, dtype=np.float32)[1]


def row(label: int, text: str = "x", **fields: Any) -> IndexRow:
    """A row whose identity is its label."""
    return IndexRow(label, text, 1, identity=label, **fields)


def partition(*rows: IndexRow) -> PartitionIndex:
    """Rows of which the first is near the request, all others far."""
    index = PartitionIndex(4, RankParams(0.0, 0.1))
    index.add(rows, np.stack([NEAR, *[FAR] * (len(rows) - 1)]))
    return index


def scores(index: PartitionIndex, **fields: Any) -> dict[int, float]:
    """Score by label of what a request near the first row finds."""
    asked: dict[str, Any] = {"view": View(10), **fields}
    found = index.search(QueryPlan(vectors=NEAR[None], k=10, **asked))
    return dict(zip(found.labels.tolist(), found.scores.tolist(), strict=True))


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_last_of_a_chain_is_the_heir(count: int) -> None:
    """What was replaced again and again leads to what holds now."""
    rows = [row(label, heir=label + 1 if label < count else 0) for label in range(1, count + 1)]
    found = find_heirs(Columns.empty().appended(rows))
    assert found.older.tolist() == list(range(count - 1))
    assert found.heir.tolist() == [count - 1] * (count - 1)


def test_a_heir_that_is_gone_leads_nowhere() -> None:
    """An id that no live row has, or a row removed since, is no heir."""
    columns = Columns.empty().appended([row(1, heir=9), row(2, heir=3), row(3)])
    assert len(find_heirs(columns.removed([2])).older) == 0


def test_a_heir_has_the_score_of_what_it_replaced() -> None:
    """The one near the request is left out, and its heir scores what it would have scored."""
    replaced = row(1, status=SUPERSEDED, heir=2, superseded_time_us=5, superseded_from_us=5)
    alone = scores(partition(row(1), row(2), row(3)))
    found = scores(partition(replaced, row(2), row(3)))
    assert set(found) == {2, 3}
    assert found[2] == pytest.approx(alone[1])
    assert found[3] == pytest.approx(alone[3])


def test_a_doubtful_one_stands_behind_its_heir() -> None:
    """What is possibly outdated still answers, faded, and its heir before it."""
    found = scores(partition(row(1, doubt=Doubt.OUTDATED, heir=2), row(2), row(3)))
    assert list(found) == [2, 1, 3]


@pytest.mark.parametrize("status", [ACTIVE, FORGOTTEN])
def test_only_what_was_replaced_hands_on(status: int) -> None:
    """A memory that still holds, or one that was forgotten, hands nothing on."""
    found = scores(partition(row(1, status=status, heir=2), row(2), row(3)))
    assert found[2] == pytest.approx(found[3])


def test_what_the_asker_may_not_see_hands_nothing_on() -> None:
    """A private memory of another agent speaks for nothing that this one sees."""
    times = {"superseded_time_us": 5, "superseded_from_us": 5}
    replaced = row(1, status=SUPERSEDED, heir=2, visibility=PRIVATE, agent_id="a", **times)
    index = partition(replaced, row(2), row(3))
    found = scores(index, view=View(10, agent_id="b"))
    assert found[2] == pytest.approx(found[3])
    assert scores(index, view=View(10, agent_id="a"))[2] > found[2]


def test_nothing_is_inherited_in_the_past() -> None:
    """At a time when the older one held, it answers itself."""
    replaced = row(1, status=SUPERSEDED, heir=2, superseded_time_us=8, superseded_from_us=8)
    found = scores(partition(replaced, row(2), row(3)), view=View(10, as_of_us=6))
    assert next(iter(found)) == 1
    assert found[2] == pytest.approx(found[3])


def test_exact_evidence_is_not_inherited() -> None:
    """The room that was given up is no identifier of the new one; its words are."""
    replaced = row(1, "ward round in room B-301", status=SUPERSEDED, heir=2)
    index = partition(replaced, row(2, "ward round in room B-417"), row(3, "lunch"))
    found = index.search(QueryPlan(View(10), texts=("ward round room B-301",), k=10))
    place = found.labels.tolist().index(2)
    assert found.normalised[Channel.IDENTIFIER, place] == 0
    assert found.normalised[Channel.KEYWORD, place] > 0
    assert found.inherited.tolist()[place]
