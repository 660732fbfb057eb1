"""Runs a local sentence-embedding model with onnxruntime on the CPU.

It never downloads anything and never talks to a network. Invariants: a run holds at most 32 texts
and 512 padded tokens, or one longer text, which bounds its memory; a thread that waits for work
sleeps and does not spin, so an idle embedder costs nothing; after construction nothing in the
object changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from recalld.index.embedder import (
    Calibration,
    measure_calibration,
    measure_requests,
    unit_rows,
)
from recalld.index.errors import ModelInvalid
from recalld.index.model_folder import read_model_folder
from recalld.index.onnx_session import open_session

THREADS_MAX = 64
RUN_TEXTS_MAX = 32
# Measured with the default model: larger runs fall out of the processor's caches and give fewer
# texts a second (80 at 512 tokens, 70 at 4096), and hold more memory.
RUN_TOKENS_MAX = 512
_PROBE = "probe"


class OnnxEmbedder:
    """Embedder over an ONNX model; see `recalld.index.embedder.Embedder` for the contract.

    Args:
        folder: a folder as `recalld.index.model_folder` describes it.
        threads: onnxruntime threads of one run, in [1, 64]. One is best where several runs share
            the cores.

    Raises:
        ModelMissing: the folder or a needed file is not there.
        ModelInvalid: a file is damaged or the graph has inputs or outputs we cannot serve.
        BadVector: the model's first vectors are unusable.
        ValueError: `threads` is out of range.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load the model, embed a few short texts, and measure what the folder does not state."""
        if not 1 <= threads <= THREADS_MAX:
            raise ValueError(f"threads must be in [1, {THREADS_MAX}], got {threads}")
        about = read_model_folder(folder)
        self.fingerprint = about.fingerprint
        self.max_tokens = about.max_tokens
        self.base_model = about.base_model
        self._prefix = {True: about.query_prefix, False: about.passage_prefix}
        self._pooling = about.pooling
        self._pad_id = about.pad_id
        self._tokenizer = _load_tokenizer(about.tokenizer, about.max_tokens)
        self._session = open_session(about.model, threads)
        self._parts = 2 if self._session.has_relevance else 1
        self.dim = int(self._run([self._encode(_PROBE)]).shape[1]) // self._parts
        self.calibration = about.calibration or measure_calibration(self)
        self.relevance: Calibration | None = None
        if self._parts == 2:
            self.relevance = about.relevance or measure_calibration(self, part=1)
        self.requests = measure_requests(self)

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """Embed texts in runs of similar length; longer texts than `max_tokens` are cut."""
        prefix = self._prefix[is_query]
        encodings = [self._encode(prefix + text) for text in texts]
        out = np.empty((len(texts), self.dim * self._parts), np.float32)
        for rows in _plan_runs([len(encoding) for encoding in encodings]):
            out[rows] = self._run([encodings[row] for row in rows])
        return out

    def count_tokens(self, text: str) -> int:
        """Count the tokens of `text` alone."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        # The tokenizer cuts, and keeps what it cut off beside the first part.
        return len(encoding) + sum(map(len, encoding.overflowing))

    def _encode(self, text: str) -> Encoding:
        # One by one: `encode_batch` would start a thread for every core and keep them.
        return self._tokenizer.encode(text)

    def _run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        width = max(1, *map(len, encodings))
        ids = np.full((len(encodings), width), self._pad_id, np.int64)
        mask = np.zeros((len(encodings), width), np.int64)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        result = self._session.run(ids, mask)
        if self._session.is_pooled:
            parts = result.reshape(len(result) * self._parts, -1)
            return unit_rows(parts).reshape(len(result), -1)
        if self._pooling == "cls":
            return unit_rows(np.where(mask[:, :1] == 1, result[:, 0], np.float32(0)))
        # The sum points where the mean points, and only the direction is kept. Padding is set
        # to zero, not multiplied away, for a model may put NaN there.
        kept = np.where(mask[:, :, None] == 1, result, np.float32(0))
        return unit_rows(kept.sum(axis=1, dtype=np.float32))


def _plan_runs(token_counts: Sequence[int]) -> Iterator[list[int]]:
    """Group rows of similar length, so that little is spent on padding."""
    rows: list[int] = []
    for row in sorted(range(len(token_counts)), key=lambda row: token_counts[row]):
        is_full = len(rows) == RUN_TEXTS_MAX
        if rows and (is_full or (len(rows) + 1) * token_counts[row] > RUN_TOKENS_MAX):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _load_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ModelInvalid(f"{path} is not a tokenizer: {error}") from error
    # Exports often carry a fixed padding or a short cut of their own.
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer
