"""Counters and histograms in the Prometheus format; names carry their units.

One registry per server, none global.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

CALLS, TEXTS, ROWS = "calls", "texts", "rows"
"""Queues that can be full."""
REQUESTS, MEMORIES = "requests", "memories"
"""What the texts are that wait."""
DEGRADED_REASONS = ("embedder_deadline", "embedder_overloaded", "reembedding")
LOAD_OUTCOMES = LOADED, FAILED = ("loaded", "failed")
LATENCY_BUCKETS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


@dataclass(frozen=True)
class PartitionMetrics:
    """Metrics of the partitions.

    Attributes:
        loads: partitions loaded from the database, by outcome (loaded, failed).
        evictions: partitions let go of to stay within the budget.
        resident: partitions in memory now.
        resident_bytes: what they take, by their own estimate.
    """

    loads: Counter
    evictions: Counter
    resident: Gauge
    resident_bytes: Gauge


@dataclass(frozen=True)
class ReembeddingMetrics:
    """Metrics of embedding anew after a change of the model.

    Attributes:
        done: memories embedded anew.
        left: those that are not yet.
        held: users whose new vectors did not find what is stored.
    """

    done: Counter
    left: Gauge
    held: Gauge


@dataclass(frozen=True)
class Metrics:
    """The server's metrics.

    Attributes:
        handled: calls finished, by service, method and status code.
        handling: seconds in the handler, by service and method.
        in_flight: calls in the handler now.
        stage: seconds by stage of the read and write path (load, embed, search, commit).
        memories: memories stored now, of all tenants.
        partitions: what is loaded, and let go of.
        read_only: 1 while the server was started to be read only, else 0.
        outcomes: memories written, by outcome.
        traces: traces of recalls, by what became of them (kept, lost).
        reports: recalls reported as helpful or not.
        waiting: what waits in each bounded queue now.
        waited: seconds in a queue, by queue.
        refused: calls refused since a queue was full, by queue.
        degraded: recalls answered with less than all of their channels, by reason.
        reembedding: how far embedding anew is.
    """

    registry: CollectorRegistry
    handled: Counter
    handling: Histogram
    in_flight: Gauge
    stage: Histogram
    memories: Gauge
    partitions: PartitionMetrics
    read_only: Gauge
    outcomes: Counter
    traces: Counter
    reports: Counter
    waiting: Gauge
    waited: Histogram
    refused: Counter
    degraded: Counter
    reembedding: ReembeddingMetrics
    _children: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def serve(self, address: str) -> None:
        """Serve the Prometheus page on `host:port`, from a thread of prometheus_client."""
        host, _, port = address.rpartition(":")
        start_http_server(int(port), addr=host.strip("[]") or "127.0.0.1", registry=self.registry)

    def count_call(self, service: str, method: str, code: str, elapsed_s: float) -> None:
        """Record one finished call."""
        key = (service, method, code)
        children = self._children.get(key)
        if children is None:
            children = self.handled.labels(*key), self.handling.labels(service, method)
            self._children[key] = children
        children[0].inc()
        children[1].observe(elapsed_s)


def create() -> Metrics:
    """Fresh metrics in a registry of their own."""
    registry = CollectorRegistry()
    made = Metrics(
        registry=registry,
        handled=Counter(
            "grpc_server_handled",
            "Calls finished",
            ("grpc_service", "grpc_method", "grpc_code"),
            registry=registry,
        ),
        handling=Histogram(
            "grpc_server_handling_seconds",
            "Seconds in the handler",
            ("grpc_service", "grpc_method"),
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        ),
        in_flight=Gauge("recalld_calls_in_flight", "Calls in the handler now", registry=registry),
        stage=Histogram(
            "recalld_stage_seconds",
            "Seconds by stage",
            ("stage",),
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        ),
        memories=Gauge("recalld_memories", "Memories stored", registry=registry),
        partitions=_partitions(registry),
        read_only=Gauge(
            "recalld_read_only", "1 while started to be read only, else 0", registry=registry
        ),
        outcomes=Counter("recalld_remembered", "Memories written", ("outcome",), registry=registry),
        traces=Counter("recalld_traces", "Traces of recalls", ("outcome",), registry=registry),
        reports=Counter(
            "recalld_recalls_reported", "Recalls reported on", ("helpful",), registry=registry
        ),
        waiting=Gauge(
            "recalld_queue_length", "What waits in a queue now", ("queue",), registry=registry
        ),
        waited=Histogram(
            "recalld_queue_wait_seconds",
            "Seconds in a queue",
            ("queue",),
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        ),
        refused=Counter(
            "recalld_queue_refused", "Calls refused by a queue", ("queue",), registry=registry
        ),
        degraded=Counter(
            "recalld_recalls_degraded",
            "Recalls without all channels",
            ("reason",),
            registry=registry,
        ),
        reembedding=_reembedding(registry),
    )
    _show_from_the_start(made)
    return made


def _partitions(registry: CollectorRegistry) -> PartitionMetrics:
    """Metrics of the partitions."""
    made = PartitionMetrics(
        loads=Counter(
            "recalld_partition_loads", "Partitions loaded", ("outcome",), registry=registry
        ),
        evictions=Counter(
            "recalld_partition_evictions",
            "Partitions let go of to stay within the budget",
            registry=registry,
        ),
        resident=Gauge("recalld_partitions_resident", "Partitions in memory", registry=registry),
        resident_bytes=Gauge(
            "recalld_partitions_resident_bytes",
            "Bytes of the partitions in memory, estimated",
            registry=registry,
        ),
    )
    for outcome in LOAD_OUTCOMES:
        made.loads.labels(outcome)
    return made


def _reembedding(registry: CollectorRegistry) -> ReembeddingMetrics:
    """Metrics of embedding anew."""
    return ReembeddingMetrics(
        done=Counter("recalld_reembedded_memories", "Memories embedded anew", registry=registry),
        left=Gauge(
            "recalld_reembedding_memories_left", "Memories to be embedded anew", registry=registry
        ),
        held=Gauge(
            "recalld_reembedding_users_held",
            "Users whose new vectors are held back",
            registry=registry,
        ),
    )


def _show_from_the_start(made: Metrics) -> None:
    """Make the series of the queues: a rate misses the first event of a series that it begins."""
    for queue in (CALLS, TEXTS, ROWS):
        made.waiting.labels(queue)
        made.refused.labels(queue)
    for waits in (CALLS, REQUESTS, MEMORIES):
        made.waited.labels(waits)
    for reason in DEGRADED_REASONS:
        made.degraded.labels(reason)
