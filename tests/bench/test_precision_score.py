"""Scores of PrecisionMemBench, by hand."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from recalld.bench.precision import Belief, Case, Expected, Fixture
from recalld.bench.precision_score import (
    Outcome,
    active,
    figures_of,
    passed,
    precision,
    recall,
    trivial_outcomes,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def case(only=(), *, category="names", text="q", **tiers):
    """A case that wants exactly these in the relevant tier."""
    expected = {"pinned": Expected(), "questions": Expected(), **tiers}
    return Case("c", category, "u", ("home",), text, 20, Expected(only=frozenset(only)), **expected)


def outcome(only, found, **more):
    return Outcome(case(only), frozenset(found), **more)


@pytest.mark.parametrize(
    ("wanted", "found", "of_found", "of_wanted"),
    [
        ("ab", "a", 1.0, 0.5),
        ("a", "abcd", 0.25, 1.0),
        ("a", "", 0.0, 0.0),
        ("", "a", 0.0, None),
        ("", "", None, None),
    ],
)
def test_precision_and_recall_of_a_case(wanted, found, of_found, of_wanted):
    """Nothing found where something was wanted is precision 0; nothing wanted nor found is none."""
    assert precision(outcome(wanted, found)) == of_found
    assert recall(outcome(wanted, found)) == of_wanted


def test_sessions_count_pinned_ones_and_leave_silence_out():
    """In a session a pinned hit counts as found, and an empty tier has no precision."""
    turn = case("ab", category="sessions")
    assert precision(Outcome(turn, frozenset("ax"), frozenset("b"))) == 1.0
    assert recall(Outcome(turn, frozenset("a"), frozenset("b"))) == 1.0
    assert precision(Outcome(turn, frozenset())) is None


def test_a_case_passes_when_every_tier_holds():
    """Exactly the wanted ones, and what the listed tiers must and must not hold."""
    pinned = Expected(includes=frozenset("p"), excludes=frozenset("x"))
    asked = case("a", pinned=pinned)
    assert passed(Outcome(asked, frozenset("a"), frozenset("p"))) == 1.0
    assert passed(Outcome(asked, frozenset("ab"), frozenset("p"))) == 0.0
    assert passed(Outcome(asked, frozenset(), frozenset("p"))) == 0.0
    assert passed(Outcome(asked, frozenset("a"), frozenset())) == 0.0
    assert passed(Outcome(asked, frozenset("a"), frozenset("px"))) == 0.0


def test_an_active_pass_found_something():
    """Silence that is right passes, but not actively."""
    silent = outcome("", "")
    assert (passed(silent), active(silent)) == (1.0, 0.0)
    assert active(outcome("a", "a")) == 1.0


def test_figures_are_means_over_what_they_are_about():
    """Precision over cases that have one; sessions apart, unknown where there are none."""
    figures = figures_of([outcome("a", "ab"), outcome("", ""), outcome("a", "")], [])
    assert figures["n"] == 3
    assert figures["precision"] == 0.25
    assert figures["recall"] == 0.5
    assert figures["passed"] == pytest.approx(1 / 3)
    assert math.isnan(figures["session_precision"])


def test_trivial_rankers_see_the_scope_and_leave_pinned_ones_out():
    """Another user's and another scope's beliefs are out of reach; a blank question finds none."""

    def held(name, scope="home", user="u", pinned=False):
        time = START + timedelta(days=len(name))
        names = (name, (), f"{name} tea", "", (scope,), 1.0, pinned, False, name, (), time, None)
        return Belief(name, user, "entity", *names)

    beliefs = [held("a"), held("bb"), held("ccc", "work"), held("d", user="v"), held("e", "home")]
    beliefs[4] = held("eeeee", pinned=True)
    fixture = Fixture(beliefs, [case("a", text="tea"), case("a", text=" ")])
    outcomes = trivial_outcomes(fixture)
    assert outcomes["newest first"][0].relevant == {"a", "bb"}
    assert outcomes["newest first"][1].relevant == frozenset()
    assert len(outcomes["BM25, its first alone"][0].relevant) == 1
