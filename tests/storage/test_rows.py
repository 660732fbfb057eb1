"""Flattening and rebuilding rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from recalld.storage import details, rows
from recalld.storage.record import MemoryRecord, Source
from recalld.storage.store import StoredMemory
from tests.storage.samples import any_memory, memory, plain


def columns_of(memories: list[StoredMemory]) -> dict[str, list[object]]:
    flat = [rows.row_of(stored) for stored in memories]
    return {name: [row[n] for row in flat] for n, (name, _) in enumerate(rows.COLUMNS)}


@given(first=any_memory(1, 1, "acme"), second=any_memory(2, 1, "zeta"))
def test_rows_come_back_as_they_were(first: StoredMemory, second: StoredMemory) -> None:
    """Rebuilding flattened rows gives equal records, vectors and fingerprints."""
    rebuilt = rows.memories_of(columns_of([first, second]))
    assert [plain(stored) for stored in rebuilt] == [plain(first), plain(second)]


def test_every_field_of_the_record_has_a_column() -> None:
    """No field of the record is without a column or a detail, scope and source being flattened."""
    columns = {name for name, _ in rows.COLUMNS} | set(details.FIELDS)
    for field in dataclasses.fields(MemoryRecord):
        if field.name == "scope":
            assert {"tenant", "user_id", "agent_id", "session_id", "namespace"} <= columns
        elif field.name == "source":
            assert {f"source.{part.name}" for part in dataclasses.fields(Source)} <= columns
        elif field.name == "relevant_when":
            assert "relevant_when_json" in columns
        else:
            assert field.name in columns


def test_vectors_are_little_endian_and_read_only() -> None:
    """A vector is stored as little-endian float32 and comes back read-only."""
    stored = memory(1, 1, vector=np.array([1.0, -2.0], np.float32))
    columns = columns_of([stored])
    assert columns["embedding"] == [b"\x00\x00\x80\x3f\x00\x00\x00\xc0"]
    (rebuilt,) = rows.memories_of(columns)
    assert rebuilt.vector is not None
    assert not rebuilt.vector.flags.writeable


def test_vectors_of_cues_are_whole_rows() -> None:
    """Vectors of cues come back as one row per cue; bytes that make no whole rows are an error."""
    made = memory(1, 1, relevant_when=("a", "b"))
    stored = StoredMemory(made.record, made.vector, "m", np.array([[1], [-2]], np.float32))
    columns = columns_of([stored])
    assert columns["cue_embedding"] == [b"\x00\x00\x80\x3f\x00\x00\x00\xc0"]
    (rebuilt,) = rows.memories_of(columns)
    assert rebuilt.cues is not None
    assert rebuilt.cues.tolist() == [[1.0], [-2.0]]
    columns["cue_embedding"] = [b"1234" * 3]
    with pytest.raises(ValueError, match="reshape"):
        rows.memories_of(columns)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("embedding", b"123"),
        ("relevant_when_json", "["),
        ("cue_embedding", b"1234" * 4),
        ("details", bytes(details.FIXED_BYTES - 1)),
        ("details", bytes(details.FIXED_BYTES + 1)),
    ],
)
def test_a_malformed_row_is_an_error(column: str, value: object) -> None:
    """Odd vectors, cues that are no JSON, vectors of no cue and cut details are a ValueError."""
    columns = columns_of([memory(1, 1)])
    columns[column] = [value]
    with pytest.raises(ValueError, match=r".+"):
        rows.memories_of(columns)
