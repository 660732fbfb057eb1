"""Finding and cutting the zeros that end a log."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.storage import wal
from recalld.storage.fsio import Files


@given(head=st.binary(max_size=40), zeros=st.integers(0, 40), block=st.integers(1, 16))
def test_the_zero_tail_is_measured_at_any_block_size(head: bytes, zeros: int, block: int) -> None:
    """The count is that of trailing zeros, wherever the blocks of reading fall."""
    content = head + bytes(zeros)
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(wal, "READ_BYTES", block)
        file.write(content)
        file.flush()
        assert wal.zero_tail_bytes(Path(file.name)) == len(content) - len(content.rstrip(b"\0"))


def test_a_missing_log_has_no_tail(tmp_path: Path) -> None:
    """A log that does not exist has no zeros to cut."""
    assert wal.zero_tail_bytes(tmp_path / "none") == 0


def test_the_copy_is_durable_before_the_cut(tmp_path: Path) -> None:
    """The log is still whole when its copy and the copy's name are synced."""
    log = tmp_path / "x.wal"
    log.write_bytes(b"rows\0\0\0")
    sizes: list[tuple[str, int]] = []

    class Recording(Files):
        def sync_file(self, path: Path) -> None:
            sizes.append((path.name, log.stat().st_size))

        def sync_directory(self, path: Path) -> None:
            sizes.append(("directory", log.stat().st_size))

    copy, cut_bytes = wal.cut_zero_tail(log, Recording())
    assert (copy.name, cut_bytes) == ("x.wal.damaged-1", 3)
    assert copy.read_bytes() == b"rows\0\0\0"
    assert log.read_bytes() == b"rows"
    assert sizes == [("x.wal.damaged-1", 7), ("directory", 7), ("x.wal", 4)]


def test_copies_are_numbered(tmp_path: Path) -> None:
    """An older copy is never overwritten."""
    log = tmp_path / "x.wal"
    for number in (1, 2, 3):
        log.write_bytes(b"a" * number + b"\0")
        copy, _ = wal.cut_zero_tail(log, Files())
        assert copy.name == f"x.wal.damaged-{number}"
    assert (tmp_path / "x.wal.damaged-1").read_bytes() == b"a\0"
