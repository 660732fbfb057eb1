"""Logs: one JSON object a line, and nothing of a memory."""

from __future__ import annotations

import json

import pytest

from recalld.server import logs
from recalld.server.errors import NotReady


def test_no_value_makes_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks and control characters inside a value stay inside it."""
    logs.configure("info").info("event", value='a\n{"event": "forged"}\x1b\u2028')
    [line] = capsys.readouterr().err.split("\n")[:-1]
    entry = json.loads(line)
    assert entry["value"] == 'a\n{"event": "forged"}\x1b\u2028'
    assert (entry["event"], entry["level"]) == ("event", "info")
    assert entry["timestamp"].endswith("Z")
    assert line.isascii()


LEVELS = ["error", "warning", "info", "debug"]


@pytest.mark.parametrize("level", LEVELS)
def test_levels(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only lines of the level and above are written."""
    count = LEVELS.index(level) + 1
    log = logs.configure(level)
    for name in LEVELS:
        getattr(log, name)("event")
    assert len(capsys.readouterr().err.splitlines()) == count


def test_faults() -> None:
    """A fault is told by classes and places, causes included; own errors with their message."""
    try:
        try:
            {}["likes tea"]
        except KeyError as error:
            raise NotReady("the server is loading") from error
    except NotReady as error:
        outer, inner = logs.fault(error)
    assert (outer["class"], outer["message"]) == (
        "recalld.server.errors.NotReady",
        "the server is loading",
    )
    assert inner["class"] == "builtins.KeyError"
    assert "message" not in inner
    assert "tea" not in json.dumps(inner)
    assert "test_logs.py" in inner["frames"][0]
