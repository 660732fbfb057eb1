"""Hidden states of training texts below the trained layers, made once and kept.

The layers below run in the very graph that is deployed (8-bit, onnxruntime), so that what is
trained on top of them sees what it will see later.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.index.e5_container import E5Container
from recalld.index.e5_graph import build_states_graph
from recalld.index.e5_tokenizer import build_tokenizer, kept_pieces
from recalld.index.onnx_session import open_states_session

TOKENS_MAX = 96
STATES_BATCH_COUNT = 16


class States:
    """Hidden states below the trained layers, computed once a text and kept."""

    def __init__(self, container: E5Container, layer_count: int, threads: int) -> None:
        """Build and load the lower layers."""
        kept = kept_pieces(container.pieces, "zh-en")
        with np.load(Path(__file__).with_name("e5_smooth.npz")) as stored:
            graph = build_states_graph(container, kept, "int8", dict(stored), layer_count)
        self._session = open_states_session(graph.SerializeToString(), threads)
        self._tokenizer = build_tokenizer(container, kept, TOKENS_MAX)
        self._tokenizer.no_padding()
        self._kept: dict[str, NDArray[np.float16]] = {}

    def compute(self, texts: Sequence[str]) -> None:
        """Compute what is not there yet, with a line of progress every few seconds."""
        missing = sorted({text for text in texts if text not in self._kept}, key=len)
        told_s = time.monotonic()
        for start in range(0, len(missing), STATES_BATCH_COUNT):
            batch = missing[start : start + STATES_BATCH_COUNT]
            encodings = [self._tokenizer.encode(text) for text in batch]
            width = max(len(encoding) for encoding in encodings)
            ids = np.ones((len(batch), width), np.int64)
            mask = np.zeros((len(batch), width), np.int64)
            for row, encoding in enumerate(encodings):
                ids[row, : len(encoding)] = encoding.ids
                mask[row, : len(encoding)] = 1
            for row, states in enumerate(self._session.run(ids, mask)):
                self._kept[batch[row]] = states[: len(encodings[row])].astype(np.float16)
            if time.monotonic() - told_s > 10:
                told_s = time.monotonic()
                say(f"states {start + len(batch)}/{len(missing)}")

    def __getitem__(self, text: str) -> NDArray[np.float16]:
        """float16[length, hidden] of a computed text."""
        return self._kept[text]


def query(text: str) -> str:
    """A request as the encoder sees it."""
    return f"query: {text}"


def passage(text: str) -> str:
    """A memory as the encoder sees it."""
    return f"passage: {text}"


def say(text: str) -> None:
    """A line of progress on standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
