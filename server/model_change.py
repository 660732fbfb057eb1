"""Opening of what depends on the model: older ones, what is left to do, and the roles."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from recalld.index.batching import BatchingEmbedder
from recalld.index.embedder import cache_dir
from recalld.server import models
from recalld.server.config import Config, environment
from recalld.server.metrics import Metrics
from recalld.server.reembedding import Reembedding
from recalld.server.roles import Roles
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


def prepared(
    roles: Roles, config: Config, embedder: BatchingEmbedder, stack: AsyncExitStack, log: Any
) -> Roles | None:
    """Roles that get ready in the background; without a model of meaning there are none."""
    if config.embedder.kind == "hash":
        return None
    folder = cache_dir(environment()) / "roles"
    preparing = asyncio.create_task(roles.prepare(embedder, folder, log))
    stack.callback(preparing.cancel)
    return roles
