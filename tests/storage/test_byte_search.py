"""Patterns against `bytes.find`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.storage import byte_search
from recalld.storage.byte_search import WINDOW_BYTES, Patterns

# Few letters, so that windows repeat and stand in each other.
TEXTS = st.binary(min_size=WINDOW_BYTES, max_size=20).map(lambda raw: bytes(b % 3 for b in raw))


@given(
    st.lists(TEXTS, max_size=6),
    st.lists(TEXTS | st.binary(max_size=30), max_size=8),
    st.integers(1, 64),
)
def test_it_finds_what_stands_there(
    patterns: list[bytes], parts: list[bytes], block_bytes: int
) -> None:
    """At any offset and over any border of blocks, exactly the patterns that are in the file."""
    data = b"".join(parts)
    handle, name = tempfile.mkstemp()
    os.close(handle)
    path = Path(name)
    path.write_bytes(data)
    usual = byte_search.BLOCK_BYTES
    byte_search.BLOCK_BYTES = block_bytes
    try:
        assert Patterns(patterns).found_in(path) == {p for p in patterns if p in data}
    finally:
        byte_search.BLOCK_BYTES = usual
        path.unlink()


def test_short_patterns_are_left_out(tmp_path: Path) -> None:
    """A pattern of fewer bytes than a window is not looked for: it stands anywhere by chance."""
    (tmp_path / "f").write_bytes(b"hello, hello")
    patterns = Patterns([b"hello", b""])
    assert (len(patterns), patterns.found_in(tmp_path / "f")) == (0, set())


def test_a_vector_of_mostly_zeros_is_found_among_zeros(tmp_path: Path) -> None:
    """The window of a sparse vector is where it is not zero, so empty blocks cost nothing."""
    vector = bytes(400) + bytes(range(1, 13)) + bytes(200)
    (tmp_path / "f").write_bytes(bytes(3_000_000) + vector + bytes(3_000_000))
    assert Patterns([vector]).found_in(tmp_path / "f") == {vector}
    assert byte_search._rarest_window(vector) == 405


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A missing file is never taken for one without the pattern."""
    with pytest.raises(FileNotFoundError):
        Patterns([b"12345678"]).found_in(tmp_path / "none")
