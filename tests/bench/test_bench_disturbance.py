"""The bench of recalls beside other work: what it sends, and how it reckons."""

from __future__ import annotations

from recalld.bench.bench_disturbance import RATE, Beside, run
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


def test_every_work_is_done_beside_recalls() -> None:
    """On a small store each work runs, is timed, and recalls are answered meanwhile."""
    figures = run(memories=2_000, rounds=1, quiet_s=0.5, log_bytes=100_000).figures
    for name in (
        "snapshot",
        "writes_with_checkpoints",
        "purge_of_a_small_user",
        "purge_of_the_large_user",
    ):
        assert figures[f"{name}_s"] > 0
        assert figures[f"{name}_busy_recalls"] >= RATE / 2
