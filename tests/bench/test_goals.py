"""Goals and their verdicts."""

import math

import pytest

from recalld.bench import goals
from recalld.bench.bench_all import BENCHES
from recalld.bench.goals import MET, MISSED, UNKNOWN, Goal


@pytest.mark.parametrize(
    ("value", "at_most", "at_least"),
    [
        (1.9, MET, MISSED),
        (2, MET, MET),
        (2.1, MISSED, MET),
        (math.nan, UNKNOWN, UNKNOWN),
        (None, UNKNOWN, UNKNOWN),
        ("absent", UNKNOWN, UNKNOWN),
    ],
)
def test_a_bound_belongs_to_what_it_allows(value, at_most, at_least):
    """A figure on its bound keeps the goal; what is not a number was not measured."""
    assert Goal("g", "a.b", 2.0).verdict(value) == at_most
    assert Goal("g", "a.b", 2.0, at_least=True).verdict(value) == at_least


def test_a_row_stands_beside_its_baseline():
    """Figure and baseline carry their units, the bound its direction."""
    goal = Goal("write", "a.write_ms", 4.0, "ms", beside="a.sync_p50_ms")
    figures = {"write_ms": 8.5, "sync_p50_ms": 1.25}
    found = goals.table({f"a.{k}": v for k, v in figures.items()}, [goal])
    assert found.rows == [["write", "8.5 ms", "1.25 ms", "<= 4 ms", MISSED]]


def test_every_goal_is_one_of_a_bench_in_the_suite():
    """A goal's figure and its baseline come from the same bench, which `make bench` runs."""
    for goal in goals.GOALS:
        bench = goal.figure.split(".")[0]
        assert bench in BENCHES
        assert goal.beside == "" or goal.beside.startswith(f"{bench}.")
        assert goals.table_of(bench, {}).rows
