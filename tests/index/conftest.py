"""A shared embedder over one that can be held."""

from collections.abc import Iterator

import pytest

from recalld.index.batching import BatchingEmbedder
from tests.index.gated import Gated


@pytest.fixture
def inner() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.gate.set()


@pytest.fixture
def shared(inner: Gated) -> Iterator[BatchingEmbedder]:
    embedder = BatchingEmbedder(inner, cache_max=8, queue_texts_max=64)
    yield embedder
    inner.gate.set()
    embedder.close()
