"""How answers are written."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from recalld.cli import output
from recalld.client import KeyEntry, Kind

from .conftest import run_on_terminal


def test_json_has_utc_times_and_leaves_out_what_is_unset() -> None:
    """Times are RFC 3339 in UTC, enums are their texts, None is left out, lists stand."""
    entry = KeyEntry("k", Kind.FACT, 0, datetime(2026, 11, 30, 12, tzinfo=UTC))
    assert json.dumps(output.plain(entry)) == (
        '{"key": "k", "kind": "fact", "count": 0, "newest_time": "2026-11-30T12:00:00Z"}'
    )
    assert output.plain(KeyEntry("k", Kind.UNSPECIFIED, 0, None)) == {"key": "k", "count": 0}
    assert output.plain({"ids": (), "set": frozenset({"b", "a"})}) == {"ids": [], "set": ["a", "b"]}


@pytest.mark.parametrize(
    "text", ["\x1b[31mred", "bell\x07", "two\nlines", "tab\there", "\u202eleft"]
)
def test_control_characters_never_reach_the_terminal(text: str) -> None:
    """A memory's control characters are shown as blanks."""
    assert output.shown_text(text).isprintable()


def test_rows_in_a_pipe_are_tab_separated(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is no header, no colour and no cutting."""
    output.write_rows(("a", "b"), [(1, "x" * 300), (0.5, None)])
    assert capsys.readouterr().out == f"1\t{'x' * 300}\n0.500\t\n"


def test_rows_on_a_terminal_are_a_table() -> None:
    """On a terminal there is a header, and long cells are folded, not cut; markup stays text."""
    code = (
        "from recalld.cli import output;"
        "output.write_rows(('score', 'content'), [(0.5, '[bold]word ' * 20)])"
    )
    exit_code, shown = run_on_terminal(["-c", code], env={})
    assert exit_code == 0
    assert "score" in shown.splitlines()[0]
    assert shown.count("[bold]word") == 20
