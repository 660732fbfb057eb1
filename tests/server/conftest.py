"""Cores for the tests of the handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.server.core import Core, opened


@pytest.fixture
async def core() -> AsyncIterator[Core]:
    """A core with nothing in it."""
    async with opened() as made:
        yield made
