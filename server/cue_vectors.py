"""Vectors of the writer's cues: made when a memory is written, kept beside the memory's own.

A cue is embedded as a request, since it is compared with requests. It never decides when a memory
matters: `index/cues.py` compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.server.call import Call
from recalld.server.change import Change
from recalld.storage.record import MemoryRecord

Floats = NDArray[np.float32]
SLICE_COUNT = 4
"""Cues asked for at once: they queue with requests, and no recall must wait for a whole batch."""


async def embed_cues(
    embedder: BatchingEmbedder,
    cues_of: Sequence[tuple[str, ...]],
    call: Call,
    share_max: float = 1.0,
) -> list[Floats]:
    """Embed the cues of memories, each distinct cue once.

    Args:
        embedder: recalls that come meanwhile are served between slices.
        cues_of: cues of each memory.
        call: whose tenant takes its turn, and who stops it between slices by leaving.
        share_max: part of the time until the deadline that a slice may be expected to take.

    Returns:
        float32[c, dim] for each memory.

    Raises:
        EmbedQueueFull: there is no room for the next slice, or it would take too long; nothing is
            to be undone.
        DeadlinePassed: nobody waits for the answer any more.
    """
    distinct = iter(dict.fromkeys(cue for cues in cues_of for cue in cues))
    made: dict[str, Floats] = {}
    while part := list(islice(distinct, SLICE_COUNT)):
        pending = embedder.submit(
            part,
            is_query=True,
            owner=call.tenant,
            within_s=share_max * call.remaining_s(),
        )
        vectors = await call.in_time(pending)
        made |= zip(part, _compared(embedder, vectors), strict=True)
    return [_stacked(embedder, [made[cue] for cue in cues]) for cues in cues_of]


def kept_cues(change: Change, record: MemoryRecord) -> Floats | None:
    """The vectors to keep beside a planned row; None where it has no cues, or none of them yet."""
    if not record.relevant_when:
        return None
    planned = change.cues.get(record.label)
    kept = change.partition.index.cues_of(record.label) if planned is None else planned
    return kept if len(kept) else None


def _compared(embedder: BatchingEmbedder, vectors: Floats) -> Floats:
    """The part of requests' vectors by which cues are compared: similarity."""
    return np.ascontiguousarray(vectors[:, : embedder.dim])


def _stacked(embedder: BatchingEmbedder, rows: list[Floats]) -> Floats:
    return np.stack(rows) if rows else np.zeros((0, embedder.dim), np.float32)
