"""Start-up: what has to be known of the data, and nothing more, before the server says ready.

How many memories each user has is counted, the hot path is warmed; the memories themselves are
loaded when they are asked for. Those whose vectors come from another model, or are missing, are
embedded anew beside the calls (`reembedding.py`).
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

from recalld.scoring.warm import warm
from recalld.server.models import Models
from recalld.storage.sizes import Partition
from recalld.storage.store import Store


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What start-up found.

    Attributes:
        partitions: every one that has rows.
    """

    partitions: tuple[Partition, ...]

    @property
    def memory_count(self) -> int:
        """Memories of everybody, of any status."""
        return sum(partition.count for partition in self.partitions)

    def newest(self) -> list[Partition]:
        """The partitions, those first that were changed last."""
        return sorted(self.partitions, key=lambda one: one.change_time_us, reverse=True)


def reload(store: Store, models: Models) -> Reloaded:
    """Make everything ready; native and slow, so it runs off the event loop.

    Raises:
        Corrupt: stored data cannot be read.
    """
    if not store.read_only_reason:
        # An original whose memory is gone goes at the latest here.
        store.sealed.prune()
    found = Reloaded(tuple(store.partitions()))
    warm()
    for embedder in models.embedders():
        embedder.embed(["warm-up"], is_query=True)
    # What was made so far stays: looking for garbage in it again and again only costs time.
    gc.freeze()
    return found
