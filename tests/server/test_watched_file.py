"""A watched file: read again when it changes, and closed when it cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog

from recalld.server.errors import ConfigError, NotReady
from recalld.server.watched_file import FILE_BYTES_MAX, WatchedFile, read_private


def put(path: Path, text: str) -> None:
    """Puts a new file in place of the old one, as every command does."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    os.replace(fresh, path)


def number(path: Path) -> int:
    """The file's number."""
    try:
        return int(read_private(path))
    except ValueError:
        raise ConfigError(f"{path}: is no number") from None


def test_changes_are_seen(tmp_path: Path) -> None:
    """Each change counts with the next look, and nothing is read without one."""
    path = tmp_path / "n"
    put(path, "1")
    reads: list[Path] = []

    def parse(which: Path) -> int:
        reads.append(which)
        return number(which)

    watched = WatchedFile(path, parse, structlog.get_logger())
    assert [watched.current() for _ in range(3)] == [1, 1, 1]
    put(path, "2")
    assert [watched.current() for _ in range(3)] == [2, 2, 2]
    assert len(reads) == 2


@pytest.mark.parametrize("what", ["broken", "gone", "open"])
def test_nobody_gets_in_by_what_was(tmp_path: Path, what: str) -> None:
    """A file that is broken, gone or open to others closes the door, is told once, and heals."""
    path = tmp_path / "n"
    put(path, "1")
    with structlog.testing.capture_logs() as log:
        watched = WatchedFile(path, number, structlog.get_logger())
        if what == "broken":
            put(path, "x")
        elif what == "gone":
            path.unlink()
        else:
            path.chmod(0o644)
        for _ in range(3):
            with pytest.raises(NotReady, match="cannot read its credentials"):
                watched.current()
        put(path, "3")
        assert watched.current() == 3
    assert len(log) == 1 and str(path) in log[0]["problem"]


def test_the_first_reading_is_told_at_once(tmp_path: Path) -> None:
    """A file that is not there at the start is an error that names it."""
    with pytest.raises(ConfigError, match=str(tmp_path / "n")):
        WatchedFile(tmp_path / "n", number, structlog.get_logger())


def test_size(tmp_path: Path) -> None:
    """A file over the limit is refused."""
    path = tmp_path / "n"
    put(path, "")
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    with pytest.raises(ConfigError, match="more than"):
        read_private(path)
