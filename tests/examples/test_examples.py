"""The examples run as their users would run them: as programs, against a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.client import Client
from recalld.client.testing import RunningServer, running_server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One server for all examples, with the model-free embedder."""
    with running_server() as running:
        yield running


def run(name: str, *arguments: str) -> str:
    """What an example prints."""
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quickstart_shows_every_step(server: RunningServer) -> None:
    """It replaces a value, recalls by words and key, builds a context and leaves nothing behind."""
    printed = run("python_quickstart.py", server.target)
    assert "outcome: superseded_previous" in printed
    assert "home: Moved to Porto" in printed
    assert "Allergic to peanuts" in printed.split("home:")[0]
    assert "Allergic to peanuts" in printed.split("tokens:")[1]
    assert "Lives in Lisbon" not in printed
    assert "forgotten: 4" in printed
    with Client(server.target) as client:
        assert client.stats().statuses.get("active", 0) == 0


def test_the_prompt_context_fits_its_budgets(server: RunningServer) -> None:
    """Everything is in where there is room; with less, the allergy still is, and the rest named."""
    printed = run("prompt_context.py", server.target)
    whole, small = printed.split("tokens, everything is in: ")[1:]
    assert whole.startswith("True\n")
    assert small.startswith("False\n")
    assert whole.count("\n- (0d ") == 8
    assert "Allergic to peanuts" in small.split("left out:")[0]
    assert small.count("\n- (0d ") + small.count("left out:") == 8
    assert "(over_budget)" in small
    with Client(server.target) as client:
        assert client.stats().statuses.get("active", 0) == 0


def test_an_import_can_be_repeated(server: RunningServer) -> None:
    """Running the import again gives the same answer and stores nothing twice."""
    file = str(EXAMPLES / "memories.jsonl")
    first = run("import_jsonl.py", file, "importer", server.target)
    assert first == "5 created\n"
    with Client(server.target, user_id="importer") as client:
        revision = client.stats("importer").revision
        assert run("import_jsonl.py", file, "importer", server.target) == first
        assert client.stats("importer").revision == revision
        assert len(list(client.list())) == 5
        assert client.get(key="billing.database").kind == "decision"


@pytest.mark.parametrize("arguments", [[], ["memories.jsonl"], ["a", "b", "c", "d"]])
def test_an_import_without_a_file_and_a_user_shows_its_usage(arguments: list[str]) -> None:
    """A wrong number of arguments ends with 2 and one line of usage."""
    command = [sys.executable, str(EXAMPLES / "import_jsonl.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
    assert done.stderr.count("\n") == 1


def test_every_example_is_run() -> None:
    """No example is without a test."""
    tested = Path(__file__).read_text(encoding="utf-8")
    assert [p.name for p in EXAMPLES.glob("*.py") if f'"{p.name}"' not in tested] == []
