"""One suite for every `TraceStore`; the class that inherits it gives a `reopen` fixture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recalld.storage.errors import StoreClosed
from recalld.storage.store import Store, StoredTrace, WriteBatch
from tests.storage.samples import memory

Reopen = Callable[[], Store]


def trace(recall_id: str, time_us: int = 1, user: str = "ann", tenant: str = "acme") -> StoredTrace:
    return StoredTrace(tenant, recall_id, user, time_us, b"header", bytes([0, 255]) * 9)


class TraceContract:
    """What every backend must do."""

    def test_a_trace_survives_reopening(self, reopen: Reopen) -> None:
        """A written trace comes back whole under its tenant and id, and under no other."""
        reopen().traces.put([trace("r"), trace("s", tenant="zeta")], 10).result()
        store = reopen()
        assert store.traces.find("acme", "r") == trace("r")
        assert store.traces.find("zeta", "r") is None
        assert store.traces.find("acme", "s") is None
        assert store.check() == []

    def test_the_oldest_give_way(self, reopen: Reopen) -> None:
        """A tenant keeps its newest traces, by time and then id; other tenants are untouched."""
        store = reopen()
        store.traces.put([trace("x", 0, tenant="zeta")], 1).result()
        store.traces.put([trace("a", 3), trace("b", 1), trace("c", 2)], 2).result()
        store.traces.put([trace("d", 2), trace("e", 2)], 2).result()
        kept = [name for name in "abcde" if store.traces.find("acme", name)]
        assert kept == ["a", "e"]
        assert store.traces.find("zeta", "x") is not None

    @pytest.mark.parametrize("count", [1, 2, 3, 50])
    def test_pages_give_every_trace_once(self, reopen: Reopen, count: int) -> None:
        """Pages of any size give one user's headers, newest first, each once, ties included."""
        book = reopen().traces
        times = {f"{number:x}": number * 7 % 5 - 2 for number in range(14)}
        book.put([trace(name, time_us, "用户") for name, time_us in times.items()], 100).result()
        book.put([trace("other", 1), trace("foreign", 1, "用户", "zeta")], 100).result()
        seen: list[tuple[int, str]] = []
        while page := book.page("acme", "用户", seen[-1] if seen else None, count):
            assert len(page) <= count
            assert all((t.header, t.candidates) == (b"header", b"") for t in page)
            seen += [(t.create_time_us, t.recall_id) for t in page]
        assert seen == sorted(((time_us, name) for name, time_us in times.items()), reverse=True)

    def test_traces_wait_for_the_writes_before_them(self, reopen: Reopen) -> None:
        """A trace that is durable says that the rows submitted before it are, too."""
        store = reopen()
        written = store.submit(WriteBatch("acme", 1, (memory(1, 1),)))
        store.traces.put([trace("r")], 1).result()
        assert written.done()

    def test_a_closed_store_refuses_traces(self, reopen: Reopen) -> None:
        """A closed store neither reads nor takes traces."""
        store = reopen()
        store.close()
        with pytest.raises(StoreClosed):
            store.traces.put([trace("r")], 1)
        with pytest.raises(StoreClosed):
            store.traces.find("acme", "r")
        with pytest.raises(StoreClosed):
            store.traces.page("acme", "ann", None, 1)
