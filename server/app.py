"""The composition root: builds everything, and owns the order of starting and stopping.

Start: lock the directory -> bind the port (health says NOT_SERVING) -> open store and model ->
    count and warm -> ready; memories are loaded when they are asked for.
Stop: health NOT_SERVING -> let calls in flight finish -> close model and store -> let go of the
    directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from recalld.index import role_catalogue
from recalld.server import (
    listening,
    metrics,
    queues,
    reflecting,
    reload,
    services,
    snapshots,
    tls,
    transport,
)
from recalld.server.admission import Gate
from recalld.server.clock import Clock, SystemClock
from recalld.server.config import Config, environment, seal_key
from recalld.server.credentials import open_credentials
from recalld.server.dispatch import Dispatcher, Door
from recalld.server.errors import AddressInUse, ConfigError
from recalld.server.forgetting import forget_answers
from recalld.server.graphs import Graphs
from recalld.server.keeping import Keeping, open_keeping
from recalld.server.loading import Loading
from recalld.server.model import open_embedder, rank_params
from recalld.server.model_change import open_models, prepared
from recalld.server.partitions import Partitions
from recalld.server.quotas import CallRate, MemoryQuota
from recalld.server.reembedding import Seam
from recalld.server.reopening import Reopening
from recalld.server.roles import Roles
from recalld.server.screening import Screen, make_screen
from recalld.server.sealing import Sealer
from recalld.server.traced import config_hash
from recalld.server.traces import Traces
from recalld.server.version import VERSION
from recalld.server.writer import Writer
from recalld.storage.duckdb_store import DuckDBOptions
from recalld.storage.lock import DirectoryLock

MIB = 1024 * 1024
FLUSH_S = 0.2
"""Time for the last answers to reach their callers."""


@dataclass
class App:
    """One running server."""

    config: Config
    log: Any
    clock: Clock = field(default_factory=SystemClock)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises: DirectoryLocked, AddressInUse, FormatTooNew, Corrupt, ModelMissing, ... says why.
        """
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        failures: list[BaseException] = []

        def fail(error: BaseException) -> None:
            """End what has nothing to serve any more."""
            failures.append(error)
            stop.set()

        async with contextlib.AsyncExitStack() as stack:
            await self._start(stack, fail)
            await stop.wait()
            self.log.info("stopping")
        self.log.info("stopped")
        if failures:
            raise failures[0]

    async def _start(
        self, stack: contextlib.AsyncExitStack, fail: Callable[[BaseException], None]
    ) -> None:
        """Bring everything up; whatever was started is stopped again when a later step fails."""
        config = self.config
        roles = Roles(role_catalogue.load(config.ranking.catalogue_file))
        key = seal_key(config, environment())
        screen = make_screen(config.sensitive, None if key is None else Sealer(key))
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
        gate = Gate(config.server.in_flight_max, is_shared=config.auth.required)
        queues.watch_calls(measures, gate)
        door = Door(
            open_credentials(config, self.clock, self.log),
            gate,
            CallRate(config.quotas, self.clock),
        )
        table = services.Table()
        server, servicer, address = await self._listen(stack, table, door, measures)

        async def load(onto: contextlib.AsyncExitStack) -> tuple[services.Parts, reload.Reloaded]:
            """Load, and answer with it."""
            made = await self._load(onto, measures, now_us, roles, screen, reopening.exchange)
            table.fill(made[0])
            return made

        say = partial(self._say_serving, servicer)
        reopening = Reopening(gate, load, say, config.server.drain_s, fail, self.log)
        stack.push_async_callback(reopening.close)
        parts, loaded = await reopening.start()
        stack.push_async_callback(self._drain, server, servicer, gate)
        gate.is_open = True
        await self._say_serving(servicer, True)
        self.log.info(
            "ready",
            listen=address,
            version=VERSION,
            data_dir=str(data_dir),
            embedder=parts.embedder_name,
            fingerprint=parts.models.current.fingerprint,
            read_only=bool(parts.store.read_only_reason),
            memories=loaded.memory_count,
            users=len(loaded.partitions),
        )

    async def _load(
        self,
        stack: contextlib.AsyncExitStack,
        measures: metrics.Metrics,
        now_us: int,
        roles: Roles,
        screen: Screen,
        exchange: snapshots.Exchange,
    ) -> tuple[services.Parts, reload.Reloaded]:
        """Open model and store, and learn what is in it."""
        pool = ThreadPoolExecutor(self.config.server.workers, thread_name_prefix="recalld-native")
        stack.callback(pool.shutdown)
        embedder, embedder_name = await asyncio.to_thread(
            open_embedder, self.config.embedder, is_shared=self.config.auth.required
        )
        stack.push_async_callback(asyncio.to_thread, embedder.close)
        store = (keeping := await self._keep(stack, now_us)).store
        models, reembedding = await open_models(
            stack, self.config, store, embedder, pool, measures, self.log
        )
        loaded = await asyncio.to_thread(reload.reload, store, models)
        measures.memories.set(loaded.memory_count)
        measures.read_only.set(bool(store.read_only_reason))
        graphs = Graphs(self.log, self.config.server.workers)
        stack.push_async_callback(graphs.close)
        zone, fingerprint = self.config.ranking.zone, embedder.fingerprint
        loading = Loading(store, models, reembedding, zone, self.clock, measures, self.log)
        bytes_max = self.config.server.memory_max_mb * MIB
        partitions = Partitions(loaded.partitions, loading, graphs, measures.partitions, bytes_max)
        stack.push_async_callback(partitions.close)
        stack.callback(asyncio.create_task(partitions.warm(loaded.newest())).cancel)
        writer = Writer(store, pool, partitions, measures, zone, screen.sealer)
        writer.quota = MemoryQuota(self.config.quotas.memories_max, partitions)
        stack.push_async_callback(writer.drain)
        queues.watch(measures, embedder, writer)
        ranking = config_hash(VERSION, self.config.ranking, rank_params(embedder), fingerprint)
        traces = Traces(store.traces, pool, self.config.traces, ranking, measures, self.log)
        stack.push_async_callback(traces.close)
        made = snapshots.Snapshots(keeping, fingerprint, self.config.snapshots, exchange)
        stack.callback(asyncio.create_task(made.run_schedule()).cancel)
        parts = services.Parts(
            config=self.config,
            partitions=partitions,
            writer=writer,
            store=store,
            models=models,
            reembedding=reembedding,
            embedder_name=embedder_name,
            roles=prepared(roles, self.config, embedder, stack, self.log),
            metrics=measures,
            traces=traces,
            screen=screen,
            eraser=keeping,
            snapshots=made,
            pool=pool,
            start_time_us=now_us,
            started_s=self.clock.monotonic_s(),
        )
        stack.push_async_callback(reembedding.start(Seam(partitions.loaded, partitions.settle)))
        return parts, loaded

    async def _keep(self, stack: contextlib.AsyncExitStack, now_us: int) -> Keeping:
        """Open the store with its snapshots, and forget old answers from now on."""
        options = DuckDBOptions(
            now_us=now_us,
            created_by=VERSION,
            memory_limit_bytes=self.config.storage.memory_limit_mb * MIB,
        )
        data_dir = self.config.storage.data_dir
        keeping = await open_keeping(stack, data_dir, options, self.clock, self.log)
        forgetting = forget_answers(keeping.store, self.clock, self.log)
        stack.callback(asyncio.create_task(forgetting).cancel)
        return keeping

    async def _listen(
        self,
        stack: contextlib.AsyncExitStack,
        table: services.Table,
        door: Door,
        measures: metrics.Metrics,
    ) -> tuple[grpc.aio.Server, health.aio.HealthServicer, str]:
        """Bind and start to answer: health says NOT_SERVING, every other call says UNAVAILABLE."""
        settings = self.config.server
        server = grpc.aio.server(options=transport.channel_options())
        dispatcher = Dispatcher(
            clock=self.clock,
            door=door,
            metrics=measures,
            log=self.log,
            test_clock=settings.test_clock,
        )
        server.add_generic_rpc_handlers(tuple(table.handlers(dispatcher)))
        servicer = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        await self._say_serving(servicer, False)
        if settings.reflection:
            names = (*services.SERVICE_NAMES, health.SERVICE_NAME)
            reflecting.add_to(server, names, dispatcher)
        credentials = tls.server_credentials(self.config.tls, self.log)
        mode = int(settings.socket_mode, 8)
        address = listening.bind(server, settings.listen, credentials, mode)
        await server.start()
        stack.push_async_callback(server.stop, None)
        return server, servicer, address

    async def _say_serving(self, servicer: health.aio.HealthServicer, is_serving: bool) -> None:
        """Say of the server and of each service whether calls are answered."""
        states = health_pb2.HealthCheckResponse
        for name in ("", *services.SERVICE_NAMES):
            await servicer.set(name, states.SERVING if is_serving else states.NOT_SERVING)

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
