"""A call beside an echo of its answer."""

from recalld.bench.beside import Beside, Effort, Side, beside_echo
from recalld.bench.corpus import serving
from recalld.bench.load import Latency
from recalld.bench.requests import invalid


def test_a_refused_call_is_measured_beside_its_echo():
    """Every number of clients has a rate and processor time on both sides, and names of its own."""
    with serving() as server:
        found = beside_echo("refused", server, [invalid()], Effort(2, 5, 0.05), (1, 2))
    assert [row[5] for row in found.rows()] == [1, 2]
    figures = found.figures()
    for side in (found.ours, found.echo):
        assert len(side.latencies) == 2
        assert all(min(rates) > 0 for rates in side.rates.values())
    assert figures["refused_2_clients_server_us"] > 0


def test_ratios_are_of_neighbours_and_times_of_the_best_round():
    """One round in which the machine was busy changes neither."""
    ours, echo = Side("", "", 0, [b""]), Side("", "", 0, [b""])
    for p50_s, bare_s, rate, bare_rate in ((2, 1, 50, 100), (9, 1, 1, 100), (4, 2, 30, 60)):
        ours.latencies.append(Latency(p50_s, p50_s, p50_s, p50_s, 1))
        echo.latencies.append(Latency(bare_s, bare_s, bare_s, bare_s, 1))
        ours.rates.setdefault(8, []).append(rate)
        echo.rates.setdefault(8, []).append(bare_rate)
    found = Beside("call", ours, echo)
    assert (found.ratio, found.of_echo(8)) == (2, 0.5)
    assert (ours.best.p50_s, echo.best.p50_s) == (2, 1)
