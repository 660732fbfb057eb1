"""Opening of what a change of the model needs: the old models, and what is left to do."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from recalld.index.batching import BatchingEmbedder
from recalld.server import models
from recalld.server.config import Config
from recalld.server.metrics import Metrics
from recalld.server.reembedding import Reembedding
from recalld.storage.store import Store


async def open_models(
    stack: AsyncExitStack,
    config: Config,
    store: Store,
    embedder: BatchingEmbedder,
    pool: ThreadPoolExecutor,
    measures: Metrics,
    log: Any,
) -> tuple[models.Models, Reembedding]:
    """The models that are searched, and what has to be embedded anew.

    Args:
        stack: closes the models.
        config: which model is configured, and where older ones may be.
        store: whose rows have vectors.
        embedder: the configured model.
        pool: for what is native and slow.
        measures, log: told of progress.
    """
    section, is_shared = config.embedder, config.auth.required
    find = partial(models.open_models, embedder, section, config.ranking, store, log)
    found = await asyncio.to_thread(find, is_shared=is_shared)
    stack.push_async_callback(asyncio.to_thread, found.close)
    left = await asyncio.to_thread(Reembedding, store, found, section, pool, measures, log)
    return found, left
