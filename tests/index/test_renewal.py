"""The rows of a partition under another model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.analyzer import Analyzer
from recalld.index.errors import BadVector
from recalld.index.filter import View
from recalld.index.generation import Generation
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.renewal import renewed
from recalld.scoring.params import RankParams
from tests.conformance.index_contract import unit_vectors
from tests.index.test_partition import NOW, many

ANALYZER = Analyzer()
OLD, NEW = RankParams(0.1, 0.1), RankParams(0.3, 0.05)
DIMS = {"old": 16, "new": 8}


def index_of(model: str) -> PartitionIndex:
    params = OLD if model == "old" else NEW
    return PartitionIndex(DIMS[model], params, ANALYZER, fingerprint=model)


def vectors_of(model: str, count: int, seed: int = 0) -> np.ndarray:
    return unit_vectors(count, seed)[:, : DIMS[model]] / np.linalg.norm(
        unit_vectors(count, seed)[:, : DIMS[model]], axis=1, keepdims=True
    )


@given(count=st.integers(0, 90), removed=st.integers(0, 80), k=st.integers(1, 20))
def test_renewed_rows_answer_as_a_fresh_index(count: int, removed: int, k: int) -> None:
    """After a renewal every search answers as an index that never knew the old model."""
    table, gone = many(count), list(range(1, min(removed, count) + 1))
    old, fresh, changed = index_of("old"), index_of("new"), index_of("new")
    old.add(table, vectors_of("old", count))
    old.remove(gone)
    vectors = vectors_of("new", count, seed=5)
    fresh.add(table, vectors)
    fresh.remove(gone)
    by_label = {row.label: vector for row, vector in zip(table, vectors, strict=True)}
    changed.generation = renewed(old.generation, changed.generation, by_label, {})
    plan = QueryPlan(
        View(NOW),
        vectors=vectors_of("new", 1, seed=3),
        texts=("topic5 w18",),
        k=k,
        fingerprint="new",
    )
    one, other = changed.search(plan), fresh.search(plan)
    assert one.labels.tolist() == other.labels.tolist()
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
    assert len(changed) == len(old) == count - len(gone)


def test_cues_are_exchanged() -> None:
    """Cues come with the new vectors, and none of the old model's stay."""
    old, changed = index_of("old"), index_of("new")
    cues = {1: vectors_of("old", 2, seed=2), 2: vectors_of("old", 1, seed=3)}
    old.add(many(3), vectors_of("old", 3), cues)
    fresh = vectors_of("new", 2, seed=4)
    vectors = dict(enumerate(vectors_of("new", 3), start=1))
    changed.generation = renewed(old.generation, changed.generation, vectors, {1: fresh})
    np.testing.assert_array_equal(changed.cues_of(1), fresh)
    assert len(changed.cues_of(2)) == 0


def test_unfit_vectors_are_refused() -> None:
    """A row without a vector, or with one that is not of unit length, ends the renewal."""
    old, changed = index_of("old"), index_of("new")
    old.add(many(2), vectors_of("old", 2))
    vectors = dict(enumerate(vectors_of("new", 2), start=1))
    with pytest.raises(KeyError):
        renewed(old.generation, changed.generation, {1: vectors[1]}, {})
    with pytest.raises(BadVector):
        renewed(old.generation, changed.generation, {**vectors, 2: vectors[2] * 2}, {})


@given(model=st.sampled_from(["old", "new", "", "third"]), dim=st.sampled_from([8, 16, 24]))
def test_vectors_of_two_models_are_never_compared(model: str, dim: int) -> None:
    """A plan asks rows of another model by its words alone, whatever the width of its vectors."""
    index = index_of("old")
    index.add(many(30), vectors_of("old", 30))
    wide = np.tile(unit_vectors(1, 3), 2)[:, :dim]
    vector = np.ascontiguousarray(wide / np.linalg.norm(wide))
    words = QueryPlan(View(NOW), texts=("topic5 w18",))
    asked = QueryPlan(View(NOW), vectors=vector, texts=("topic5 w18",), fingerprint=model)
    if model == "old":
        return
    found, expected = index.search(asked), index.search(words)
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_what_was_read_of_the_old_model_is_read_again() -> None:
    """A search that began before the switch is answered from the new rows, without a mixture."""
    old, changed = index_of("old"), index_of("new")
    old.add(many(9), vectors_of("old", 9))
    plan = QueryPlan(
        View(NOW), vectors=vectors_of("old", 1), texts=("topic5",), k=9, fingerprint="old"
    )
    reading = old.read(plan.texts, plan.text_weights, plan.time)
    vectors = dict(enumerate(vectors_of("new", 9, seed=1), start=1))
    changed.generation = renewed(old.generation, changed.generation, vectors, {})
    words = QueryPlan(View(NOW), texts=("topic5",), k=9)
    found, expected = changed.search(plan, reading), changed.search(words)
    assert isinstance(reading.generation, Generation)
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(found.scores, expected.scores)
