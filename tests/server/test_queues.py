"""The queues of a server in its metrics."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from recalld.index.errors import EmbedQueueFull
from recalld.server import metrics, queues
from recalld.server.admission import Gate
from recalld.server.errors import NotReady, Overloaded
from recalld.storage.errors import StoreBusy
from tests.server.core import Core, memory


@pytest.mark.parametrize(
    ("error", "queue"),
    [(Overloaded("x"), "calls"), (EmbedQueueFull("x"), "texts"), (StoreBusy("x"), "rows")],
)
def test_refusals(error: Exception, queue: str) -> None:
    """A refusal counts for the queue that was full."""
    made = metrics.create()
    queues.count_refusal(made, error)
    assert made.registry.get_sample_value("recalld_queue_refused_total", {"queue": queue}) == 1


def test_other_errors() -> None:
    """Other errors are no refusals of a queue; all queues are shown from the start."""
    made = metrics.create()
    queues.count_refusal(made, NotReady("x"))
    for queue in ("calls", "texts", "rows"):
        labels = {"queue": queue}
        assert made.registry.get_sample_value("recalld_queue_refused_total", labels) == 0


async def test_calls_that_wait() -> None:
    """The page tells calls in flight."""
    made, gate = metrics.create(), Gate(8, is_open=True)
    queues.watch_calls(made, gate)
    gate.enter("t")
    assert made.registry.get_sample_value("recalld_calls_in_flight") == 1
    assert made.registry.get_sample_value("recalld_queue_length", {"queue": "calls"}) == 0


async def test_texts_and_rows(core: Core) -> None:
    """Waits for the embedder are told by what was embedded; after all of it nothing waits."""
    queues.watch(core.metrics, core.embedder, core.writer)
    await core.remember("u", memory("tea"))
    await core.recall("u", "which drink")
    read = core.metrics.registry.get_sample_value
    for queue in ("requests", "memories"):
        assert read("recalld_queue_wait_seconds_count", {"queue": queue}) == 1
    for queue in ("texts", "rows"):
        assert read("recalld_queue_length", {"queue": queue}) == 0


async def test_degraded_recalls(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recall that had no time for its vector is counted by its reason."""
    await core.remember("u", memory("green tea"))
    monkeypatch.setattr(core.embedder, "submit", lambda *_, **__: Future())
    await core.recall("u", "tea", call={"deadline_s": core.clock.monotonic_s() + 1})
    read = core.metrics.registry.get_sample_value
    assert read("recalld_recalls_degraded_total", {"reason": "embedder_deadline"}) == 1
