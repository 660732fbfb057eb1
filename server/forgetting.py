"""Forgets answers to request ids after a day, hourly, as `retention.py` allows."""

from __future__ import annotations

import asyncio
from typing import Any

from recalld.server import logs
from recalld.server.clock import Clock
from recalld.server.retention import Retention
from recalld.storage.errors import StoreFailed
from recalld.storage.store import Store

EVERY_S = 3600.0


async def forget_answers(store: Store, clock: Clock, log: Any) -> None:
    """Go on until cancelled; at once done where the store is to be read only."""
    newest_us = await asyncio.to_thread(store.newest_request_us)
    retention = Retention(clock, newest_us)
    while not store.read_only_reason:
        await asyncio.sleep(EVERY_S)
        if not (before_us := retention.forget_before_us()):
            continue
        try:
            await asyncio.to_thread(store.prune_requests, before_us)
        except StoreFailed as error:  # On a full disk, say: in an hour there may be room.
            log.warning("old answers could not be forgotten", fault=logs.fault(error))
