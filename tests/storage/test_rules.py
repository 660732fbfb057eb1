"""The rules of rows and what check says about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from recalld.storage import rules
from recalld.storage.errors import Corrupt, InvalidBatch
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage.samples import any_memory, memory, request


@given(stored=any_memory(1, 1, "acme"))
def test_a_valid_row_breaks_no_rule(stored: StoredMemory) -> None:
    """Every row drawn from the documented ranges passes."""
    assert list(rules.row_violations(stored)) == []


def test_every_broken_rule_of_a_row_is_named() -> None:
    """A row that breaks several rules gets one line for each."""
    bad = memory(1, 0, id="x", user_id="", status=9, content_hash=b"1", event_time_us=0)
    assert len(list(rules.row_violations(bad))) == 6


@pytest.mark.parametrize(
    ("cues", "rule"),
    [
        (np.zeros((1, 4), np.float32), "not float32"),
        (np.zeros((2, 4)), "not float32"),
        (np.zeros(2, np.float32), "not float32"),
        (np.zeros((2, 0), np.float32), "not float32"),
        (np.full((2, 4), np.nan, np.float32), "not finite"),
    ],
)
def test_vectors_of_cues_stand_one_for_each(cues: np.ndarray, rule: str) -> None:
    """Vectors of cues are finite float32 rows, as many as there are cues."""
    made = memory(1, 1, relevant_when=("a", "b"))
    (line,) = rules.row_violations(StoredMemory(made.record, made.vector, "m", cues))
    assert rule in line


def test_vectors_of_cues_need_a_vector() -> None:
    """Vectors of cues beside no vector of the text are a violation."""
    made = memory(1, 1, relevant_when=("a",), vector=None)
    (line,) = rules.row_violations(
        StoredMemory(made.record, None, "", np.zeros((1, 4), np.float32))
    )
    assert "without a vector" in line


def test_a_refusal_never_quotes_the_text() -> None:
    """The message names label and rule, not what the memory says."""
    with pytest.raises(InvalidBatch) as refused:
        rules.require_valid(WriteBatch("acme", 1, (memory(7, 1, content="secret\ud800"),)))
    assert "label 7" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_check_counts_and_quotes_only_the_first_labels() -> None:
    """One line per rule: how often it is broken, and the first five labels."""
    rows = [memory(label, 1, kind=99) for label in range(1, 9)]
    (line,) = rules.store_violations(rows, [], lambda: {"acme": 1})
    assert line == "kind is not a number of its enum: 8 (1, 2, 3, 4, 5, ...)"


def test_check_compares_requests_with_their_tenant() -> None:
    """A request of an unknown tenant and one without an id are violations."""
    lines = rules.store_violations(
        [memory(1, 3)], [request("r", tenant="zeta"), request("")], lambda: {"acme": 3}
    )
    assert lines == [
        "request: tenant has no revision: 1 (r)",
        "request: tenant or request_id is empty: 1 ()",
    ]


def test_what_was_found_before_damage_is_kept() -> None:
    """When a block cannot be read, the violations before it and the damage are reported."""

    def rows() -> Iterator[StoredMemory]:
        yield memory(1, 1, kind=99)
        raise Corrupt(Path("x"), "checksum")

    lines = rules.store_violations(rows(), [], lambda: {"acme": 1})
    assert len(lines) == 2
    assert "checksum" in lines[1]
