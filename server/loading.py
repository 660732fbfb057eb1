"""Loading of one partition: its durable rows become records, books and index.

It reads and builds on threads of its own, never on the event loop, and keeps nothing. It is only
asked for partitions that nobody writes to meanwhile (see `recalld.server.partitions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.index.judge import Judge
from recalld.index.partition import PartitionIndex
from recalld.server import logs
from recalld.server.clock import Clock
from recalld.server.cue_vectors import embed_cues_now
from recalld.server.indexing import embedded_text, index_row
from recalld.server.metrics import Metrics
from recalld.server.model import index_maker, rank_params
from recalld.server.partition import Partition
from recalld.server.sections import RankingSection
from recalld.storage.store import Store, StoredMemory

Labels = NDArray[np.int64]
THREAD_COUNT = 2
"""A large partition never keeps small ones waiting; more threads would only share one core."""
CHUNK_ROW_COUNT = 8_192
EMBED_ROW_COUNT = 256


@dataclass(frozen=True)
class Loading:
    """Makes partitions.

    Attributes:
        store: where the rows are.
        embedder: its model's vectors are searched.
        ranking: how they are searched.
        clock: for durations.
        metrics: where they go.
        log: of failures.
    """

    store: Store
    embedder: BatchingEmbedder
    ranking: RankingSection
    clock: Clock
    metrics: Metrics
    log: Any
    _make_index: Callable[[], PartitionIndex] = field(init=False)
    _judge: Judge | None = field(init=False)
    _zone: tzinfo = field(init=False)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREAD_COUNT, "recalld-load"), init=False
    )

    def __post_init__(self) -> None:
        """Prepare what all partitions share."""
        make_index = index_maker(self.embedder, rank_params(self.embedder), self.ranking)
        object.__setattr__(self, "_make_index", make_index)
        object.__setattr__(self, "_judge", Judge.of(self.embedder.base_model))
        object.__setattr__(self, "_zone", self.ranking.zone)

    def empty(self, tenant: str, user_id: str) -> Partition:
        """A partition without memories."""
        return Partition(tenant, user_id, self._make_index(), self._judge)

    async def load(self, tenant: str, user_id: str, labels: Labels) -> Partition:
        """A partition as it is stored, of the rows with these labels.

        Raises:
            Corrupt, StorageError, StoreClosed: its rows cannot be read.
        """
        started_s = self.clock.monotonic_s()
        loop = asyncio.get_running_loop()
        try:
            partition = await loop.run_in_executor(
                self._threads, self._read, tenant, user_id, labels
            )
        except Exception as error:
            self.log.error("a user's memories cannot be loaded", fault=logs.fault(error))
            raise
        self.metrics.stage.labels("load").observe(self.clock.monotonic_s() - started_s)
        return partition

    def close(self) -> None:
        """End the threads; what they do is finished."""
        self._threads.shutdown()

    def _read(self, tenant: str, user_id: str, labels: Labels) -> Partition:
        """Rows in chunks, so that a large partition is not in memory twice."""
        partition = self.empty(tenant, user_id)
        stored = self.store.load_partition(tenant, user_id, labels)
        for chunk in chunks(stored, CHUNK_ROW_COUNT):
            rows = whole(chunk, self.embedder)
            partition.put(row.record for row in rows)
            vectors = np.stack([row.vector for row in rows if row.vector is not None])
            cues = {row.record.label: row.cues for row in rows if row.cues is not None}
            partition.index.add([index_row(row.record, self._zone) for row in rows], vectors, cues)
        return partition


def chunks(rows: Iterator[StoredMemory], size: int) -> Iterator[list[StoredMemory]]:
    """Rows in lists of at most `size`."""
    while chunk := list(islice(rows, size)):
        yield chunk


def whole(rows: list[StoredMemory], embedder: BatchingEmbedder) -> list[StoredMemory]:
    """Rows with all vectors of this model, in their order; those that they had of it are kept.

    After a start only a store that takes no writes still has rows without.
    """
    is_whole = [_is_whole(row, embedder.fingerprint) for row in rows]
    if all(is_whole):
        return rows
    made = iter(_anew([r for r, good in zip(rows, is_whole, strict=True) if not good], embedder))
    return [row if good else next(made) for row, good in zip(rows, is_whole, strict=True)]


def _is_whole(row: StoredMemory, fingerprint: str) -> bool:
    """Whether a row has all its vectors, of the model with that fingerprint."""
    has_cues = row.cues is not None or not row.record.relevant_when
    return row.vector is not None and row.fingerprint == fingerprint and has_cues


def _anew(rows: list[StoredMemory], embedder: BatchingEmbedder) -> list[StoredMemory]:
    """Rows with vectors of this model, those of the text kept where they are of it already."""
    foreign = [r for r in rows if r.vector is None or r.fingerprint != embedder.fingerprint]
    vectors: dict[int, NDArray[np.float32]] = {}
    for part in chunks(iter(foreign), EMBED_ROW_COUNT):
        made = embedder.embed([embedded_text(row.record) for row in part], is_query=False)
        vectors |= {row.record.label: vector for row, vector in zip(part, made, strict=True)}
    return [
        StoredMemory(
            row.record,
            np.ascontiguousarray(vectors.get(row.record.label, row.vector)),
            embedder.fingerprint,
            embed_cues_now(embedder, row.record.relevant_when)
            if row.record.relevant_when
            else None,
        )
        for row in rows
    ]
