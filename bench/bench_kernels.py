"""Time the scoring kernels against NumPy and the memory's speed, and a partition's whole search.

    python -m recalld.bench.bench_kernels [--quick] [--json FILE]

One thread, synthetic unit vectors of 384 dimensions with twelve words each. Every figure is
processor time, the best of three medians, for other work on the machine only ever makes a call
slower. `read_..._us` is a plain sum over the bytes that the kernel above it has to read.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from recalld.bench import goals
from recalld.bench.corpus import DIM, unit_vectors
from recalld.bench.report import QUICK, Figure, Report, Table, command, provenance
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn
from recalld.index.exact import VectorBlock
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring import decay, masks, params, rank, topk

SIZES = (100, 1_000, 10_000, 50_000)
QUICK_SIZES = SIZES[:-1]
CALLS = 30
ROUNDS = 3
K = 5
WORDS_PER_TEXT = 12
VOCABULARY = 5_000
NOW_US = 1_800_000_000_000_000
DAY_US = 86_400_000_000
PARAMS = params.RankParams(0.0, 0.1)


def best_median_us(call: Callable[[], object]) -> float:
    """Return the best of three medians of a call's processor time, in microseconds."""
    call()
    medians = []
    for _ in range(ROUNDS):
        times = []
        for _ in range(CALLS):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
        medians.append(statistics.median(times))
    return round(1e6 * min(medians), 1)


def words_of(array: NDArray[np.generic]) -> NDArray[np.uint64]:
    """View the bytes of a C-contiguous array as words, so that a sum reads them and little else."""
    return array.reshape(-1).view(np.uint64)


def spell(number: int) -> str:
    """Spell a number in letters: with digits it would be an identifier, not a word."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def kernels(count: int) -> dict[str, float]:
    """Time the kernels and their NumPy twins over `count` rows."""
    vectors, query = unit_vectors(count, 1), unit_vectors(1, 2)[0]
    block = VectorBlock.empty(DIM).appended(vectors)
    codes, _ = block.coded()
    rows = np.arange(count)
    random = np.random.default_rng(3)
    scores = random.random(count, dtype=np.float32)
    kind = random.integers(1, params.KIND_COUNT, count).astype(np.uint8)
    level = random.integers(1, params.IMPORTANCE_COUNT, count).astype(np.uint8)
    anchor = NOW_US - random.integers(0, 90, count) * DAY_US
    table = decay.factor_table(PARAMS)
    settings = np.array([NOW_US, NOW_US, 0, masks.CREATE_TIME, params.Fusion.WEIGHTED])
    small = np.ones((masks.SMALL_COUNT, count), dtype=np.uint8)
    small[masks.KIND], small[masks.IMPORTANCE] = kind, level
    times = np.zeros((masks.TIME_COUNT, count), dtype=np.int64)
    times[masks.ANCHOR_TIME] = anchor
    sure = random.random(count, dtype=np.float32)
    said = {params.Channel.VECTOR: (scores, scores)}
    weights = rank.make_weights(params.Fusion.WEIGHTED, frozenset(said), {})
    candidates = rank.Candidates(rows, said, (rows, small, times, sure), (table, settings))

    def factors_numpy() -> tuple[NDArray[np.float64], ...]:
        age_s = np.maximum(NOW_US - anchor, 0) / 1e6
        half_life, floor = table[:2, kind]
        fade = np.where(level == params.PINNED, 1, floor + (1 - floor) * 2 ** (-age_s / half_life))
        levels = np.array(params.IMPORTANCE_FACTOR)[level]
        base = params.CONFIDENCE_FLOOR
        speakers = np.array(params.STATED_BY_FACTOR)[small[masks.STATED_BY]]
        return fade, levels, (base + (1 - base) * sure) * speakers

    return {
        "scan_int8_us": best_median_us(lambda: block.scan(rows, query)),
        "read_int8_us": best_median_us(lambda: words_of(codes[:count]).sum()),
        "rescore_float32_us": best_median_us(lambda: block.rescore(rows, query)),
        "read_float32_us": best_median_us(lambda: words_of(block.vectors[:count]).sum()),
        "dot_numpy_us": best_median_us(lambda: vectors @ query),
        "best_us": best_median_us(lambda: rank.rank(candidates, weights, K, None)),
        "factors_numpy_us": best_median_us(factors_numpy),
        "top_us": best_median_us(lambda: topk.select(scores, anchor, rows, K)),
        "top_numpy_us": best_median_us(lambda: np.lexsort((-rows, -anchor, -scores))[:K]),
    }


def searches(count: int) -> dict[str, float]:
    """Time whole searches of a partition of `count` rows."""
    random = np.random.default_rng(4)
    words = random.zipf(1.3, (count + 1, WORDS_PER_TEXT)) % VOCABULARY
    texts = [" ".join(map(spell, line.tolist())) for line in words]
    rows = [
        IndexRow(n, texts[n], 1 + n % 7, create_time_us=n, anchor_time_us=NOW_US - n % 90 * DAY_US)
        for n in range(1, count + 1)
    ]
    partition = PartitionIndex(DIM, PARAMS)
    started = time.thread_time()
    partition.add(rows, unit_vectors(count, 1))
    added_us = 1e6 * (time.thread_time() - started) / count
    vector, view = unit_vectors(1, 2), View(NOW_US)
    text = (" ".join(texts[0].split()[:6]),)
    some = Filter(must=(NumberIn("kind", frozenset({3})),))
    plans = {
        "search_vector_us": QueryPlan(view, vectors=vector, k=K),
        "search_text_us": QueryPlan(view, texts=text, k=K),
        "search_both_us": QueryPlan(view, vectors=vector, texts=text, k=K),
        "search_filtered_us": QueryPlan(view, some, vector, texts=text, k=K),
    }
    times = {name: best_median_us(partial(partition.search, plan)) for name, plan in plans.items()}
    return {"add_us_per_row": round(added_us, 1), **times}


def run(sizes: Sequence[int]) -> Report:
    """Run all sizes."""
    columns: dict[str, dict[int, float]] = {}
    for count in sizes:
        for name, value in {**kernels(count), **searches(count)}.items():
            columns.setdefault(name, {})[count] = value
    figures: dict[str, Figure] = {
        f"{name}_{count}": value for name, row in columns.items() for count, value in row.items()
    }
    for kernel, read in (("scan_int8", "read_int8"), ("rescore_float32", "read_float32")):
        for count in sizes:
            took, least = columns[f"{kernel}_us"][count], columns[f"{read}_us"][count]
            figures[f"{kernel}_to_read_{count}"] = took / least
    table = Table(
        f"Microseconds of one thread, {DIM} dimensions, k {K}",
        ["what", *(f"{count:,} rows" for count in sizes)],
        [[name, *(f"{row[count]:g}" for count in sizes)] for name, row in columns.items()],
    )
    return Report(provenance() | figures, [table, goals.table_of("kernels", figures)])


def main() -> None:
    """Measure, print and, if asked, write the figures to a file."""
    command(__doc__, lambda given: run(QUICK_SIZES if given.quick else SIZES), QUICK)


if __name__ == "__main__":
    # Before any product is computed: one thread, as the server's pool uses them.
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(
            sys.executable, [sys.executable, "-m", "recalld.bench.bench_kernels", *sys.argv[1:]]
        )
    main()
