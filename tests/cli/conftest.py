"""A real server, and the command line run in this process."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from recalld.cli import main
from recalld.client.testing import RunningServer


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Recalld = Callable[..., Ran]


def run_on_terminal(
    arguments: list[str], *, typed: bytes = b"", env: Mapping[str, str]
) -> tuple[int, str]:
    """Runs a Python process whose three streams are a terminal; gives its code and the screen."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "COLUMNS": "60", "TERM": "xterm", **env},
    )
    os.close(follower)
    os.write(leader, typed)
    shown = b""
    # Reading from a terminal whose other side is closed is an I/O error, not an end of file.
    with contextlib.suppress(OSError):
        while part := os.read(leader, 65536):
            shown += part
    os.close(leader)
    return process.wait(30), shown.decode()


@pytest.fixture(scope="session")
def real_server(shared_server: RunningServer) -> RunningServer:
    """The real server, with the model-free embedder; each test has users of its own."""
    return shared_server


@pytest.fixture
def bare_recalld(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Recalld:
    """Runs a command with whatever target its arguments name."""
    for name in ("TARGET", "TOKEN", "USER", "CA_FILE", "CERT_FILE", "KEY_FILE"):
        monkeypatch.delenv(f"RECALLD_{name}", raising=False)

    def run(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run(list(arguments))
        shown = capsys.readouterr()
        return Ran(int(ended.value.code or 0), shown.out, shown.err)

    return run


@pytest.fixture
def recalld(
    bare_recalld: Recalld, real_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> Recalld:
    """Runs a command against the real server."""
    monkeypatch.setenv("RECALLD_TARGET", real_server.target)
    return bare_recalld
