"""The bench of purging, on a small store."""

from __future__ import annotations

from recalld.bench.bench_purge import run


def test_it_purges_what_it_says() -> None:
    """Of 400 memories the large user's half and a small user's hundred are purged."""
    report = run(400)
    assert (report.figures["small_rows"], report.figures["large_rows"]) == (100, 200)
    assert "small_purge_s" in report.tables[0].markdown()
