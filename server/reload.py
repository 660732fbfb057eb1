"""Start-up: what has to be known of the data, and nothing more, before the server says ready.

How many memories each user has is counted, the hot path is warmed; the memories themselves are
loaded when they are asked for. Rows whose vectors come from another model, or are missing, are
embedded anew and written back here; two models are never mixed.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import Any

from recalld.index.batching import BatchingEmbedder
from recalld.scoring.warm import warm
from recalld.server.loading import EMBED_ROW_COUNT, chunks, whole
from recalld.storage.sizes import Partition
from recalld.storage.store import Store, StoredMemory, WriteBatch


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What start-up found.

    Attributes:
        partitions: every one that has rows.
        reembedded_count: rows that got new vectors.
    """

    partitions: tuple[Partition, ...]
    reembedded_count: int

    @property
    def memory_count(self) -> int:
        """Memories of everybody, of any status."""
        return sum(partition.count for partition in self.partitions)

    def newest(self) -> list[Partition]:
        """The partitions, those first that were changed last."""
        return sorted(self.partitions, key=lambda one: one.change_time_us, reverse=True)


def reload(store: Store, embedder: BatchingEmbedder, log: Any) -> Reloaded:
    """Make everything ready; native and slow, so it runs off the event loop.

    Raises:
        Corrupt: stored data cannot be read.
    """
    reembedded_count = 0
    if not store.read_only_reason:
        # An original whose memory is gone goes at the latest here.
        store.sealed.prune()
        reembedded_count = _embed_anew(store, embedder, log)
    found = Reloaded(tuple(store.partitions()), reembedded_count)
    warm()
    embedder.embed(["warm-up"], is_query=True)
    # What was made so far stays: looking for garbage in it again and again only costs time.
    gc.freeze()
    return found


def _embed_anew(store: Store, embedder: BatchingEmbedder, log: Any) -> int:
    """Give every row vectors of this model; returns how many had none."""
    done = 0
    for chunk in chunks(store.load_foreign(embedder.fingerprint), EMBED_ROW_COUNT):
        if not done:
            log.warning(
                "embedding anew", reason="stored vectors come from another model, or are missing"
            )
        _write_back(store, whole(chunk, embedder))
        done += len(chunk)
        log.info("embedding anew", done=done)
    return done


def _write_back(store: Store, rows: list[StoredMemory]) -> None:
    """Make fresh vectors durable, under a new revision of their tenants."""
    by_tenant: dict[str, list[StoredMemory]] = {}
    for row in rows:
        by_tenant.setdefault(row.record.scope.tenant, []).append(row)
    for tenant, group in by_tenant.items():
        revision = store.revisions().get(tenant, 0) + 1
        changed = [replace(row, record=replace(row.record, revision=revision)) for row in group]
        store.write(WriteBatch(tenant, revision, tuple(changed)))
