"""Time a local embedding model, alone and in batches, and weigh it in memory.

    python -m recalld.bench.bench_embedder [--model DIR ...] [--threads N] [--json FILE]

Times are whole calls, tokenising included. Every figure is the best of three medians, for other
work on the machine only ever makes a call slower. Several models are timed one after the other in
the same run; the names of their figures then begin with the model's. Then 1, 8 and 32 callers ask
at once, each for one new request after the other: run one by one, as the server does, and merged.
"""

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recalld.bench.report import Report, Table, provenance, publish
from recalld.index.background_texts import UNRELATED_MEMORIES, UNRELATED_REQUESTS
from recalld.index.batching import REQUESTS_PER_RUN_MAX, BatchingEmbedder
from recalld.index.embedder import (
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
CLIENTS = (1, 8, 32)
REQUESTS_OF_ALL = 96


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
    figures |= load_figures(embedder)
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
    few = texts[:REQUESTS_PER_RUN_MAX]
    # Of similarity alone: relevance vectors stand behind it.
    together = embedder.embed(few, is_query=True)[:, : embedder.dim]
    alone = np.vstack([embedder.embed([text], is_query=True) for text in few])[:, : embedder.dim]
    return {
        "cached_request_ms": hit_ms,
        "queued_request_ms": miss_ms,
        "alone_to_batch_cosine_min": float((together * alone).sum(axis=1).min()),
    }


def ask_at_once(shared: BatchingEmbedder, clients: int, start: int) -> dict[str, float]:
    """Let callers ask for one new request after the other, and time each.

    Args:
        shared: has none of the requests in its cache.
        clients: threads that ask.
        start: number of the first request, so that no two are the same.
    """
    each = REQUESTS_OF_ALL // clients
    times_s: list[float] = []

    def client(number: int) -> None:
        for i in range(each):
            text = UNRELATED_REQUESTS[i % len(UNRELATED_REQUESTS)]
            began = time.perf_counter()
            shared.submit([f"{start + number * each + i}. {text}"], is_query=True).result()
            times_s.append(time.perf_counter() - began)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    runs, began, processor_s = shared.batches, time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "p50_ms": 1000 * statistics.median(times_s),
        "per_s": len(times_s) / (time.perf_counter() - began),
        "processor_ms_each": 1000 * (time.process_time() - processor_s) / len(times_s),
        "runs": shared.batches - runs,
    }


def load_figures(embedder: Embedder) -> dict[str, float]:
    """Measure what merging gives by the number of callers, the best of three rounds each."""
    figures: dict[str, float] = {}
    start = 0
    for clients in CLIENTS:
        for name, merged in (("single", 1), ("merged", REQUESTS_PER_RUN_MAX)):
            shared = BatchingEmbedder(embedder, cache_max=0, requests_per_run_max=merged)
            rounds = []
            try:
                for _ in range(ROUNDS):
                    rounds.append(ask_at_once(shared, clients, start))
                    start += REQUESTS_OF_ALL
            finally:
                shared.close()
            best = min(rounds, key=lambda one: one["p50_ms"])
            figures |= {f"clients_{clients}_{name}_{key}": value for key, value in best.items()}
    return figures


def tables(name: str, figures: dict[str, float]) -> list[Table]:
    """Arrange the figures, each with its unit, one a row; those of many callers side by side."""
    plain = {key: value for key, value in figures.items() if not key.startswith("clients_")}
    rows = [[key, f"{value:.4g}"] for key, value in plain.items()]
    columns = ("p50_ms", "per_s", "processor_ms_each", "runs")
    load = []
    for clients in CLIENTS:
        for how in ("single", "merged"):
            values = [figures[f"clients_{clients}_{how}_{key}"] for key in columns]
            load.append([str(clients), how, *(f"{value:.4g}" for value in values)])
    return [
        Table(f"Embedder {name}", ("figure", "value"), rows),
        Table(f"{REQUESTS_OF_ALL} requests to {name}", ("callers", "runs of", *columns), load),
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the bench; exit code 1 if the model cannot be loaded."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.bench.bench_embedder", description="Time a local embedding model."
    )
    parser.add_argument(
        "--model", type=Path, nargs="+", default=[default_model_dir(os.environ)], metavar="DIR"
    )
    parser.add_argument("--threads", type=int, default=1, help="onnxruntime threads (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    given = parser.parse_args(arguments)
    facts: dict[str, Any] = {**provenance(), "threads": given.threads}
    shown: list[Table] = []
    for folder in given.model:
        try:
            figures = measure(folder, given.threads)
        except IndexLayerError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
        shown += tables(folder.name, figures)
        prefix = f"{folder.name}_" if len(given.model) > 1 else ""
        facts |= {f"{prefix}{name}": value for name, value in figures.items()}
    facts["model"] = ", ".join(folder.name for folder in given.model)
    publish(Report(facts, shown), given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
