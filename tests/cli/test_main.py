"""The command as a whole: start, exit codes, serving."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from recalld.client import Client
from recalld.client.testing import RunningServer

from .conftest import Recalld

DELEGATED = ("serve", "config")
OURS = ("eval", "bench", "healthcheck", "info", "stats")
MEMORIES = ("remember", "get", "keys", "list", "forget")
COMMANDS = (*DELEGATED, *OURS, *MEMORIES, "recall", "context", "import", "export")


def test_building_the_commands_imports_nothing_heavy() -> None:
    """Before a command runs, neither grpc nor numpy nor the server is loaded."""
    code = (
        "import sys, recalld.cli.app;"
        "heavy = {'grpc', 'numpy', 'numba', 'duckdb', 'recalld.client', 'recalld.server'};"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def run_without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in an interpreter in which `module` is not installed."""
    code = (
        f"import sys; sys.modules[{module!r}] = None;"
        f"from recalld.cli.main import run; run({list(arguments)!r})"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_missing_extras_are_explained() -> None:
    """Without the cli or the server extra one line says what to install."""
    for module, arguments, extra in (
        ("typer", ["--help"], "recalld[cli]"),
        ("numba", ["serve", "--data-dir", "/nonexistent/x"], "recalld[server]"),
        ("duckdb", ["serve", "--data-dir", "/nonexistent/x"], "recalld[server]"),
    ):
        done = run_without(module, *arguments)
        assert done.returncode == 1
        assert f"pip install '{extra}'" in done.stderr
        assert "Traceback" not in done.stderr


def test_help_lists_every_command_and_the_exit_codes(bare_recalld: Recalld) -> None:
    """`recalld --help` names each command and says what the exit codes mean."""
    shown = bare_recalld("--help")
    assert shown.code == 0
    for command in COMMANDS:
        assert f" {command} " in shown.out
    assert "Exit codes" in shown.out


def test_every_data_command_has_examples(bare_recalld: Recalld) -> None:
    """The help of each command of ours ends with examples."""
    for command in set(COMMANDS) - set(DELEGATED):
        assert f"recalld {command}" in bare_recalld(command, "--help").out.split("Examples:")[1]


def test_no_server_is_exit_code_4(bare_recalld: Recalld) -> None:
    """Without a server a data command ends with 4 and one line on stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{free.getsockname()[1]}"
    ran = bare_recalld("recall", "x", "--user", "u", "--target", target)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("error: no server answers: ")
    assert ran.err.count("\n") == 1


def test_wrong_usage_is_exit_code_2(bare_recalld: Recalld) -> None:
    """A missing user, an unknown option and a token in plaintext end with 2."""
    assert bare_recalld("recall", "x").code == 2
    assert bare_recalld("recall", "x", "--no-such-option").code == 2
    refused = bare_recalld("recall", "x", "-u", "u", "--token", "t", "--target", "10.0.0.1:1")
    assert refused.code == 2
    assert "refused over plaintext" in refused.err
    assert "--ca-file" in refused.err
    assert "tls=True" not in refused.err


def test_a_target_without_a_form_is_named(bare_recalld: Recalld) -> None:
    """An empty target, or one without a port, ends with 2 and names the option."""
    for target in ("", "localhost"):
        ran = bare_recalld("recall", "x", "-u", "u", "--target", target)
        assert ran.code == 2
        assert ran.err == f"error: --target: {target!r} is neither host:port nor unix:/path\n"


def test_bytes_that_are_no_text_are_named(bare_recalld: Recalld) -> None:
    """An argument that is not UTF-8 ends with 2 and is named, wherever it stands."""
    for arguments, name in (
        (["recall", "\udcff", "-u", "u"], "TEXT"),
        (["recall", "x", "-u", "\udcff"], "--user"),
        (["recall", "x", "-u", "u", "--context", "a", "--context", "\udcff"], "--context"),
        (["remember", "x", "-u", "u", "--source-uri", "\udcff"], "--source-uri"),
    ):
        ran = bare_recalld(*arguments)
        assert ran.code == 2
        assert ran.err == f"error: {name}: '\\udcff' holds bytes that are not UTF-8\n"


def test_version_and_short_help(bare_recalld: Recalld) -> None:
    """`--version` prints name and version; -h is --help in every command."""
    assert re.fullmatch(r"recalld \d+(\.\w+)*\n", bare_recalld("--version").out)
    for command in ("", *COMMANDS):
        long, short = (bare_recalld(*command.split(), flag) for flag in ("--help", "-h"))
        assert (short.code, short.out) == (0, long.out)


def test_serve_runs_the_server_until_sigterm(tmp_path: Path) -> None:
    """`recalld serve` hands its options to the server, which ends with 0 on SIGTERM."""
    arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "recalld.cli.main", *arguments, "--embedder", "hash"],
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        lines = (json.loads(line) for line in process.stderr if line.startswith("{"))
        target = next(line["listen"] for line in lines if line.get("event") == "ready")
        with Client(target) as client:
            assert client.ready(5.0)
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(30) == 0


def test_a_closed_pipe_ends_quietly(recalld: Recalld, real_server: RunningServer) -> None:
    """When the reader of the output goes away, the command ends without a message."""
    recalld("remember", "-", "-u", "pipe", stdin="\n".join(f"fact {i}" for i in range(200)))
    code = (
        "from recalld.cli.main import run;"
        f"run(['list', '--all-pages', '--json', '-u', 'pipe', '--target', {real_server.target!r}])"
    )
    lister = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with lister:
        assert lister.stdout is not None
        assert lister.stderr is not None
        lister.stdout.close()
        assert lister.stderr.read() == b""
