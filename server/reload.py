"""Start-up.

Durable rows back into partitions and indexes, and the hot path warmed, before the server says
ready.

Partitions whose rows have vectors of another model, or none, are searched as they are until they
are embedded anew (`reembedding.py`); two models are never mixed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import islice
from typing import Any

from recalld.scoring.warm import warm
from recalld.server.indexing import index_row
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.reembedding import Reembedding
from recalld.storage.store import Store, StoredMemory

CHUNK_ROW_COUNT = 4096


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What start-up brought back."""

    memory_count: int
    partition_count: int


def _chunks(rows: Iterator[StoredMemory], size: int) -> Iterator[list[StoredMemory]]:
    """Rows in lists of at most `size`."""
    while chunk := list(islice(rows, size)):
        yield chunk


def reload(
    store: Store,
    partitions: Partitions,
    models: Models,
    reembedding: Reembedding,
    log: Any,
    zone: tzinfo,
) -> Reloaded:
    """Load everything; native and slow, so it runs off the event loop.

    Args:
        store: where the rows are.
        partitions: filled by it.
        models: whose vectors are searched.
        reembedding: knows which partitions are not all of the configured model.
        log: told of progress.
        zone: the one in which the days of a memory's words begin.

    Raises:
        Corrupt: stored data cannot be read.
    """
    if not store.read_only_reason:
        # An original whose memory is gone goes at the latest here.
        store.sealed.prune()
    # A million new objects that all stay: looking for garbage among them only costs time.
    gc.disable()
    try:
        loaded = _load(store, partitions, models, reembedding, log, zone)
    finally:
        gc.enable()
        gc.freeze()
    warm()
    for embedder in models.embedders():
        embedder.embed(["warm-up"], is_query=True)
    return loaded


def _load(
    store: Store,
    partitions: Partitions,
    models: Models,
    reembedding: Reembedding,
    log: Any,
    zone: tzinfo,
) -> Reloaded:
    """Rows of the configured model in the order of storing, then the other partitions."""
    total = 0
    touched: set[tuple[str, str]] = set()
    for chunk in _chunks(store.load(), CHUNK_ROW_COUNT):
        groups: dict[tuple[str, str], list[StoredMemory]] = {}
        for row in chunk:
            where = row.record.scope
            groups.setdefault((where.tenant, where.user_id), []).append(row)
        touched |= groups.keys()
        for key, rows in groups.items():
            if not reembedding.is_pending(*key):
                _admit(rows, partitions.open(*key), models, zone)
        total += len(chunk)
        log.info("loading", memories=total)
    for key in reembedding.progress.left:
        rows = store.load_partition(*key)
        partition = partitions.open(*key)
        model = models.serving(rows)
        partition.index, partition.judge = models.index(model), models.judge_of(model)
        _admit(rows, partition, models, zone)
    return Reloaded(total, len(touched))


def _admit(
    rows: Sequence[StoredMemory], partition: Partition, models: Models, zone: tzinfo
) -> None:
    """Put rows of one user into its partition."""
    partition.put(row.record for row in rows)
    vectors, cues = models.vectors_of(partition.index.fingerprint, rows)
    partition.index.add([index_row(row.record, zone) for row in rows], vectors, cues)
