"""The configured embedding model, and the numbers of the ranking that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from recalld.index.analyzer import Analyzer
from recalld.index.batching import BatchingEmbedder
from recalld.index.embedder import Embedder, default_model_dir, fast_model_dir
from recalld.index.partition import PartitionIndex
from recalld.scoring.params import RankParams, Scale
from recalld.server.config import environment
from recalld.server.sections import EmbedderSection, RankingSection


def make_embedder(section: EmbedderSection) -> tuple[Embedder, str]:
    """The configured model and its readable name.

    Raises:
        ModelMissing, ModelInvalid: the folder holds no usable model.
    """
    if section.kind == "hash":
        from recalld.index.hash_embedder import HashEmbedder

        return HashEmbedder(section.hash_dim), "hash"
    from recalld.index.onnx_embedder import OnnxEmbedder

    standard = fast_model_dir if section.kind == "fast" else default_model_dir
    folder = section.model_dir or standard(environment())
    return OnnxEmbedder(folder, threads=section.threads), folder.name


def open_embedder(section: EmbedderSection, *, is_shared: bool) -> tuple[BatchingEmbedder, str]:
    """The configured model, shared by all calls, and its readable name.

    Args:
        section: which model, and how much may wait for it.
        is_shared: whether several tenants use it; then none of them may fill its queue alone.

    Raises:
        ModelMissing, ModelInvalid: the folder holds no usable model.
    """
    inner, name = make_embedder(section)
    embedder = BatchingEmbedder(
        inner,
        cache_max=section.cache_entries,
        queue_texts_max=section.queue_max,
        # A request that runs alone has the same vector under any load: the same answer.
        requests_per_run_max=1,
        is_shared=is_shared,
    )
    return embedder, name


def rank_params(embedder: BatchingEmbedder) -> RankParams:
    """The ranking's numbers for one model."""
    similarity, relevance = embedder.calibration, embedder.relevance
    return RankParams(
        mean=similarity.mean,
        spread=similarity.spread,
        relevance=Scale(relevance.mean, relevance.spread) if relevance is not None else None,
    )


def index_maker(
    embedder: BatchingEmbedder, params: RankParams, section: RankingSection
) -> Callable[[], PartitionIndex]:
    """Makes empty indexes that search with this model's vectors."""
    return partial(
        PartitionIndex,
        embedder.dim,
        params,
        Analyzer(),
        section.exact_rows_max,
        embedder.requests,
    )
