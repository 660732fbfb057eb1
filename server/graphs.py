"""Graphs for partitions that outgrew the exact scan, built beside queries and writes.

A build takes about a millisecond a row and one thread of its own; until it is attached the exact
scan answers. Builds run one after the other, so that they never take more than one core from
recalls.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recalld.server.partition import Partition


class Graphs:
    """Builds graphs in the background."""

    def __init__(self, log: Any) -> None:
        """Start the builder's thread."""
        self._log = log
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recalld-graph")
        self._building: dict[Partition, asyncio.Task[None]] = {}

    def consider(self, partition: Partition) -> None:
        """Build a graph if the partition wants one and none is on its way. Never waits."""
        if partition.index.wants_graph and partition not in self._building:
            task = asyncio.get_running_loop().create_task(self._build(partition))
            self._building[partition] = task
            task.add_done_callback(lambda _: self._building.pop(partition))

    async def close(self) -> None:
        """Give up what is being built; a graph can always be built again."""
        for task in list(self._building.values()):
            task.cancel()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    async def _build(self, partition: Partition) -> None:
        """Build beside writers, then catch up and attach under their lock."""
        loop = asyncio.get_running_loop()
        count = len(partition.index)
        self._log.info("building graph", memories=count)
        graph = await loop.run_in_executor(self._thread, partition.index.build_graph)
        async with partition.lock:
            await loop.run_in_executor(self._thread, partition.index.attach_graph, graph)
        self._log.info("graph ready", memories=count)
