"""import and export against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from recalld.client.testing import RunningServer

from .conftest import Recalld, run_on_terminal


def test_export_and_import_round_trip(recalld: Recalld, tmp_path: Path) -> None:
    """What is exported, imported after everything was forgotten, and exported again is the same."""
    options = ["--key", "reply_style", "--kind", "preference", "--value", '{"form": "short"}']
    recalld("remember", "回答要简短", "-u", "t1", *options, "--namespace", "project/alpha")
    recalld("remember", "Bought a microscope", "-u", "t1", "--kind", "event", "--when", "lab work")
    recalld("remember", "Allergic to peanuts", "-u", "t1", "--importance", "pinned")
    file = tmp_path / "t1.jsonl"
    exported = recalld("export", "-u", "t1", "--out", str(file))
    assert exported.err == f"3 memories written to {file}\n"
    before = file.read_text(encoding="utf-8")
    moved = before.replace('"user_id": "t1"', '"user_id": "t1-copy"')
    file.write_text(moved, encoding="utf-8")
    assert recalld("import", str(file)).out == "3 created\n"
    assert recalld("export", "-u", "t1-copy").out == moved


def test_import_reports_outcomes(recalld: Recalld, tmp_path: Path) -> None:
    """Created, refreshed, superseding and bad lines are counted apart."""
    file = tmp_path / "f.jsonl"
    home = {"key": "location.home", "content": "Lives in Chengdu", "event_time": 1}
    moved = {"key": "location.home", "content": "Lives in Hangzhou", "event_time": 9}
    lines = [home, home, moved, {"content": "x", "nope": 1}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    stopped = recalld("import", str(file), "-u", "t2")
    assert stopped.code == 1
    assert stopped.err.startswith("error: line 4: unknown field 'nope'")
    assert recalld("list", "-u", "t2").out == ""
    ran = recalld("import", str(file), "-u", "t2", "--skip-bad", "--batch", "1", "--json")
    assert json.loads(ran.out) == {
        "outcomes": {"created": 1, "refreshed": 1, "superseded_previous": 1},
        "bad_count": 1,
    }


def test_import_of_a_missing_file_fails(recalld: Recalld, tmp_path: Path) -> None:
    """A file that is not there ends with 1 and its name."""
    ran = recalld("import", str(tmp_path / "none.jsonl"), "-u", "t3")
    assert ran.code == 1
    assert "none.jsonl" in ran.err


def test_import_on_a_terminal_shows_progress(real_server: RunningServer, tmp_path: Path) -> None:
    """On a terminal a bar counts the memories; the result stands below it."""
    file = tmp_path / "f.jsonl"
    lines = (json.dumps({"content": f"fact {n}", "user_id": "t4"}) + "\n" for n in range(50))
    file.write_text("".join(lines), encoding="utf-8")
    arguments = ["-m", "recalld.cli.main", "import", str(file), "--batch", "10"]
    code, shown = run_on_terminal(arguments, env={"RECALLD_TARGET": real_server.target})
    assert code == 0
    assert "50/50" in shown
    assert shown.rstrip().endswith("50 created")


def test_import_needs_a_user_somewhere(recalld: Recalld, tmp_path: Path) -> None:
    """A line without a user_id and no --user is refused by its field."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"content": "x"}\n', encoding="utf-8")
    ran = recalld("import", str(file))
    assert ran.code == 2
    assert "scope.user_id" in ran.err
