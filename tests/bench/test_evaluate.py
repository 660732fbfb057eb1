"""The command line's entry."""

import pytest

from recalld.bench.evaluate import EXIT_UNUSABLE, SETS, Options, command, evaluate


def test_sets_are_the_documented_ones():
    """Seven sets have a name."""
    ranked = {"locomo", "beam", "lifebench", "madial", "precision"}
    assert set(SETS) == {"next-day", "cases", *ranked}


def test_unknown_set_is_refused_before_a_server_starts(tmp_path):
    """A name that is no set is an error that lists the names."""
    with pytest.raises(ValueError, match="one of next-day, cases"):
        evaluate("nextday", tmp_path)


def test_unusable_arguments_are_said_and_returned(tmp_path, capsys):
    """The command prints why it cannot run and returns 2."""
    assert command("locomo", tmp_path / "nothing", Options(target="127.0.0.1:1")) == EXIT_UNUSABLE
    assert "no such file or folder" in capsys.readouterr().out


def test_unreachable_server_is_said_and_returned(tmp_path, capsys):
    """A server that does not answer is a reason, not a trace."""
    file = tmp_path / "cases.jsonl"
    file.write_text(
        '{"id": "c", "theme": "x", "level": "must", "setup": [], '
        '"query": {"op": "list"}, "expect": {"ok": true}}',
        encoding="utf-8",
    )
    assert command("cases", file, Options(target="127.0.0.1:1")) == EXIT_UNUSABLE
    assert "UNAVAILABLE" in capsys.readouterr().out
