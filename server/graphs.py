"""Graphs for partitions that outgrew the exact scan, built beside queries and writes.

A build takes about a millisecond of processor a row, on the threads of `server.workers`, all of
them at the lowest priority, so that recalls and writes come first. Until a graph is attached every
row is looked at, or the graph before it answers. Builds run one after the other.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from recalld.server.partition import Partition
from recalld.storage.background import step_back

_PRIORITY_LOWEST = 19


class Graphs:
    """Builds graphs in the background."""

    def __init__(self, log: Any, threads: int) -> None:
        """Start the builder's thread; `threads`, > 0, share the work of each build."""
        self._log = log
        self._threads = threads
        self._closing = threading.Event()
        self._thread = ThreadPoolExecutor(1, "recalld-graph", partial(step_back, _PRIORITY_LOWEST))
        self._building: dict[Partition, asyncio.Task[None]] = {}

    def consider(self, partition: Partition) -> None:
        """Build a graph if the partition wants one and none is on its way. Never waits."""
        if partition.index.wants_graph and partition not in self._building:
            task = asyncio.get_running_loop().create_task(self._build(partition))
            self._building[partition] = task
            task.add_done_callback(lambda _: self._building.pop(partition))

    async def close(self) -> None:
        """Give up what is being built; a graph can always be built again."""
        self._closing.set()
        for task in list(self._building.values()):
            task.cancel()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    async def _build(self, partition: Partition) -> None:
        """Build beside writers, then attach under their lock."""
        loop, index = asyncio.get_running_loop(), partition.index
        count = len(index)
        self._log.info("building graph", memories=count)
        graph = await loop.run_in_executor(
            self._thread, index.build_graph, self._threads, lambda: not self._closing.is_set()
        )
        if graph is None:
            return
        async with partition.lock:
            is_attached = index.attach_graph(graph)
        # Otherwise the rows were numbered anew meanwhile; the next write has another one built.
        self._log.info("graph ready" if is_attached else "graph too late", memories=count)
