"""The models whose vectors are searched: the configured one, and those that rows still have.

While memories are embedded anew a partition is searched by the model that made its vectors, where
that one is still at hand, or by words and keys. A stand-in then keeps its place in the index: it
knows letters only, and no request is compared with it.

Invariant: a partition has vectors of one model, that of its index's fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Analyzer
from recalld.index.batching import BatchingEmbedder
from recalld.index.cues import CueVectors
from recalld.index.embedder import Embedder, default_model_dir
from recalld.index.errors import IndexLayerError
from recalld.index.hash_embedder import DIM_MAX, DIM_MIN, HashEmbedder
from recalld.index.judge import Judge
from recalld.index.model_folder import read_model_folder
from recalld.index.partition import PartitionIndex
from recalld.server.config import environment
from recalld.server.indexing import embedded_text
from recalld.server.model import rank_params, shared
from recalld.server.sections import EmbedderSection, RankingSection
from recalld.storage.store import Store, StoredMemory

STAND_IN = "stand-in"
STAND_IN_DIM = 64


class Models:
    """Embedders by fingerprint, and the indexes that go with them.

    Attributes:
        current: the configured model.

    Thread safety: all methods; models are added at the start only.
    """

    def __init__(
        self,
        current: BatchingEmbedder,
        ranking: RankingSection,
        old: Iterable[BatchingEmbedder] = (),
    ) -> None:
        """Take over models that are loaded.

        Args:
            current: the configured one; the caller closes it.
            ranking: how indexes search.
            old: others, whose vectors rows may still have; closed with this.
        """
        self.current = current
        # Letters are no model's vectors: this one's fingerprint stands for none.
        self._stand_in = _StandIn(STAND_IN_DIM)
        self._old = {one.fingerprint: one for one in old}
        self._ranking = ranking
        self._analyzer = Analyzer()
        self._judges = {one.fingerprint: Judge.of(one.base_model) for one in self.embedders()}

    def embedders(self) -> tuple[BatchingEmbedder, ...]:
        """Every model, the configured one first."""
        return (self.current, *self._old.values())

    def find(self, fingerprint: str) -> BatchingEmbedder | None:
        """A model by its fingerprint; None for the stand-in and for models that are not here."""
        if fingerprint == self.current.fingerprint:
            return self.current
        return self._old.get(fingerprint)

    def judge_of(self, fingerprint: str) -> Judge | None:
        """Who judges pairs of statements by a model's vectors, where there is one."""
        return self._judges.get(fingerprint)

    def serving(self, rows: Sequence[StoredMemory]) -> str:
        """Fingerprint by which the rows of one partition are searched: theirs, or the stand-in's.

        Rows of two models, or without vectors, are searched by words until they are embedded anew.
        """
        found = {row.fingerprint for row in rows}
        if not found:
            return self.current.fingerprint
        (first, *others) = found
        return self._stand_in.fingerprint if others or self.find(first) is None else first

    def index(self, fingerprint: str) -> PartitionIndex:
        """An empty index for vectors of a model or of the stand-in."""
        model = self.find(fingerprint) or self._stand_in
        return PartitionIndex(
            model.dim,
            rank_params(model),
            self._analyzer,
            self._ranking.exact_rows_max,
            model.requests if model is not self._stand_in else None,
            model.fingerprint,
        )

    def vectors_of(
        self, fingerprint: str, rows: Sequence[StoredMemory]
    ) -> tuple[NDArray[np.float32], CueVectors]:
        """The stored vectors of rows, or what stands in for them: float32[n, width], and cues."""
        if fingerprint == self._stand_in.fingerprint:
            texts = [embedded_text(row.record) for row in rows]
            return self._stand_in.embed(texts, is_query=False), {}
        cues = {row.record.label: row.cues for row in rows if row.cues is not None}
        return np.stack([row.vector for row in rows if row.vector is not None]), cues

    def stand_in_for(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """What stands in for vectors of memories, float32[n, dim]."""
        return self._stand_in.embed(texts, is_query=False)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the configured model."""
        return self.current.count_tokens(text)

    def discard(self, texts: Sequence[str]) -> None:
        """Drop the vectors of `texts` from every cache, for memories that must leave no trace."""
        for one in self.embedders():
            one.discard(texts)

    def close(self) -> None:
        """Close the models that were opened here."""
        for one in self._old.values():
            one.close()


class _StandIn(HashEmbedder):
    """Letters and words in place of vectors; its fingerprint is no model's."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.fingerprint = STAND_IN


def open_models(
    current: BatchingEmbedder,
    section: EmbedderSection,
    ranking: RankingSection,
    store: Store,
    log: Any,
    *,
    is_shared: bool,
) -> Models:
    """The configured model, and those whose vectors stored rows still have; native and slow.

    Args:
        current: the configured model.
        section: where others may be, and how they are shared.
        ranking: how indexes search.
        store: which models its rows have vectors of.
        log: told of models that cannot be loaded.
        is_shared: whether several tenants use them.
    """
    wanted = store.renewals.fingerprints()
    wanted.pop(current.fingerprint, None)
    old = [shared(one, section, is_shared=is_shared) for one in _old(section, wanted, log)]
    return Models(current, ranking, old)


def _old(section: EmbedderSection, wanted: Mapping[str, int], log: Any) -> Iterator[Embedder]:
    """Load models by fingerprint, each with the width of its vectors, as far as they are here."""
    missing = dict(wanted)
    for fingerprint, width in wanted.items():
        if DIM_MIN <= width <= DIM_MAX and HashEmbedder(width).fingerprint == fingerprint:
            del missing[fingerprint]
            yield HashEmbedder(width)
    for folder in _folders(section):
        if not missing:
            return
        try:
            fingerprint = read_model_folder(folder).fingerprint
            if missing.pop(fingerprint, None) is not None:
                yield _opened(folder, section.threads)
        except IndexLayerError as error:
            log.warning("a model folder cannot be used", folder=str(folder), reason=str(error))


def _opened(folder: Path, threads: int) -> Embedder:
    # Slow to import where no model is run at all.
    from recalld.index.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(folder, threads=threads)


def _folders(section: EmbedderSection) -> list[Path]:
    """Where models may be: the one named, and those in the cache folder."""
    named = [section.previous_dir] if section.previous_dir is not None else []
    cache = default_model_dir(environment()).parent
    kept = sorted(path.parent for path in cache.glob("*/embedder.json"))
    return [*named, *kept]
