"""A call beside an echo of its answer."""

import pytest

from recalld.bench.beside import Effort, Side, beside_echo
from recalld.bench.corpus import serving
from recalld.bench.requests import invalid


def test_a_refused_call_is_measured_beside_its_echo():
    """Every number of clients has a rate and processor time on both sides, and names of its own."""
    with serving() as server:
        found = beside_echo("refused", server, [invalid()], Effort(2, 5, 0.05), (1, 2))
    assert [row[5] for row in found.rows()] == [1, 2]
    figures = found.figures()
    assert figures["refused_to_echo"] == pytest.approx(found.ours.p50_s / found.echo.p50_s)
    for side in (found.ours, found.echo):
        assert min(*side.rates.values(), *side.processor_s.values()) > 0


def test_the_best_round_is_kept(tmp_path):
    """A slower round changes nothing."""
    side = Side("127.0.0.1:1", "/a.B/C", 0, [b""])
    side.row(3, 0)
    best = side.latency
    assert best is not None
    side.latency = type(best)(0.0, 0.0, 0.0, 0.0, 1)
    side.row(3, 0)
    assert side.p50_s == 0.0
