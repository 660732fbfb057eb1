"""Batches, request ids and refused lines of an import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.cli import exits, importer
from recalld.cli.importer import Line
from recalld.cli.record import Record
from recalld.client import Client, NewMemory
from recalld.client.testing import RunningServer


def lines_of(users: str) -> list[Line]:
    return [
        Line(number, Record({"user_id": user}, NewMemory(content=f"fact {number}")))
        for number, user in enumerate(users, start=1)
    ]


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in records), encoding="utf-8")
    return path


def test_batches_hold_one_scope_and_keep_the_order() -> None:
    """Each batch has one scope and at most the asked number of lines, in file order."""
    batched = list(importer.batches(lines_of("aababbb"), 4))
    assert [[line.number for line in batch] for batch in batched] == [[1, 2, 4], [3], [5, 6, 7]]


def test_request_id_depends_on_file_lines_and_scope() -> None:
    """The id of a batch is the same for the same file, lines and scope, and else another."""
    lines, scope = lines_of("aa"), {"user_id": "a"}
    first = importer.batch_id("h", lines, scope)
    assert first == importer.batch_id("h", lines, scope)
    others = {
        importer.batch_id("other", lines, scope),
        importer.batch_id("h", lines[:1], scope),
        importer.batch_id("h", lines, {"user_id": "b"}),
    }
    assert len({first, *others}) == 4


def test_scan_counts_and_names_bad_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With skip_bad bad lines are reported by number; without it the first one stops."""
    file = tmp_path / "f.jsonl"
    file.write_bytes(b'{"content": "a"}\n\n{"content": ""}\n\xff\n{"content": "b"}\n')
    checked = importer.scan(file, skip_bad=True)
    assert (checked.good_count, checked.bad_count) == (2, 2)
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "line 3",
        "line 4",
    ]
    with pytest.raises(exits.Failure, match="line 3: content"):
        importer.scan(file, skip_bad=False)


def test_a_line_that_the_server_refuses_is_named(
    tmp_path: Path, real_server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused line is named by its number; with skip_bad the rest of its batch is stored."""
    records = [{"content": "one"}, {"content": "x" * 9000}, {"content": "three"}]
    file = write(tmp_path / "f.jsonl", *records)
    with Client(real_server.target, user_id="refused") as client:
        checked = importer.scan(file, skip_bad=False)
        with pytest.raises(exits.Failure, match=r"line 2: .*INVALID_FIELD"):
            importer.store(client, checked, batch_count=64, resume=False)
        assert list(client.list()) == []
        checked = importer.scan(file, skip_bad=True)
        tally = importer.store(client, checked, batch_count=64, resume=False)
        assert (dict(tally.outcomes), tally.bad_count) == ({"created": 2}, 1)
        assert "line 2" in capsys.readouterr().err
        assert {memory.content for memory in client.list()} == {"one", "three"}


def test_a_resumed_import_repeats_nothing(tmp_path: Path, real_server: RunningServer) -> None:
    """A second run with resume gives the same outcomes and leaves the revision where it was."""
    file = write(tmp_path / "f.jsonl", *({"content": f"fact {n}"} for n in range(10)))
    with Client(real_server.target, user_id="resumed") as client:
        checked = importer.scan(file, skip_bad=False)
        first = importer.store(client, checked, batch_count=4, resume=True)
        revision = client.stats().revision
        again = importer.store(client, checked, batch_count=4, resume=True)
        assert first.outcomes == again.outcomes == {"created": 10}
        assert client.stats().revision == revision
