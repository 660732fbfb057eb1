"""trace and traces against a real server."""

from __future__ import annotations

import json
import re

import pytest

from recalld.client.testing import RunningServer

from .conftest import Recalld, run_on_terminal


@pytest.fixture
def asked(recalld: Recalld, user: str) -> tuple[str, str, str]:
    """A user, a traced recall of theirs, and a memory that it did not return."""
    recalld("remember", "Order DD-7742 was shipped", "-u", user)
    made = json.loads(recalld("remember", "Likes jazz", "-u", user, "--json").out)
    answer = recalld("recall", "DD-7742", "-u", user, "-k", "1", "--explain", "--json")
    return user, json.loads(answer.out)["recall_id"], made["id"]


def test_trace_tells_the_fate_of_every_candidate(
    recalld: Recalld, asked: tuple[str, str, str]
) -> None:
    """Each candidate stands with rank, fate and evidence; the summary goes to stderr."""
    user, recall_id, other = asked
    ran = recalld("trace", recall_id, "-u", user)
    first, second = (line.split("\t") for line in ran.lines)
    assert (first[1], first[3]) == ("1", "returned")
    assert "identifier" in first[4]
    assert (second[0], second[1]) == (other, "2")
    assert second[3] in ("below_cut", "over_k")
    assert ran.err.startswith("1 returned of 2 that matched; k 1, ")


def test_trace_of_one_memory(recalld: Recalld, asked: tuple[str, str, str]) -> None:
    """--memory tells of that memory alone, with the parts of its score."""
    user, recall_id, other = asked
    lines = recalld("trace", recall_id, "-u", user, "--memory", other).lines
    assert lines[0].split("\t")[0] == other
    assert lines[2].split("\t")[0] == "2"
    found = json.loads(recalld("trace", recall_id, "-u", user, "--memory", other, "--json").out)
    [candidate] = found["candidates"]
    assert candidate["memory_id"] == other
    assert candidate["parts"]["channels"]


def test_a_memory_stored_later_was_not_known(recalld: Recalld, asked: tuple[str, str, str]) -> None:
    """A memory that was stored after the recall is told as not yet known, and why."""
    user, recall_id, _ = asked
    made = json.loads(recalld("remember", "Plays chess", "-u", user, "--json").out)
    ran = recalld("trace", recall_id, "-u", user, "--memory", made["id"])
    assert ran.lines[0].split("\t")[3] == "not_yet_known"
    assert "changed after the recall" in ran.err


def test_traces_lists_newest_first(recalld: Recalld, asked: tuple[str, str, str]) -> None:
    """`traces` lists ids, newest first, no more than --limit; with --json one object a line."""
    user, recall_id, _ = asked
    newer = json.loads(recalld("recall", "jazz", "-u", user, "--explain", "--json").out)
    listed = [line.split("\t")[0] for line in recalld("traces", "-u", user).lines]
    assert listed == [newer["recall_id"], recall_id]
    one = recalld("traces", "-u", user, "-n", "1", "--json").lines
    assert [json.loads(line)["recall_id"] for line in one] == [newer["recall_id"]]


def test_no_trace_ends_with_3(recalld: Recalld, asked: tuple[str, str, str]) -> None:
    """A trace that is not there, or another user's, ends with 3 and says so."""
    user, recall_id, _ = asked
    for arguments in (("trace", "none", "-u", user), ("trace", recall_id, "-u", "stranger")):
        ran = recalld(*arguments)
        assert (ran.code, ran.out) == (3, "")
        assert "TRACE_NOT_FOUND" in ran.err


def test_wide_texts_keep_to_the_terminal(real_server: RunningServer, user: str) -> None:
    """On a terminal of 60 columns no line of an explained recall is wider, Chinese included."""
    text = "对花生过敏，吃了会起疹子，出门要带着药" * 4
    target = ("--target", real_server.target)
    run_on_terminal(["-m", "recalld.cli.main", "remember", text, "-u", user, *target], env={})
    command = ["-m", "recalld.cli.main", "recall", "花生过敏", "-u", user, "--explain", *target]
    code, shown = run_on_terminal(command, env={})
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    widths = [
        sum(2 if ord(letter) > 0x2E7F else 1 for letter in line.rstrip())
        for line in plain.splitlines()
        if not line.startswith("recalld trace")
    ]
    assert max(widths) <= 60
    assert "花生" in plain
