"""recall and context against a real server."""

from __future__ import annotations

import json
import math

import pytest

from .conftest import Recalld


def test_recall_shows_hits_best_first(recalld: Recalld) -> None:
    """A recall by an identifier shows the memory that holds it, with score and band."""
    recalld("remember", "-", "-u", "r1", stdin="Order DD-7742 was shipped\nLikes jazz\n")
    score, _band, kind, _key, content, _why = (
        recalld("recall", "where is DD-7742", "-u", "r1", "-k", "1").out.rstrip("\n").split("\t")
    )
    assert (kind, content) == ("fact", "Order DD-7742 was shipped")
    assert 0.0 < float(score) <= 1.0


def test_json_is_one_object(recalld: Recalld) -> None:
    """With --json the whole answer is one object on one line."""
    recalld("remember", "Order DD-7742 was shipped", "-u", "r2")
    ran = recalld("recall", "DD-7742", "-u", "r2", "--json")
    answer = json.loads(ran.out)
    assert ran.out.count("\n") == 1
    assert answer["hits"][0]["memory"]["content"] == "Order DD-7742 was shipped"
    assert answer["abstained"] is False


def test_explain_reproduces_the_score(recalld: Recalld) -> None:
    """A row of --explain holds what makes the score: shares and bias the base, then factors."""
    recalld("remember", "Order DD-7742 was shipped", "-u", "r3", "--importance", "low")
    ran = recalld("recall", "DD-7742", "-u", "r3", "--explain")
    hit, blank, parts = ran.lines
    assert (hit.split("\t")[4], blank) == ("Order DD-7742 was shipped", "")
    rank, score, *numbers = (float(cell) for cell in parts.split("\t"))
    *shares, bias, base, decay, importance, confidence = numbers
    assert rank == 1
    assert len(shares) >= 2 and all(shares)
    assert base == pytest.approx(1 / (1 + math.exp(-(bias + sum(shares)))), abs=0.003)
    assert score == pytest.approx(base * decay * importance * confidence, abs=0.003)
    assert score == pytest.approx(float(hit.split("\t")[0]), abs=0.002)
    assert ran.err.startswith("recalld trace ")


def test_filter_without_text(recalld: Recalld) -> None:
    """--filter-key alone gives the memories under the key."""
    recalld("remember", "Allergic to peanuts", "-u", "r4", "--key", "allergy")
    recalld("remember", "Lives in Chengdu", "-u", "r4", "--key", "location.home")
    lines = recalld("recall", "-u", "r4", "--filter-key", "location.home").lines
    assert [line.split("\t")[4] for line in lines] == ["Lives in Chengdu"]


def test_an_honest_nothing_is_done(recalld: Recalld) -> None:
    """Nothing to recall ends with 0, an empty stdout and the reason on stderr."""
    ran = recalld("recall", "anything", "-u", "nobody-here")
    assert (ran.code, ran.out, ran.err) == (0, "", "nothing recalled: no_memories\n")


def test_refused_field_is_named(recalld: Recalld) -> None:
    """A k beyond its limit, or beyond any number on the wire, ends with 2; its name stands once."""
    ran = recalld("recall", "x", "-u", "r5", "-k", "500")
    assert ran.code == 2
    assert ran.err == "error: k: is 500; the limits are 1 to 200 (INVALID_FIELD)\n"
    ran = recalld("recall", "x", "-u", "r5", "-k", "99999999999")
    assert (ran.code, ran.err) == (2, "error: k: 99999999999 is out of range\n")


def test_context_is_ready_for_a_prompt(recalld: Recalld) -> None:
    """`context` prints the text; with --json also its items and tokens."""
    recalld("remember", "Allergic to peanuts", "-u", "r6", "--key", "allergy")
    assert "Allergic to peanuts" in recalld("context", "peanuts", "-u", "r6", "--budget", "200").out
    built = json.loads(recalld("context", "peanuts", "-u", "r6", "--json").out)
    assert 0 < built["token_count"] <= 600
    assert built["items"][0]["section"] == "facts"
    assert "<" in recalld("context", "peanuts", "-u", "r6", "--format", "xml").out


def test_a_wrong_choice_names_the_option(recalld: Recalld) -> None:
    """A kind or format that does not exist ends with 2 and names the option and the choices."""
    ran = recalld("recall", "x", "-u", "r7", "--kind", "foo")
    assert ran.code == 2
    assert ran.err.startswith("error: --kind: 'foo' is none of fact, preference, ")
    ran = recalld("context", "x", "-u", "r7", "--format", "yaml")
    assert (ran.code, ran.err) == (2, "error: --format: 'yaml' is none of markdown, xml, json\n")


def test_used_counts(recalld: Recalld) -> None:
    """`used` raises the count of what was used and lowers the confidence of what was wrong."""
    recalld("remember", "-", "-u", "r9", stdin="Order DD-7742 was shipped\nOrder DD-7743 is late\n")
    answer = json.loads(recalld("recall", "order DD-7742 DD-7743", "-u", "r9", "--json").out)
    first, second = (hit["memory"]["id"] for hit in answer["hits"])
    ran = recalld("used", answer["recall_id"], first, "--wrong", second, "--helpful", "-u", "r9")
    assert (ran.code, ran.out) == (0, "")
    used = json.loads(recalld("get", first, "-u", "r9", "--json").out)
    wrong = json.loads(recalld("get", second, "-u", "r9", "--json").out)
    assert (used["access_count"], wrong["access_count"]) == (1, 0)
    assert (used["confidence"], wrong["confidence"]) == (1.0, 0.5)


def test_context_says_what_is_left_out(recalld: Recalld) -> None:
    """What did not fit is told on stderr by reason, and the text stays alone on stdout."""
    lines = "".join(f"I drink tea number {n} of a very long list of teas\n" for n in range(9))
    recalld("remember", "-", "-u", "r8", stdin=lines)
    recalld("remember", "The user drink tea number 1 of a very long list of teas", "-u", "r8")
    ran = recalld("context", "tea number 1", "-u", "r8", "--budget", "64")
    notes = dict(line.split(": ")[1].rstrip(")").split(" (")[::-1] for line in ran.err.splitlines())
    assert notes["duplicate"] == "1"
    assert int(notes["over_budget"]) == 9 - ran.out.count("\n- (")
    assert "left out" not in ran.out
