"""Probes: whether vectors find what is stored.

A stored memory, asked for by its own text, has to come back among the first. It compares vectors
of one model only, and keeps no text.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from recalld.server.indexing import embedded_text
from recalld.storage.record import MemoryRecord

K = 10
PROBE_COUNT_MAX = 32
RETRY_S = 0.05


async def self_recall(
    records: Mapping[int, MemoryRecord],
    vectors: Mapping[int, NDArray[np.float32]],
    embedder: BatchingEmbedder,
) -> float:
    """Share of probed memories that are among the nearest ten to their own text as a request.

    Args:
        records: of one partition, by label.
        vectors: float32[width] of them, by label; those of rows that are gone do not count.
        embedder: the model that made them.

    Returns:
        recall_at_k in [0, 1]; 1 where there is nothing to find. Equal cosines count as found.
    """
    labels = [label for label in vectors if label in records]
    if not labels:
        return 1.0
    texts = [embedded_text(records[label]) for label in labels]
    rows = np.stack([vectors[label][: embedder.dim] for label in labels])
    count = min(PROBE_COUNT_MAX, math.isqrt(len(labels) - 1) + 1)
    places = np.linspace(0, len(labels) - 1, count).astype(np.int64)
    found = 0
    for place in places.tolist():
        request = await _request(embedder, texts[place])
        cosines = rows @ request[: embedder.dim]
        found += int((cosines > cosines[place]).sum()) < K
    return found / count


async def _request(embedder: BatchingEmbedder, text: str) -> NDArray[np.float32]:
    """The vector of a text as a request, behind all calls."""
    while True:
        try:
            pending = embedder.submit([text], is_query=True)
            break
        except EmbedQueueFull:
            await asyncio.sleep(RETRY_S)
    vector: NDArray[np.float32] = (await asyncio.wrap_future(pending))[0]
    embedder.discard([text])
    return vector
