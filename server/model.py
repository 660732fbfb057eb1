"""The configured embedding model, and the numbers of the ranking that belong to it."""

from __future__ import annotations

from recalld.index.batching import BatchingEmbedder
from recalld.index.embedder import Embedder, default_model_dir, fast_model_dir
from recalld.scoring.params import RankParams, Scale
from recalld.server.config import environment
from recalld.server.sections import EmbedderSection


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
    return shared(inner, section, is_shared=is_shared), name


def shared(inner: Embedder, section: EmbedderSection, *, is_shared: bool) -> BatchingEmbedder:
    """A loaded model, shared by all calls; arguments as of `open_embedder`."""
    return BatchingEmbedder(
        inner,
        cache_max=section.cache_entries,
        queue_texts_max=section.queue_max,
        # A request that runs alone has the same vector under any load: the same answer.
        requests_per_run_max=1,
        is_shared=is_shared,
    )


def rank_params(embedder: Embedder) -> RankParams:
    """The ranking's numbers for one model."""
    similarity, relevance = embedder.calibration, embedder.relevance
    return RankParams(
        mean=similarity.mean,
        spread=similarity.spread,
        relevance=Scale(relevance.mean, relevance.spread) if relevance is not None else None,
    )
