"""Calls at a steady rate."""

from recalld.bench import bench_load
from recalld.bench.requests import REMEMBER_METHOD
from recalld.v1.memory_service_pb2 import RememberRequest


def test_the_mix_writes_one_call_in_ten():
    """Of a hundred calls ten are writes, and no two of them are of the same memory."""
    mix = dict(bench_load.kinds())["mixed"]
    bodies = [body for method, body in map(mix, range(100)) if method == REMEMBER_METHOD]
    keys = [RememberRequest.FromString(body).memories[0].memory.key for body in bodies]
    assert len(keys) == len(set(keys)) == 10


def test_every_kind_is_measured_beside_its_echo(monkeypatch):
    """A short run finds peak and percentiles of every kind of call, and counts what failed."""
    monkeypatch.setattr(bench_load, "SHARE", 0.2)
    report = bench_load.run(seconds=0.3, peak_s=0.1)
    kinds = [row[0] for row in report.tables[0].rows]
    assert kinds[::2] == ["vector", "key", "mixed"]
    for kind in ("vector", "key", "mixed"):
        figures = report.figures
        assert 0 < figures[f"{kind}_p50_ms"] <= figures[f"{kind}_p999_ms"]
        assert figures[f"{kind}_echo_p50_ms"] > 0
    assert report.figures["errors"] == sum(report.figures[f"{k}_errors"] for k in kinds[::2])
