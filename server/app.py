"""The composition root: builds everything, and owns the order of starting and stopping.

Start: lock the directory -> bind the port (health says NOT_SERVING) -> open store and model ->
    reload and warm -> ready.
Stop: health NOT_SERVING -> let calls in flight finish -> close model and store -> let go of the
    directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from recalld.index import role_catalogue
from recalld.index.analyzer import Analyzer
from recalld.index.batching import BatchingEmbedder
from recalld.index.embedder import Embedder, cache_dir, default_model_dir
from recalld.index.partition import PartitionIndex
from recalld.scoring.params import RankParams, Scale
from recalld.server import listening, metrics, reload, services
from recalld.server.clock import Clock, SystemClock
from recalld.server.config import Config, environment
from recalld.server.dispatch import Dispatcher, Gate
from recalld.server.errors import AddressInUse, ConfigError
from recalld.server.graphs import Graphs
from recalld.server.limits import MESSAGE_BYTES_MAX
from recalld.server.partitions import Partitions
from recalld.server.roles import Roles
from recalld.server.sections import EmbedderSection
from recalld.server.traced import config_hash
from recalld.server.traces import Traces
from recalld.server.version import VERSION
from recalld.server.writer import Writer
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.lock import DirectoryLock
from recalld.storage.store import Store

CHANNEL_OPTIONS = (
    # Two servers must never share a port in silence.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    # Other clients ping every 10 s; the default minimum of 5 minutes would cut them off.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)
REQUEST_KEEP_US = 24 * 3600 * 1_000_000
PRUNE_EVERY_S = 3600.0
FLUSH_S = 0.2
"""Time for the last answers to reach their callers."""


def make_embedder(section: EmbedderSection) -> tuple[Embedder, str]:
    """The configured model and its readable name.

    Raises:
        ModelMissing, ModelInvalid: the folder holds no usable model.
    """
    if section.kind == "hash":
        from recalld.index.hash_embedder import HashEmbedder

        return HashEmbedder(section.hash_dim), "hash"
    from recalld.index.onnx_embedder import OnnxEmbedder

    folder = section.model_dir or default_model_dir(environment())
    return OnnxEmbedder(folder, threads=section.threads), folder.name


def rank_params(embedder: BatchingEmbedder) -> RankParams:
    """The ranking's numbers for one model."""
    similarity, relevance = embedder.calibration, embedder.relevance
    return RankParams(
        mean=similarity.mean,
        spread=similarity.spread,
        relevance=Scale(relevance.mean, relevance.spread) if relevance is not None else None,
    )


def make_partitions(embedder: BatchingEmbedder, params: RankParams, exact_max: int) -> Partitions:
    """No partition yet; each gets an index for vectors of one model, and shares the analyzer."""
    make = partial(PartitionIndex, embedder.dim, params, Analyzer(), exact_max, embedder.requests)
    return Partitions(make)


@dataclass
class App:
    """One running server."""

    config: Config
    log: Any
    clock: Clock = field(default_factory=SystemClock)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            DirectoryLocked, AddressInUse, FormatTooNew, Corrupt, ModelMissing, ...: it cannot
            start; says why.
        """
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        async with contextlib.AsyncExitStack() as stack:
            await self._start(stack, stop)
            await stop.wait()
            self.log.info("stopping")
        self.log.info("stopped")

    async def _start(self, stack: contextlib.AsyncExitStack, stop: asyncio.Event) -> None:
        """Bring everything up; whatever was started is stopped again when a later step fails."""
        config = self.config
        roles = Roles(role_catalogue.load(config.ranking.catalogue_file))
        data_dir = config.storage.data_dir
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"storage.data_dir: {data_dir}: {error.strerror}") from error
        now_us = self.clock.now_us()
        stack.enter_context(
            DirectoryLock(data_dir, listen_address=config.server.listen, now_us=now_us)
        )
        measures = metrics.create()
        if config.server.metrics_listen:
            try:
                measures.serve(config.server.metrics_listen)
            except OSError as error:
                raise AddressInUse(
                    f"server.metrics_listen: {config.server.metrics_listen}: {error.strerror}"
                ) from error
        gate = Gate(config.server.in_flight_max)
        measures.in_flight.set_function(lambda: gate.in_flight)
        table = services.Table()
        server, servicer, address = await self._listen(stack, table, gate, measures)
        parts, loaded = await self._load(stack, measures, now_us, roles)
        table.fill(parts)
        stack.push_async_callback(self._drain, server, servicer, gate)
        pruning = asyncio.create_task(self._prune(parts.store))
        stack.callback(pruning.cancel)
        gate.is_open = True
        await self._set_health(servicer, health_pb2.HealthCheckResponse.SERVING)
        self.log.info(
            "ready",
            listen=address,
            version=VERSION,
            data_dir=str(data_dir),
            embedder=parts.embedder_name,
            fingerprint=parts.embedder.fingerprint,
            memories=loaded.memory_count,
            users=loaded.partition_count,
        )

    async def _load(
        self,
        stack: contextlib.AsyncExitStack,
        measures: metrics.Metrics,
        now_us: int,
        roles: Roles,
    ) -> tuple[services.Parts, reload.Reloaded]:
        """Open model and store, and bring everything back into memory."""
        pool = ThreadPoolExecutor(self.config.server.workers, thread_name_prefix="recalld-native")
        stack.callback(pool.shutdown)
        inner, embedder_name = await asyncio.to_thread(make_embedder, self.config.embedder)
        embedder = BatchingEmbedder(
            inner,
            cache_max=self.config.embedder.cache_entries,
            queue_texts_max=self.config.embedder.queue_max,
            # A request that runs alone has the same vector under any load: the same answer.
            requests_per_run_max=1,
        )
        stack.push_async_callback(asyncio.to_thread, embedder.close)
        options = DuckDBOptions(
            now_us=now_us,
            created_by=VERSION,
            memory_limit_bytes=self.config.storage.memory_limit_mb * 1024 * 1024,
        )
        store = await asyncio.to_thread(DuckDBStore, self.config.storage.data_dir, options)
        stack.push_async_callback(asyncio.to_thread, store.close)
        params = rank_params(embedder)
        partitions = make_partitions(embedder, params, self.config.ranking.exact_rows_max)
        zone = self.config.ranking.zone
        loaded = await asyncio.to_thread(reload.reload, store, partitions, embedder, self.log, zone)
        measures.memories.set(loaded.memory_count)
        graphs = Graphs(self.log)
        stack.push_async_callback(graphs.close)
        for partition in partitions:
            graphs.consider(partition)
        writer = Writer(store, pool, graphs, measures, embedder.fingerprint, zone)
        stack.push_async_callback(writer.drain)
        ranking = config_hash(VERSION, self.config.ranking, params, embedder.fingerprint)
        settings = self.config.traces
        traces = Traces(store.traces, pool, settings, ranking, measures, self.log)
        stack.push_async_callback(traces.close)
        parts = services.Parts(
            config=self.config,
            partitions=partitions,
            writer=writer,
            store=store,
            embedder=embedder,
            embedder_name=embedder_name,
            roles=self._prepared(roles, embedder, stack),
            metrics=measures,
            traces=traces,
            pool=pool,
            start_time_us=now_us,
            started_s=self.clock.monotonic_s(),
        )
        return parts, loaded

    def _prepared(
        self, roles: Roles, embedder: BatchingEmbedder, stack: contextlib.AsyncExitStack
    ) -> Roles | None:
        """Roles that get ready in the background; without a model of meaning there are none."""
        if self.config.embedder.kind == "hash":
            return None
        folder = cache_dir(environment()) / "roles"
        preparing = asyncio.create_task(roles.prepare(embedder, folder, self.log))
        stack.callback(preparing.cancel)
        return roles

    async def _listen(
        self,
        stack: contextlib.AsyncExitStack,
        table: services.Table,
        gate: Gate,
        measures: metrics.Metrics,
    ) -> tuple[grpc.aio.Server, health.aio.HealthServicer, str]:
        """Bind and start to answer: health says NOT_SERVING, every other call says UNAVAILABLE."""
        settings = self.config.server
        server = grpc.aio.server(options=CHANNEL_OPTIONS)
        dispatcher = Dispatcher(
            clock=self.clock,
            gate=gate,
            metrics=measures,
            log=self.log,
            test_clock=settings.test_clock,
        )
        server.add_generic_rpc_handlers(tuple(table.handlers(dispatcher)))
        servicer = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        await self._set_health(servicer, health_pb2.HealthCheckResponse.NOT_SERVING)
        if settings.reflection:
            names = (*services.SERVICE_NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, server)
        address = listening.bind(server, settings.listen)
        await server.start()
        stack.push_async_callback(server.stop, None)
        return server, servicer, address

    async def _set_health(self, servicer: health.aio.HealthServicer, state: int) -> None:
        """Say the state of the server and of each service."""
        for name in ("", *services.SERVICE_NAMES):
            await servicer.set(name, state)

    async def _drain(
        self, server: grpc.aio.Server, servicer: health.aio.HealthServicer, gate: Gate
    ) -> None:
        """Take no new calls, let the present ones finish.

        Streams that never end by themselves (of health and reflection) are not waited for.
        """
        await servicer.enter_graceful_shutdown()
        gate.is_open = False
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.stop(self.config.server.drain_s))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(gate.idle.wait(), self.config.server.drain_s)
            tasks.create_task(server.stop(FLUSH_S))

    async def _prune(self, store: Store) -> None:
        """Forget answers to request ids after a day, hourly."""
        while True:
            await asyncio.sleep(PRUNE_EVERY_S)
            await asyncio.to_thread(store.prune_requests, self.clock.now_us() - REQUEST_KEEP_US)
