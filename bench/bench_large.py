"""What one very large partition costs: searches under filters, writes, memory, beside baselines.

    python -m recalld.bench.bench_large [--rows 100000] [--graph-rows 5000] [--json FILE]

In process, one thread, clustered unit vectors of 384 dimensions, twelve words a memory. Times are
processor time of the calling thread: the least and the median of many calls. The truth that
recall@10 is held against is the order of float32 cosines of every row that passes the filter;
beside each search stands numpy's way to the same answer. `--graph-rows 0` leaves hnswlib out, whose
build takes about a millisecond a row.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.bench.bench_kernels import DIM, NOW_US, VOCABULARY, spell, unit_vectors
from recalld.bench.report import Cell, Figure, Report, Table, publish
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, StringIn
from recalld.index.filter import View
from recalld.index.nearest import nearest
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.shard import HnswShard
from recalld.scoring.params import RankParams
from recalld.scoring.warm import warm

K = 10
QUERIES = 40
CALLS = 3
BATCH = 64
BATCHES = 12
FILL = 4_096
WORDS_PER_TEXT = 12
WORDS_PER_REQUEST = 6
NEIGHBOURS = 8
# Name of a namespace and every how many rows belong to it.
SHARES = {"one": 100, "ten": 10}
FILTERS = {
    "100 %": Filter(),
    "10 %": Filter(must=(StringIn("namespace", frozenset({"ten"})),)),
    "1 %": Filter(must=(StringIn("namespace", frozenset({"one"})),)),
}
EFS = (64, 256)
# The scale of these vectors: nearest ones lie inside of it, or they would all score alike.
PARAMS = RankParams(0.0, 0.15)


def processor_ms(calls: Sequence[Callable[[], object]], rounds: int = CALLS) -> tuple[float, float]:
    """Least and median milliseconds of processor time of calls, after one round unmeasured."""
    times = []
    for number in range(rounds + 1):
        for call in calls:
            start = time.thread_time()
            call()
            if number:
                times.append(1e3 * (time.thread_time() - start))
    return min(times), statistics.median(times)


def namespace(label: int) -> str:
    """One row in a hundred is in `one`, one in ten in `ten`, which share none."""
    return next((name for name, every in SHARES.items() if label % every == 1), "")


class Partition:
    """A partition and what it was made of."""

    def __init__(self, rows: int) -> None:
        """Fill it; `rows` >= 1."""
        random = np.random.default_rng(4)
        words = random.zipf(1.3, (rows + BATCH * BATCHES + QUERIES, WORDS_PER_TEXT)) % VOCABULARY
        self.texts = [" ".join(map(spell, line.tolist())) for line in words]
        self.vectors = unit_vectors(rows, 1)
        self.queries = unit_vectors(QUERIES, 2)
        self.index = PartitionIndex(DIM, PARAMS)
        self.batch_ms: dict[int, float] = {}
        marks = [mark for mark in (1_000, 10_000) if mark < rows]
        for start, end in self._pieces(rows, marks):
            self.index.add([self.row(n) for n in range(start, end)], self.vectors[start:end])
            if end in marks or end == rows:
                self.batch_ms[end] = self._batch_ms(end)

    @staticmethod
    def _pieces(rows: int, marks: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Ranges of FILL rows at most that end at every mark."""
        start = 0
        while start < rows:
            end = min(mark for mark in (start + FILL, rows, *marks) if mark > start)
            yield start, end
            start = end

    def row(self, place: int) -> IndexRow:
        """The row at a place; its label is the place + 1."""
        at_us = NOW_US - place
        return IndexRow(
            place + 1,
            self.texts[place],
            1,
            namespace=namespace(place + 1),
            create_time_us=at_us,
            event_time_us=at_us,
            anchor_time_us=NOW_US,
        )

    def _batch_ms(self, count: int) -> float:
        """Median of what a batch of new memories costs, neighbours of each looked up; undone."""
        kept, times = self.index.generation, []
        vectors = unit_vectors(BATCH, 3)
        for number in range(BATCHES):
            first = count + number * BATCH
            added = [self.row(place) for place in range(first, first + BATCH)]
            start = time.thread_time()
            for vector in vectors:
                nearest(self.index.generation, vector, NEIGHBOURS)
            self.index.add(added, vectors)
            times.append(1e3 * (time.thread_time() - start))
        self.index.generation = kept
        return statistics.median(times)

    def plan(self, query: int, condition: Filter, by_vector: bool, by_text: bool) -> QueryPlan:
        """A question."""
        text = " ".join(self.texts[-1 - query].split()[:WORDS_PER_REQUEST])
        return QueryPlan(
            View(NOW_US),
            condition,
            self.queries[query : query + 1] if by_vector else None,
            texts=(text,) if by_text else (),
            k=K,
        )

    def plans(self, condition: Filter, by_vector: bool, by_text: bool) -> list[QueryPlan]:
        """One question for each query."""
        return [self.plan(query, condition, by_vector, by_text) for query in range(QUERIES)]


def searches(partition: Partition) -> Iterator[tuple[str, dict[str, float]]]:
    """Figures of searches, by what is asked and under which filter."""
    index, vectors, queries = partition.index, partition.vectors, partition.queries
    for share, condition in FILTERS.items():
        passing = np.array(index.match(View(NOW_US), condition)) - 1

        def truth(query: NDArray[np.float32], rows: NDArray[np.int64] = passing) -> set[int]:
            cosines = (vectors if len(rows) == len(vectors) else vectors[rows]) @ query
            return set((rows[np.argpartition(-cosines, K)[:K]] + 1).tolist())

        plans = partition.plans(condition, by_vector=True, by_text=False)
        found = [set(index.search(plan).labels.tolist()) for plan in plans]
        hits = sum(len(got & truth(query)) for got, query in zip(found, queries, strict=True))
        least, median = processor_ms([partial(index.search, plan) for plan in plans])
        numpy_least, _ = processor_ms([partial(truth, query) for query in queries[:8]], 1)
        yield (
            f"vector, {share}",
            {
                "recall_at_10": hits / (K * QUERIES),
                "ms_min": least,
                "ms": median,
                "numpy_ms_min": numpy_least,
            },
        )
    for name, by_vector in (("words", False), ("vector and words", True)):
        plans = partition.plans(Filter(), by_vector, by_text=True)
        least, median = processor_ms([partial(index.search, plan) for plan in plans])
        yield f"{name}, 100 %", {"ms_min": least, "ms": median}


def graph_figures(partition: Partition, rows: int) -> tuple[dict[str, float], list[list[Cell]]]:
    """Build hnswlib's graph over the first rows and ask it."""
    vectors = partition.vectors[:rows]
    figures: dict[str, float] = {}
    truth = [set(np.argpartition(-(vectors @ q), K)[:K].tolist()) for q in partition.queries]
    table: list[list[Cell]] = []
    for ef in EFS:
        shard = HnswShard(DIM, ef)
        start = time.process_time()
        shard.add(np.arange(1, rows + 1), vectors)
        figures["graph_build_ms_per_row"] = 1e3 * (time.process_time() - start) / rows
        hits = sum(
            len(set((shard.search(query, K)[0] - 1).tolist()) & best)
            for query, best in zip(partition.queries, truth, strict=True)
        )
        least, median = processor_ms([partial(shard.search, q, K) for q in partition.queries])
        recall = hits / (K * QUERIES)
        figures |= {f"graph_ef{ef}_ms_min": least, f"graph_ef{ef}_recall_at_10": recall}
        table.append([f"ef {ef}", recall, f"{least:.3f}", f"{median:.3f}"])
    return figures, table


def measure(rows: int, graph_rows: int) -> Report:
    """Run everything."""
    warm()
    partition = Partition(rows)
    figures: dict[str, Figure] = {"rows": rows}
    table: list[list[Cell]] = []
    for name, found in searches(partition):
        prefix = name.replace(" %", "").replace(", ", "_").replace(" ", "_")
        figures |= {f"{prefix}_{key}": value for key, value in found.items()}
        numpy_ms = found.get("numpy_ms_min")
        table.append(
            [
                name,
                found.get("recall_at_10"),
                f"{found['ms_min']:.3f}",
                f"{found['ms']:.3f}",
                None if numpy_ms is None else f"{numpy_ms:.3f}",
            ]
        )
    figures |= {f"batch_{count}_ms": ms for count, ms in partition.batch_ms.items()}
    generation = partition.index.generation
    block, sketch = generation.blocks[0], generation.sketch
    sizes = {"vectors": block.vectors.nbytes, "codes": block.coded()[0].nbytes}
    if sketch is not None:
        sizes |= {"sketches": sketch.codes.nbytes, "terms": sketch.terms.nbytes}
        source = sketch.codes.view(np.uint8)
        copy = np.empty_like(source)
        figures["sketch_copy_ms_min"] = processor_ms([partial(np.copyto, copy, source)], 20)[0]
    figures |= {f"{name}_bytes": size for name, size in sizes.items()}
    tables = [
        Table(
            f"{rows:,} memories in one partition, k {K}, milliseconds of processor",
            ["search", "recall@10", "least", "median", "numpy, least"],
            table,
        ),
        Table(
            f"A batch of {BATCH}: neighbours of each, then all added; milliseconds of processor",
            ["memories", "median"],
            [[f"{count:,}", f"{ms:.1f}"] for count, ms in partition.batch_ms.items()],
        ),
    ]
    if graph_rows:
        found, asked = graph_figures(partition, min(graph_rows, rows))
        figures |= found
        title = f"hnswlib alone, {min(graph_rows, rows):,} rows, no filter"
        tables.append(Table(title, ["search", "recall@10", "least", "median"], asked))
    return Report(figures, tables)


def main() -> None:
    """Measure, print and, if asked, write the figures to a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="memories (default 100000)")
    parser.add_argument(
        "--graph-rows", type=int, default=5_000, help="rows of hnswlib's graph (default 5000)"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    publish(measure(arguments.rows, arguments.graph_rows), arguments.json)


if __name__ == "__main__":
    # Before any product is computed: one thread, as the server's pool uses them.
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "recalld.bench.bench_large", *sys.argv[1:]])
    main()
