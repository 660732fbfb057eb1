"""What README tells a newcomer to type is run, against a real server."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.client.testing import RunningServer, running_server

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One server for all commands, with the model-free embedder."""
    with running_server() as running:
        yield running


def blocks(language: str) -> list[str]:
    """The code blocks of README in one language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


def run(command: list[str], **variables: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_work(server: RunningServer) -> None:
    """Every command of the first steps succeeds; recall and context find the allergy."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if "bin/recalld" in line]
    assert len(lines) >= 5
    printed = {
        line: run(
            [sys.executable, "-m", "recalld.cli.main", *shlex.split(line)[1:]],
            RECALLD_TARGET=server.target,
            RECALLD_USER="ada",
        )
        for line in lines
    }
    asking = [text for line, text in printed.items() if "allergic to" in line or "context" in line]
    assert len(asking) == 2
    assert all("Allergic to peanuts" in text for text in asking)


def test_the_python_code_works(server: RunningServer) -> None:
    """The Python block runs as it stands, and prints the new home and not the old one."""
    (block,) = blocks("python")
    code = block.replace("Client(", f"Client({server.target!r}, ")
    printed = run([sys.executable, "-c", code])
    assert printed.startswith("Moved to Porto\n")
    assert printed.count("Moved to Porto") >= 2
    assert "Lisbon" not in printed
