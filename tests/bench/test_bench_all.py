"""All benches in one run."""

from recalld.bench.bench_all import Outcome, merged, page
from recalld.bench.report import provenance_line


def test_figures_are_led_by_their_bench():
    """Machine and versions stand once, everything else under the name of its bench."""
    outcomes = [Outcome("load", "", {"commit": "x", "errors": 0}, 1.5)]
    figures = merged(outcomes)
    assert figures["load.errors"] == 0
    assert figures["load.took_s"] == 1.5
    assert "load.commit" not in figures and figures["commit"]


def test_the_page_tells_of_goals_and_failures():
    """A bench without figures failed, and its goals were not measured."""
    text = page([Outcome("load", "half a tab", {}, 2.0)], "0.5, 0.5, 0.5")
    assert text.startswith("# Benches\n")
    assert "| errors under open-loop load" in text and "not measured" in text
    assert "## load, 2 s\n\nThis bench failed." in text
    assert "half a tab" not in text


def test_the_machine_stands_once_on_the_page():
    """What each bench says of the machine is said at the top, for all."""
    text = page([Outcome("load", f"tables\n\n{provenance_line()}\n", {"errors": 0}, 2.0)], "0.5")
    assert text.count(provenance_line()) == 1
    assert text.endswith("## load, 2 s\n\ntables\n")
