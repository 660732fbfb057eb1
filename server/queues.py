"""The bounded queues of a server in its metrics: length, wait, refusals.

Calls wait for their turn in `admission.py`, texts for the embedder in `index/batching.py`, rows for
the disk in `storage/writer.py`. Native work waits for a thread, one piece for each call in flight,
so the bound of the calls is its bound.
"""

from __future__ import annotations

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from recalld.server.admission import Gate
from recalld.server.errors import Overloaded
from recalld.server.metrics import CALLS, MEMORIES, REQUESTS, ROWS, TEXTS, Metrics
from recalld.server.writer import Writer
from recalld.storage.errors import StoreBusy

QUEUE_OF: dict[type[Exception], str] = {Overloaded: CALLS, EmbedQueueFull: TEXTS, StoreBusy: ROWS}
"""Which queue was full, by what it raises."""


def watch_calls(metrics: Metrics, gate: Gate) -> None:
    """Show how many calls are in flight, and how many of them wait for their turn."""
    metrics.in_flight.set_function(lambda: gate.in_flight)
    metrics.waiting.labels(CALLS).set_function(lambda: gate.waiting_count)


def watch(metrics: Metrics, embedder: BatchingEmbedder, writer: Writer) -> None:
    """Show how many texts and rows wait, and how long texts did."""
    metrics.waiting.labels(TEXTS).set_function(lambda: embedder.waiting)
    metrics.waiting.labels(ROWS).set_function(lambda: writer.waiting_row_count)
    observe = {kind: metrics.waited.labels(kind).observe for kind in (REQUESTS, MEMORIES)}
    embedder.on_wait = lambda is_query, wait_s: observe[REQUESTS if is_query else MEMORIES](wait_s)


def count_refusal(metrics: Metrics, error: Exception) -> None:
    """Count a call that a full queue refused; other errors count nothing."""
    queue = QUEUE_OF.get(type(error))
    if queue is not None:
        metrics.refused.labels(queue).inc()
