"""Reading and checking a file before an import."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from recalld.cli import checked_file, exits
from recalld.cli.checked_file import Terms

USER = {"user_id": "u"}
LIMITS = {"content_bytes_max": 8}


def test_bad_lines_are_named_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With skip_bad bad lines are reported by number; without it the first one stops."""
    file = tmp_path / "f.jsonl"
    file.write_bytes(
        b'{"content": "a"}\n\n{"content": ""}\n\xff\n{"content": "b"}\n{"content": "123456789"}\n'
    )
    checked = checked_file.scan(file, Terms(USER, LIMITS, skip_bad=True))
    assert (checked.good_count, checked.bad_lines) == (2, {3, 4, 6})
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "line 3",
        "line 4",
        "line 6",
    ]
    assert [line.number for line in checked_file.good_lines(checked)] == [1, 5]
    with pytest.raises(exits.Failure, match="line 3: content"):
        checked_file.scan(file, Terms(USER, LIMITS))


def test_a_line_wins_over_the_scope_given(tmp_path: Path) -> None:
    """What a line names holds, the rest comes from the terms; lines of other users are counted."""
    file = tmp_path / "f.jsonl"
    file.write_text(
        '{"content": "a"}\n{"content": "b", "user_id": "v", "agent_id": ""}\n'
        '{"content": "c", "user_id": "u", "namespace": "n"}\n'
    )
    scope = {**USER, "agent_id": "a"}
    checked = checked_file.scan(file, Terms(scope, LIMITS))
    assert [line.record.scope for line in checked_file.good_lines(checked)] == [
        {"user_id": "u", "agent_id": "a"},
        {"user_id": "v", "agent_id": "a"},
        {"user_id": "u", "agent_id": "a", "namespace": "n"},
    ]
    assert checked.own_users == {"v": 1}


def test_as_user_takes_the_user_given(tmp_path: Path) -> None:
    """With as_user every line has the user of the terms; agents and namespaces stay the line's."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"content": "b", "user_id": "v", "agent_id": "x"}\n')
    checked = checked_file.scan(file, Terms(USER, LIMITS, as_user=True))
    (line,) = checked_file.good_lines(checked)
    assert line.record.scope == {"user_id": "u", "agent_id": "x"}
    assert checked.own_users == {}


def test_a_line_without_any_user_names_the_option(tmp_path: Path) -> None:
    """A line for which no user is known says that --user gives one."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"content": "a"}\n')
    with pytest.raises(exits.Failure, match=r"line 1: user_id: missing; .* --user"):
        checked_file.scan(file, Terms({}, LIMITS))


def test_a_pipe_can_be_read_twice(tmp_path: Path) -> None:
    """A pipe is copied to a private file, which is gone afterwards; a file is read in place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"content": "a"}\n' * 3,))
    writer.start()
    with checked_file.readable(pipe) as copy:
        writer.join()
        assert copy.read_bytes() == copy.read_bytes() == b'{"content": "a"}\n' * 3
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not copy.exists()
    file = tmp_path / "f.jsonl"
    file.write_bytes(b"")
    with checked_file.readable(file) as same:
        assert same == file
