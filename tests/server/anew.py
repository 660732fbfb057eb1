"""Waiting for what is embedded anew behind the handlers."""

from __future__ import annotations

import asyncio

from tests.server.core import Core


async def embedded_anew(core: Core) -> None:
    """Waits until nothing is left to embed anew but what is held back."""
    progress = core.reembedding.progress
    async with asyncio.timeout(30):
        while progress.left.keys() - progress.held:
            await asyncio.sleep(0.005)
