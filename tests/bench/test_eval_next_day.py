"""Figures of next-day outcomes, and the whole way on a tiny set through a real server."""

import json
import math

import pytest

from recalld.bench import eval_next_day as measures
from recalld.bench.eval_next_day import Outcome
from recalld.bench.evaluate import Options, command, evaluate
from recalld.bench.next_day import Case


def case(**labels) -> Case:
    values = {
        "id": "s",
        "language": "en",
        "kind": "updated_fact",
        "user": "u1",
        "text": "which one",
        "context": (),
        "must": frozenset({"a", "b"}),
        "best": "a",
        "must_not": frozenset({"x"}),
        "conflicts": (),
        "no_memory": False,
    }
    return Case(**{**values, **labels})


def outcome(*hits: str, high: tuple[int, ...] = (), about: Case | None = None, **more) -> Outcome:
    return Outcome(
        about or case(),
        [frozenset(h.split("+")) for h in hits],
        [i in high for i in range(len(hits))],
        **more,
    )


def test_hit_needs_all_that_must_be_there():
    """One of two needed memories is no hit, both in any order are."""
    assert measures.hit_at_5(outcome("a", "c")) == 0
    assert measures.hit_at_5(outcome("c", "b", "a")) == 1


def test_hit_looks_at_five_results():
    """The sixth result does not count."""
    assert measures.hit_at_5(outcome("a", "1", "2", "3", "4", "b")) == 0


def test_folded_memories_count_for_each_of_their_items():
    """A memory that two items were folded into stands for both."""
    assert measures.hit_at_5(outcome("a+b")) == 1


def test_best_must_come_first():
    """The best one at rank two does not count; without a best one the question is left out."""
    assert measures.best_at_1(outcome("a", "b")) == 1
    assert measures.best_at_1(outcome("b", "a")) == 0
    assert measures.best_at_1(outcome("b", about=case(best=None))) is None


def test_leak_and_leak_marked_sure():
    """An unwanted memory leaks; it leaks as sure only if its own hit is marked."""
    assert measures.leak(outcome("a", "b")) == 0
    assert measures.leak(outcome("a", "x")) == 1
    assert measures.leak_high(outcome("a", "x", high=(0,))) == 0
    assert measures.leak_high(outcome("a", "x", high=(1,))) == 1


def test_conflict_must_be_shown_and_marked():
    """Both of a pair among the first five are shown; only marked as one group they count."""
    about = case(conflicts=(frozenset({"a", "b"}),))
    unmarked = outcome("a", "b", about=about)
    marked = outcome("a", "b", about=about, marked=frozenset({frozenset({"a", "b", "c"})}))
    half = outcome("a", about=about, marked=frozenset({frozenset({"a", "b"})}))
    assert measures.conflict_shown(unmarked) == 1
    assert [measures.conflict(o) for o in (unmarked, marked, half)] == [0, 1, 0]


def test_question_without_memory_wants_nothing_sure():
    """An empty answer or doubtful hits pass, a hit marked sure fails."""
    about = case(no_memory=True, must=frozenset())
    assert measures.no_memory(outcome(about=about)) == 1
    assert measures.no_memory(outcome("a", about=about)) == 1
    assert measures.no_memory(outcome("a", high=(0,), about=about)) == 0
    assert measures.hit_at_5(outcome(about=about)) is None


def test_context_must_hold_all():
    """Every needed memory has to be in the context."""
    assert measures.context_hit(outcome(context=frozenset({"a", "b", "c"}))) == 1
    assert measures.context_hit(outcome(context=frozenset({"a"}))) == 0


def test_figure_leaves_out_questions_it_is_not_about():
    """The mean is over the questions that have a value; of none it is unknown."""
    some = [outcome("a", "b"), outcome("b", "a"), outcome("b", about=case(best=None))]
    assert measures.figure(some, measures.best_at_1) == 0.5
    assert math.isnan(measures.figure(some, measures.conflict))


MEMORIES = [
    ("m1", "u1", "fact", "Allergic to peanuts, carries an adrenaline pen", 900_000),
    ("m2", "u1", "event", "Watched a film about whales on Sunday", 400_000),
    ("m3", "u1", "preference", "Writes with a green fountain pen", 300_000),
    ("m4", "other", "fact", "Allergic to shellfish", 200_000),
]


@pytest.fixture
def tiny_set(tmp_path):
    """Two scenarios that keyword matching alone can answer."""
    memories = [
        {
            "id": name,
            "user": user,
            "kind": kind,
            "key": "",
            "content": content,
            "age_s": age_s,
            "importance": "medium",
            "confidence": 0.9,
            "stated_by": "user",
        }
        for name, user, kind, content, age_s in MEMORIES
    ]
    lines = [
        {
            "id": f"t-{must}",
            "lang": "en",
            "domain": "health",
            "class": "implicit_constraint",
            "now": "2026-03-01T12:00:00Z",
            "memories": memories,
            "context": [{"role": "user", "text": "Good morning"}],
            "query": {"user": "u1", "text": text},
            "must": [must],
            "best": must,
            "must_not": [],
            "conflict": [],
            "no_memory": False,
        }
        for must, text in (("m1", "allergic to peanuts"), ("m2", "film about whales"))
    ]
    path = tmp_path / "tiny.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_tiny_set_through_a_real_server(tiny_set, tmp_path):
    """A set whose answers share words with their questions is answered fully, and written out."""
    file = tmp_path / "figures.json"
    assert command("next-day", tiny_set, Options(embedder="hash"), file) == 0
    figures = json.loads(file.read_text())
    assert figures["n"] == 2
    assert figures["hit_at_5"] == 1
    assert figures["best_at_1"] == 1
    assert figures["context_hit"] == 1
    assert figures["other_user"] == 0
    assert figures["conflict"] is None


def test_tiny_set_pooled_through_a_real_server(tiny_set):
    """Pooled, each question finds its own memory among those of both."""
    report = evaluate("next-day", tiny_set, Options(pool=2, embedder="hash"))
    assert report.figures["n"] == 2
    assert report.figures["other_user"] == 0
