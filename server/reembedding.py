"""Embedding anew: after a change of the model, beside the calls of a running server.

Each partition goes on being searched as it was (see `models.py`) until every memory of it has
vectors of the configured model, these find what is stored, and they take their place in one step.
What was made is kept beside the rows, so a server that is killed goes on where it was.

It has the least priority: a few texts at a time, none while calls wait for the embedder, and at
most a share of the time. Invariant: the store changes before the index, both under the
partition's lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from recalld.index.renewal import renewed
from recalld.server.indexing import embedded_text, source_hash
from recalld.server.metrics import Metrics
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.probes import self_recall
from recalld.server.sections import EmbedderSection
from recalld.storage.record import MemoryRecord
from recalld.storage.renewal import Renewal
from recalld.storage.store import Store

Floats = NDArray[np.float32]
Key = tuple[str, str]
"""Tenant and user id."""
BATCH_COUNT = 16
"""Memories between two writes: what a kill costs."""
SLICE_COUNT = 4
"""Texts in the embedder's queue at once."""
WAIT_S = 0.05
WAIT_COUNT_MAX = 20
"""Looks at a busy embedder before a slice goes all the same: a flood must not stop it for ever."""
TOLD_EVERY_S = 10.0


@dataclass(frozen=True)
class Seam:
    """What embedding anew needs of the server.

    Attributes:
        use: brings a partition into memory; None when it has no memories any more.
        changed: told of a partition that is searched by another model now.
    """

    use: Callable[[str, str], Awaitable[Partition | None]]
    changed: Callable[[Partition], None]


@dataclass
class Progress:
    """How far it is.

    Attributes:
        total: memories that had to be embedded anew at the start.
        left: of each partition that is not switched yet, its memories without new vectors.
        held: partitions whose new vectors did not find what is stored.
    """

    total: int = 0
    left: dict[Key, int] = field(default_factory=dict)
    held: set[Key] = field(default_factory=set)

    @property
    def left_count(self) -> int:
        """Memories that are not embedded anew yet."""
        return sum(self.left.values())


class Reembedding:
    """The one task that embeds anew; `start` it when the server is ready."""

    def __init__(
        self,
        store: Store,
        models: Models,
        section: EmbedderSection,
        pool: ThreadPoolExecutor,
        metrics: Metrics,
        log: Any,
    ) -> None:
        """Learn what has to be done; reads the store, so off the event loop.

        Args:
            store: where rows and renewals are.
            models: the configured one embeds.
            section: its share of the time, and the least recall to switch at.
            pool: for what is native and slow.
            metrics: where progress is shown.
            log: told of progress, in counts.
        """
        self._store = store
        self._models = models
        self._section = section
        self._pool = pool
        self._done = metrics.reembedding.done
        self._log = log
        self._switching = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._told_s = 0.0
        self.progress = Progress()
        fingerprint = models.current.fingerprint
        for tenant, user_id, count in store.renewals.foreign(fingerprint):
            self.progress.left[tenant, user_id] = count
        self.progress.total = self.progress.left_count
        metrics.reembedding.left.set_function(lambda: self.progress.left_count)
        metrics.reembedding.held.set_function(lambda: len(self.progress.held))

    def is_pending(self, tenant: str, user_id: str) -> bool:
        """Whether a partition's stored rows are not all of the configured model."""
        return (tenant, user_id) in self.progress.left

    def start(self, seam: Seam) -> Callable[[], Awaitable[None]]:
        """Begin, and say how to stop; a store that takes no writes stays as it is."""
        if self.progress.left and not self._store.read_only_reason:
            counts = {"memories": self.progress.total, "users": len(self.progress.left)}
            self._log.warning("embedding anew", reason="another model, or no vectors", **counts)
            self._task = asyncio.create_task(self._run(seam))
        return self.close

    async def close(self) -> None:
        """Stop between two steps; what was made is kept."""
        async with self._switching:
            if self._task is not None:
                self._task.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, seam: Seam) -> None:
        fingerprint = self._models.current.fingerprint
        await asyncio.to_thread(self._store.renewals.drop_others, fingerprint)
        for key in list(self.progress.left):
            try:
                await self._renew(key, seam)
            except Exception as error:
                # The others go on; this one is served as it is, and tried again at the next start.
                self.progress.held.add(key)
                self._log.error("a user's memories cannot be embedded anew", fault=repr(error))
        self._log.info(
            "embedded anew",
            memories=self.progress.total - self.progress.left_count,
            users_held_back=len(self.progress.held),
        )

    async def _renew(self, key: Key, seam: Seam) -> None:
        """One partition, from the first memory to the switch."""
        partition = await seam.use(*key)
        if partition is None:
            del self.progress.left[key]
            return
        fingerprint = self._models.current.fingerprint
        kept = await asyncio.to_thread(self._store.renewals.of_partition, *key, fingerprint)
        made = {one.label: one.source_hash for one in kept}
        del kept
        is_probed = False
        while True:
            await self._embed_rest(partition, key, made)
            waiting = await asyncio.to_thread(self._store.renewals.of_partition, *key, fingerprint)
            if not is_probed and not await self._finds_what_is_stored(partition, key, waiting):
                return
            is_probed = True
            async with self._switching, partition.lock:
                # Whatever was written since its text was embedded is embedded first.
                if not await _rest(partition, made):
                    await self._switch(partition, key, waiting)
                    break
        seam.changed(partition)

    async def _embed_rest(self, partition: Partition, key: Key, made: dict[int, bytes]) -> None:
        """Embed what has no vectors yet, a batch at a time, each of them durable."""
        while rest := await _rest(partition, made):
            for start in range(0, len(rest), BATCH_COUNT):
                self.progress.left[key] = len(rest) - start
                self._tell()
                await self._embed_batch(rest[start : start + BATCH_COUNT], made)
        self.progress.left[key] = 0

    async def _embed_batch(self, batch: list[MemoryRecord], made: dict[int, bytes]) -> None:
        """Embed some memories, and make their vectors durable."""
        vectors = await self._embed([embedded_text(one) for one in batch], is_query=False)
        cues_of = [await self._cues(record) for record in batch]
        renewals = [
            Renewal(record.label, self._models.current.fingerprint, source_hash(record), *both)
            for record, *both in zip(batch, vectors, cues_of, strict=True)
        ]
        await asyncio.wrap_future(self._store.renewals.put(renewals))
        made |= {one.label: one.source_hash for one in renewals}
        self._done.inc(len(batch))

    async def _cues(self, record: MemoryRecord) -> Floats | None:
        """Vectors of a memory's cues, of similarity alone."""
        if not record.relevant_when:
            return None
        vectors = await self._embed(record.relevant_when, is_query=True)
        return np.ascontiguousarray(vectors[:, : self._models.current.dim])

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> Floats:
        """Embed texts behind all calls, and rest as long as the share of the time demands."""
        embedder = self._models.current
        parts = []
        for start in range(0, len(texts), SLICE_COUNT):
            part = texts[start : start + SLICE_COUNT]
            await _quiet(embedder)
            started_s = time.monotonic()
            while True:
                with contextlib.suppress(EmbedQueueFull):
                    parts.append(
                        await asyncio.wrap_future(embedder.submit(part, is_query=is_query))
                    )
                    break
                await asyncio.sleep(WAIT_S)
            embedder.discard(part)
            took_s = time.monotonic() - started_s
            await asyncio.sleep(took_s * (1 / self._section.reembed_share - 1))
        return np.concatenate(parts)

    async def _finds_what_is_stored(
        self, partition: Partition, key: Key, waiting: Sequence[Renewal]
    ) -> bool:
        """Whether the new vectors pass the probes, or do as well as the old; tells when not."""
        # A memory that was changed since is embedded once more before the switch.
        known = ((one, partition.records.get(one.label)) for one in waiting)
        asked = [(one, rec) for one, rec in known if rec and source_hash(rec) == one.source_hash]
        records = {one.label: record for one, record in asked}
        vectors = {one.label: one.vector for one, _ in asked}
        found = await self_recall(records, vectors, self._models.current)
        least = self._section.switch_recall_min
        old = self._models.find(partition.index.fingerprint)
        if found < least and old is not None:
            # Texts that are all alike are hard to tell apart for any model.
            held = dict(zip(records, partition.index.vectors_of(list(records)), strict=True))
            least = min(least, await self_recall(records, held, old))
        if found >= least:
            return True
        self.progress.held.add(key)
        self._log.error(
            "new vectors held back",
            self_recall_at_k=round(found, 3),
            least=round(least, 3),
            memories=len(partition),
        )
        return False

    async def _switch(self, partition: Partition, key: Key, waiting: Sequence[Renewal]) -> None:
        """Exchange the vectors, in the store and then in the index; the lock is held."""
        fingerprint = self._models.current.fingerprint
        # Some may have been purged since these were read.
        there = [one for one in waiting if one.label in partition.records]
        vectors = {one.label: one.vector for one in there}
        cues = {one.label: one.cues for one in there if one.cues is not None}
        fresh = self._models.index(fingerprint)
        loop = asyncio.get_running_loop()
        fresh.generation = await loop.run_in_executor(
            self._pool,
            partial(renewed, partition.index.generation, fresh.generation, vectors, cues),
        )
        await asyncio.wrap_future(self._store.renewals.apply(*key, fingerprint))
        partition.index, partition.judge = fresh, self._models.judge_of(fingerprint)
        del self.progress.left[key]

    def _tell(self) -> None:
        """Tell how far it is, now and then."""
        if time.monotonic() - self._told_s >= TOLD_EVERY_S:
            self._told_s = time.monotonic()
            done = self.progress.total - self.progress.left_count
            self._log.info("embedding anew", done=done, of=self.progress.total)


async def _rest(partition: Partition, made: Mapping[int, bytes]) -> list[MemoryRecord]:
    """Records without vectors, or whose texts have changed since these were made."""
    records = list(partition.records.values())
    return await asyncio.to_thread(
        lambda: [one for one in records if made.get(one.label) != source_hash(one)]
    )


async def _quiet(embedder: BatchingEmbedder) -> None:
    """Wait until nothing else waits for the embedder, but not for ever."""
    for _ in range(WAIT_COUNT_MAX):
        if not embedder.waiting:
            return
        await asyncio.sleep(WAIT_S)
