"""An embedder whose runs are written down, and that can be held in the middle of one."""

import threading
from collections.abc import Sequence

import numpy as np

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import BadVector
from recalld.index.hash_embedder import HashEmbedder

WAIT_S = 5


class Gated(HashEmbedder):
    """A hash embedder that writes down its runs and can be held in the middle of one."""

    def __init__(self) -> None:
        super().__init__(16)
        self.runs: list[tuple[bool, list[str]]] = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        assert self.calibration and self.requests  # by runs that do not count below
        self.runs.clear()
        self.entered.clear()

    def embed(self, texts: Sequence[str], *, is_query: bool) -> np.ndarray:
        self.runs.append((is_query, list(texts)))
        self.entered.set()
        assert self.gate.wait(WAIT_S)
        if "poison" in texts:
            raise BadVector("poison")
        return super().embed(texts, is_query=is_query)

    def hold(self, shared: BatchingEmbedder) -> None:
        """Occupy the worker with one request until `gate` is set."""
        self.gate.clear()
        self.entered.clear()
        shared.submit(["holds the worker"], is_query=True)
        assert self.entered.wait(WAIT_S)
        self.runs.clear()


def rows(texts: Sequence[str], is_query: bool = False) -> np.ndarray:
    return HashEmbedder(16).embed(texts, is_query=is_query)
