"""Metrics: one registry a server, names with units, a page to read."""

from __future__ import annotations

import socket
import urllib.request

from recalld.server import metrics
from tests.server.core import Core, memory


def test_registries_are_apart() -> None:
    """Two servers of one process count apart."""
    first, second = metrics.create(), metrics.create()
    first.count_call("s", "m", "OK", 0.25)
    labels = {"grpc_service": "s", "grpc_method": "m"}
    full = {**labels, "grpc_code": "OK"}
    assert first.registry.get_sample_value("grpc_server_handled_total", full) == 1
    assert first.registry.get_sample_value("grpc_server_handling_seconds_sum", labels) == 0.25
    assert second.registry.get_sample_value("grpc_server_handled_total", full) is None


def test_page() -> None:
    """The page of a server holds its metrics in the text format."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = metrics.create()
    made.memories.set(7)
    made.serve(f"127.0.0.1:{port}")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        assert "recalld_memories 7.0" in page.read().decode()


async def test_writes_are_counted(core: Core) -> None:
    """Memories held, and outcomes of writes, are counted."""
    await core.remember("u", memory("a"), memory("b"), memory("a"))
    read = core.metrics.registry.get_sample_value
    assert read("recalld_memories") == 2
    assert read("recalld_remembered_total", {"outcome": "CREATED"}) == 2
    assert read("recalld_remembered_total", {"outcome": "REFRESHED"}) == 1
    assert read("recalld_stage_seconds_count", {"stage": "commit"}) == 1
