"""Restart and memory."""

from recalld.bench import bench_restart


def test_a_small_store_is_ready_again_and_weighed():
    """The figures are named after the number of memories, so that a small run fools no goal."""
    report = bench_restart.run(150)
    figures = report.figures
    assert figures["memories"] == 150
    assert figures["ready_150_s"] == max(figures["ready_s"], figures["ready_after_kill_s"])
    assert figures["vectors_and_text_bytes"] > 150 * 384 * 4
    assert {row[-1] for row in report.tables[1].rows} == {"not measured"}
