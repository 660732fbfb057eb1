"""import and export against a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from recalld.cli import record
from recalld.client import Client
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
        "repeated_count": 0,
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
    """A line without a user_id and no --user is refused, and the message names the option."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"content": "x"}\n', encoding="utf-8")
    ran = recalld("import", str(file))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: line 1: user_id: missing; name one in the line or with --user\n"
    assert recalld("import", str(file), "--as-user").code == 2


def test_import_reads_a_pipe(recalld: Recalld, tmp_path: Path) -> None:
    """A pipe, as of a process substitution, is imported like a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = "".join(json.dumps({"content": f"fact {n}"}) + "\n" for n in range(3))
    writer = threading.Thread(target=pipe.write_text, args=(lines,))
    writer.start()
    assert recalld("import", str(pipe), "-u", "t5").out == "3 created\n"
    writer.join()


def test_a_line_over_a_limit_stops_before_any_write(recalld: Recalld, tmp_path: Path) -> None:
    """A limit that only the server knows is checked in all lines before the first is sent."""
    file = tmp_path / "f.jsonl"
    bad_lines = (
        {"content": "x", "event_time": "1850-01-01T00:00:00Z"},
        {"content": "x" * 9000},
        {"content": "x", "key": "k" * 300},
    )
    for bad in bad_lines:
        lines = [*({"content": f"fact {n}"} for n in range(9)), bad]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        ran = recalld("import", str(file), "-u", "t6", "--batch", "2")
        assert ran.code == 1
        assert ran.err.startswith("error: line 10: ")
        assert recalld("list", "-u", "t6").out == ""


def test_lines_of_other_users_are_told(recalld: Recalld, tmp_path: Path) -> None:
    """Lines that name a user keep it, and are counted with a hint; --as-user overrules them."""
    file = tmp_path / "f.jsonl"
    lines: list[dict[str, str]] = [{"content": "mine"}]
    lines += [{"content": f"fact {n}", "user_id": f"t7-{n}"} for n in range(7)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ran = recalld("import", str(file), "-u", "t7")
    assert ran.out == "8 created\n"
    assert ran.err.startswith(
        "7 lines named users of their own: t7-0, t7-1, t7-2, t7-3, t7-4, ... (--as-user"
    )
    assert len(recalld("list", "-u", "t7").lines) == 1
    taken = recalld("import", str(file), "-u", "t7", "--as-user")
    assert (taken.out, taken.err) == ("7 created, 1 refreshed\n", "")
    assert len(recalld("list", "-u", "t7").lines) == 8


def test_an_interrupted_import_says_how_far_it_came(
    real_server: RunningServer, tmp_path: Path
) -> None:
    """Ctrl-C ends with what is stored and how to go on; --resume then adds the rest only."""
    file = tmp_path / "f.jsonl"
    count = 3000
    file.write_text("".join(json.dumps({"content": f"fact {n}"}) + "\n" for n in range(count)))
    command = [sys.executable, "-m", "recalld.cli.main", "import", str(file), "-u", "t8"]
    command += ["--resume", "--batch", "2", "--target", real_server.target]
    with Client(real_server.target, user_id="t8") as client:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not client.stats("t8").memory_count:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        stored = client.stats("t8").memory_count
    assert process.returncode != 0
    assert "Traceback" not in err
    told = re.search(r"stopped: (\d+) of 3000 lines are stored \((\d+) created\)", err)
    assert told is not None, err
    assert int(told[1]) <= stored <= int(told[1]) + 2
    assert "repeat the same command to go on" in err
    assert out == ""


def test_a_complete_repeat_says_so(recalld: Recalld, tmp_path: Path) -> None:
    """A second run with --resume does not claim to have created what was there."""
    file = tmp_path / "f.jsonl"
    file.write_text('{"content": "one"}\n{"content": "two"}\n', encoding="utf-8")
    assert recalld("import", str(file), "-u", "t9", "--resume").out == "2 created\n"
    again = recalld("import", str(file), "-u", "t9", "--resume")
    assert again.out == "2 already stored by an earlier run\n"
    assert recalld("import", str(file), "-u", "t9-b", "--resume").out == "2 created\n"


def test_the_help_lists_the_fields(recalld: Recalld) -> None:
    """`import --help` names every field of the format and what --as-user does."""
    shown = " ".join(recalld("import", "--help").out.split())
    assert [name for name in record.FIELDS if f" {name}" not in shown] == []
    assert "--as-user" in shown


def test_the_help_says_what_is_exported(recalld: Recalld) -> None:
    """`export --help` says which memories are in the file."""
    shown = recalld("export", "--help").out
    for word in ("conflicted", "superseded", "private", "--agent"):
        assert word in shown


def test_what_agents_keep_private_is_exported(recalld: Recalld) -> None:
    """Without --agent the private memories of every agent are exported, with one only its own."""
    for agent in ("a", "b"):
        scope = ["-u", "t10", "--agent", agent]
        recalld("remember", f"note of {agent}", *scope, "--visibility", "private")
    recalld("remember", "for all", "-u", "t10")

    def contents(*options: str) -> set[str]:
        lines = recalld("export", "-u", "t10", *options).lines
        return {json.loads(line)["content"] for line in lines}

    assert contents() == {"note of a", "note of b", "for all"}
    assert contents("--agent", "a") == {"note of a", "for all"}
