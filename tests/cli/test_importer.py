"""Batches, request ids and refused lines of an import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.cli import checked_file, exits, importer
from recalld.cli.checked_file import CheckedFile, Line, Terms
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


def checked(file: Path, user: str, **terms: bool) -> CheckedFile:
    """A file that was checked without any limits, so that the server finds what is over them."""
    return checked_file.scan(file, Terms({"user_id": user}, {}, **terms))


def store(
    client: Client, file: CheckedFile, batch_count: int = 64, *, resume: bool = False
) -> importer.Tally:
    tally = importer.Tally()
    importer.store(client, file, tally, batch_count=batch_count, resume=resume)
    return tally


def test_a_line_that_the_server_refuses_is_named(
    tmp_path: Path, real_server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused line is named by its number; with skip_bad the rest of its batch is stored."""
    records = [{"content": "one"}, {"content": "x" * 9000}, {"content": "three"}]
    file = write(tmp_path / "f.jsonl", *records)
    with Client(real_server.target, user_id="refused") as client:
        with pytest.raises(exits.Failure, match=r"line 2: .*INVALID_FIELD"):
            store(client, checked(file, "refused"))
        assert list(client.list()) == []
        tally = store(client, checked(file, "refused", skip_bad=True))
        assert (dict(tally.outcomes), tally.bad_count) == ({"created": 2}, 1)
        assert "line 2" in capsys.readouterr().err
        assert {memory.content for memory in client.list()} == {"one", "three"}


def test_the_tally_is_right_when_an_import_ends_early(
    tmp_path: Path, real_server: RunningServer
) -> None:
    """After a failure in the third batch the tally holds the two that are stored."""
    contents = ["one", "two", "three", "four", "x" * 9000]
    file = write(tmp_path / "f.jsonl", *({"content": content} for content in contents))
    tally = importer.Tally()
    with Client(real_server.target, user_id="early") as client:
        with pytest.raises(exits.Failure, match="line 5"):
            importer.store(client, checked(file, "early"), tally, batch_count=2, resume=False)
        assert (dict(tally.outcomes), tally.stored_count()) == ({"created": 4}, 4)
        assert len(list(client.list())) == 4


def test_a_resumed_import_repeats_nothing(tmp_path: Path, real_server: RunningServer) -> None:
    """A second run with resume counts what the first stored as such and writes nothing."""
    file = write(tmp_path / "f.jsonl", *({"content": f"fact {n}"} for n in range(10)))
    with Client(real_server.target, user_id="resumed") as client:
        first = store(client, checked(file, "resumed"), 4, resume=True)
        revision = client.stats().revision
        again = store(client, checked(file, "resumed"), 4, resume=True)
        assert (dict(first.outcomes), first.repeated_count) == ({"created": 10}, 0)
        assert (dict(again.outcomes), again.repeated_count) == ({}, 10)
        assert again.stored_count() == 10
        assert client.stats().revision == revision


def test_a_resumed_import_goes_on(tmp_path: Path, real_server: RunningServer) -> None:
    """After an early end a second run repeats the batches stored and writes the others."""
    file = write(tmp_path / "f.jsonl", *({"content": f"fact {n}"} for n in range(6)))
    with Client(real_server.target, user_id="going-on") as client:
        whole = checked(file, "going-on")
        lines = list(checked_file.good_lines(whole))[:4]
        scope = {"user_id": "going-on"}
        for batch in (lines[:2], lines[2:]):
            memories = [line.record.memory for line in batch]
            client.remember(memories, request_id=importer.batch_id(whole.file_hash, batch, scope))
        tally = store(client, whole, 2, resume=True)
        assert (dict(tally.outcomes), tally.repeated_count) == ({"created": 2}, 4)


def test_resume_keeps_users_and_agents_apart(tmp_path: Path, real_server: RunningServer) -> None:
    """The same file goes to a second user, and to an agent, as writes of their own."""
    file = write(tmp_path / "f.jsonl", {"content": "one"}, {"content": "two"})
    with Client(real_server.target) as client:
        for scope in (
            {"user_id": "apart-1"},
            {"user_id": "apart-2"},
            {"user_id": "apart-2", "agent_id": "a"},
        ):
            taken = checked_file.scan(file, Terms(scope, {}))
            tally = store(client, taken, resume=True)
            assert (tally.outcomes.total(), tally.repeated_count) == (2, 0)
        assert len(list(client.list(user_id="apart-1"))) == 2
