"""The bench of recalls beside other work: what it sends, and how it reckons."""

from __future__ import annotations

from recalld.bench.bench_disturbance import Beside, rows_of, run
from recalld.bench.disturbances import Span
from recalld.bench.load import Latency


def latency(p50_s: float, p99_s: float) -> Latency:
    return Latency(p50_s, p99_s, p99_s, p99_s, 100)


def test_the_ratio_is_of_the_slowest_hundredth() -> None:
    """The 99th percentile beside the work is told against the one alone."""
    one = Beside("some work", latency(0.001, 0.010), latency(0.001, 0.025), 2.0, 1.5)
    figures = one.figures()
    assert figures["some_work_p99_to_quiet"] == 2.5
    assert figures["some_work_quiet_p99_ms"] == 10.0
    assert one.row()[:6] == ["some work", "1.0", "10.0", "1.0", "25.0", "2.50"]


def test_only_recalls_under_way_meanwhile_count() -> None:
    """A recall counts beside what went on between its being due and its end, and nothing else."""
    spans = [Span("a", 1.0, 2.0, 0.5), Span("b", 2.0, 4.0, 1.0), Span("a", 5.0, 6.0, 0.25)]
    answered = [(0.5, 0.75), (0.75, 1.25), (1.5, 2.5), (3.0, 3.25), (5.5, 5.75), (6.5, 7.0)]
    first, second = rows_of(latency(0.1, 0.2), answered, spans)
    assert (first.name, first.busy.count, first.took_s, first.spent_s) == ("a", 3, 2.0, 0.75)
    assert (second.name, second.busy.count, second.took_s) == ("b", 2, 2.0)
    assert (first.busy.p50_s, second.busy.p50_s) == (0.5, 0.625)


def test_every_work_is_done_beside_recalls() -> None:
    """On a small store each work runs, is timed, and recalls are answered meanwhile."""
    figures = run(memories=2_000, rounds=1, quiet_s=0.5).figures
    for name in (
        "snapshot",
        "paced_writes",
        "flood_of_writes",
        "checkpoints",
        "purge_of_a_small_user",
        "purge_of_the_large_user",
    ):
        assert figures[f"{name}_s"] > 0
        assert figures[f"{name}_busy_recalls"] >= 1
