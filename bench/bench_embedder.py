"""Time a local embedding model, alone and in batches, and weigh it in memory.

    python -m recalld.bench.bench_embedder [--model DIR] [--threads N] [--json FILE]

Times are whole calls, tokenising included. Every figure is the best of three medians, for other
work on the machine only ever makes a call slower.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recalld.bench.report import Report, Table, provenance, publish
from recalld.index.batching import REQUESTS_PER_RUN_MAX, BatchingEmbedder
from recalld.index.embedder import (
    UNRELATED_MEMORIES,
    UNRELATED_REQUESTS,
    Embedder,
    default_model_dir,
)
from recalld.index.errors import IndexLayerError
from recalld.index.onnx_embedder import OnnxEmbedder

ROUNDS = 3
SINGLE_CALLS = 24
BATCH_CALLS = 4
BATCHES = (16, 32)
MEMORY_TOKENS = 50


def long_memories(embedder: Embedder, count: int) -> list[str]:
    """Join sentences until each text has about fifty tokens; no two texts are the same."""
    texts = []
    for first in range(count):
        text, at = f"{first}.", first
        while embedder.count_tokens(text) < MEMORY_TOKENS:
            text += " " + UNRELATED_MEMORIES[at % len(UNRELATED_MEMORIES)]
            at += 1
        texts.append(text)
    return texts


def best_median_ms(call: Callable[[int], object], calls: int) -> float:
    """Time `call(i)` and return the best of three medians, in milliseconds."""
    medians = []
    for _ in range(ROUNDS):
        times = []
        for i in range(calls):
            start = time.perf_counter()
            call(i)
            times.append(time.perf_counter() - start)
        medians.append(statistics.median(times))
    return 1000 * min(medians)


def texts_per_s(embedder: Embedder, batch: Sequence[str]) -> float:
    """Time one batch of memories again and again."""
    took_ms = best_median_ms(lambda _: embedder.embed(batch, is_query=False), BATCH_CALLS)
    return 1000 * len(batch) / took_ms


def rss_mb() -> float:
    """Resident memory of this process; NaN where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(folder: Path, threads: int) -> dict[str, float]:
    """Take every figure; the name of each ends in its unit."""
    figures = {"rss_before_mb": rss_mb()}
    start = time.perf_counter()
    embedder = OnnxEmbedder(folder, threads=threads)
    figures["load_s"] = time.perf_counter() - start
    figures["rss_loaded_mb"] = rss_mb()
    short = [f"{i}. {text}" for i, text in enumerate(UNRELATED_REQUESTS * 2)]
    long = long_memories(embedder, max(BATCHES))
    figures["request_tokens"] = statistics.mean(map(embedder.count_tokens, short))
    figures["memory_tokens"] = statistics.mean(map(embedder.count_tokens, long))
    figures["request_ms"] = best_median_ms(
        lambda i: embedder.embed([short[i % 32]], is_query=True), SINGLE_CALLS
    )
    figures["memory_ms"] = best_median_ms(
        lambda i: embedder.embed([long[i % 32]], is_query=False), SINGLE_CALLS
    )
    for name, texts in (("short", short), ("memory", long)):
        for size in BATCHES:
            figures[f"{name}_batch_{size}_per_s"] = texts_per_s(embedder, texts[:size])
    figures |= shared_figures(embedder, short)
    figures["rss_after_mb"] = rss_mb()
    return figures


def shared_figures(embedder: Embedder, texts: Sequence[str]) -> dict[str, float]:
    """Measure the way through cache and queue, and how much company moves a vector."""
    shared = BatchingEmbedder(embedder, cache_max=1)
    try:
        hit_ms = best_median_ms(lambda _: shared.embed(texts[:1], is_query=True), SINGLE_CALLS)
        miss_ms = best_median_ms(
            lambda i: shared.embed([texts[i % len(texts)]], is_query=True), SINGLE_CALLS
        )
    finally:
        shared.close()
    together = embedder.embed(texts[:REQUESTS_PER_RUN_MAX], is_query=True)
    alone = np.vstack([embedder.embed([t], is_query=True) for t in texts[:REQUESTS_PER_RUN_MAX]])
    return {
        "cached_request_ms": hit_ms,
        "queued_request_ms": miss_ms,
        "alone_to_batch_cosine_min": float((together * alone).sum(axis=1).min()),
    }


def table(figures: dict[str, float]) -> Table:
    """Arrange the figures, each with its unit, one a row."""
    rows = [[name, f"{value:.4g}"] for name, value in figures.items()]
    return Table("Embedder", ("figure", "value"), rows)


def main(arguments: Sequence[str]) -> int:
    """Run the bench; exit code 1 if the model cannot be loaded."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.bench.bench_embedder", description="Time a local embedding model."
    )
    parser.add_argument("--model", type=Path, default=default_model_dir(os.environ), metavar="DIR")
    parser.add_argument("--threads", type=int, default=1, help="onnxruntime threads (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    given = parser.parse_args(arguments)
    try:
        figures = measure(given.model, given.threads)
    except IndexLayerError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    facts = {**provenance(), "model": given.model.name, "threads": given.threads}
    publish(Report(facts | figures, [table(figures)]), given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
