"""The real file operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.storage.fsio import Files


def test_files_and_directories_are_synced_and_renamed(tmp_path: Path) -> None:
    """Sync accepts a file and a directory; rename replaces its target."""
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("new")
    target.write_text("old")
    files = Files()
    files.sync_file(source)
    files.rename(source, target)
    files.sync_directory(tmp_path)
    assert target.read_text() == "new"
    assert not source.exists()


def test_what_cannot_be_synced_raises(tmp_path: Path) -> None:
    """A missing file, and a file given as directory, raise instead of passing."""
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError):
        Files().sync_file(tmp_path / "none")
    with pytest.raises(NotADirectoryError):
        Files().sync_directory(tmp_path / "file")
