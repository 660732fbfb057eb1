"""Start-up.

Durable rows back into partitions and indexes, and the hot path warmed, before the server says
ready.

Rows whose vectors come from another model, or are missing, are embedded anew and written back; two
models are never mixed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import islice
from typing import Any

import numpy as np

from recalld.index.batching import BatchingEmbedder
from recalld.scoring.warm import warm
from recalld.server.cue_vectors import embed_cues_now
from recalld.server.indexing import embedded_text, index_row
from recalld.server.partitions import Partitions
from recalld.storage.store import Store, StoredMemory, WriteBatch

CHUNK_ROW_COUNT = 4096
REEMBED_ROW_COUNT = 256


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What start-up brought back."""

    memory_count: int
    partition_count: int
    reembedded_count: int


def _chunks(rows: Iterator[StoredMemory], size: int) -> Iterator[list[StoredMemory]]:
    """Rows in lists of at most `size`."""
    while chunk := list(islice(rows, size)):
        yield chunk


def reload(
    store: Store, partitions: Partitions, embedder: BatchingEmbedder, log: Any, zone: tzinfo
) -> Reloaded:
    """Load everything; native and slow, so it runs off the event loop.

    `zone` is the one in which the days of a memory's words begin.

    Raises:
        Corrupt: stored data cannot be read.
    """
    if not store.read_only_reason:
        # An original whose memory is gone goes at the latest here.
        store.sealed.prune()
    # A million new objects that all stay: looking for garbage among them only costs time.
    gc.disable()
    try:
        loaded = _load(store, partitions, embedder, log, zone)
    finally:
        gc.enable()
        gc.freeze()
    warm()
    embedder.embed(["warm-up"], is_query=True)
    return loaded


def _load(
    store: Store, partitions: Partitions, embedder: BatchingEmbedder, log: Any, zone: tzinfo
) -> Reloaded:
    """Rows with usable vectors first, then those that are embedded anew."""
    total = reembedded = 0
    touched: set[tuple[str, str]] = set()
    stale: list[StoredMemory] = []
    for chunk in _chunks(store.load(), CHUNK_ROW_COUNT):
        is_whole = [_is_whole(row, embedder.fingerprint) for row in chunk]
        stale += [row for row, whole in zip(chunk, is_whole, strict=True) if not whole]
        usable = [row for row, whole in zip(chunk, is_whole, strict=True) if whole]
        touched |= _admit(usable, partitions, zone)
        total += len(chunk)
        log.info("loading", memories=total)
    if stale:
        log.warning(
            "embedding anew",
            memories=len(stale),
            reason="stored vectors come from another model, or are missing",
        )
    for chunk in _chunks(iter(stale), REEMBED_ROW_COUNT):
        touched |= _admit(_written_back(store, _anew(chunk, embedder)), partitions, zone)
        reembedded += len(chunk)
        log.info("embedding anew", done=reembedded, of=len(stale))
    return Reloaded(total, len(touched), reembedded)


def _is_whole(row: StoredMemory, fingerprint: str) -> bool:
    """Whether a row has all its vectors, of the model with that fingerprint."""
    has_cues = row.cues is not None or not row.record.relevant_when
    return row.vector is not None and row.fingerprint == fingerprint and has_cues


def _anew(rows: list[StoredMemory], embedder: BatchingEmbedder) -> list[StoredMemory]:
    """Rows with vectors of this model, those of the text kept where they are of it already."""
    foreign = [r for r in rows if r.vector is None or r.fingerprint != embedder.fingerprint]
    made = embedder.embed([embedded_text(row.record) for row in foreign], is_query=False)
    vectors = {row.record.label: vector for row, vector in zip(foreign, made, strict=True)}
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


def _admit(
    rows: Iterable[StoredMemory], partitions: Partitions, zone: tzinfo
) -> set[tuple[str, str]]:
    """Put rows into their partitions; returns which these are."""
    groups: dict[tuple[str, str], list[StoredMemory]] = {}
    for row in rows:
        where = row.record.scope
        groups.setdefault((where.tenant, where.user_id), []).append(row)
    for (tenant, user_id), group in groups.items():
        partition = partitions.open(tenant, user_id)
        partition.put(row.record for row in group)
        vectors = np.stack([row.vector for row in group if row.vector is not None])
        cues = {row.record.label: row.cues for row in group if row.cues is not None}
        partition.index.add([index_row(row.record, zone) for row in group], vectors, cues)
    return set(groups)


def _written_back(store: Store, rows: list[StoredMemory]) -> list[StoredMemory]:
    """Rows with fresh vectors, durable, under a new revision of their tenants.

    A read-only store keeps its rows: they are searched by the fresh vectors all the same.
    """
    if store.read_only_reason:
        return rows
    by_tenant: dict[str, list[StoredMemory]] = {}
    for row in rows:
        by_tenant.setdefault(row.record.scope.tenant, []).append(row)
    written: list[StoredMemory] = []
    for tenant, group in by_tenant.items():
        revision = store.revisions().get(tenant, 0) + 1
        changed = [replace(row, record=replace(row.record, revision=revision)) for row in group]
        store.write(WriteBatch(tenant, revision, tuple(changed)))
        written += changed
    return written
