"""What a search of one partition costs, stage by stage, beside the cheapest search there can be.

    python -m recalld.bench.bench_search [--quick] [--json FILE] [--markdown FILE]

Processor time of one thread, microseconds, so that other work on the machine counts as little as
it can; every figure is the least of many batches. The floor is what it takes to read the vectors
once and to let NumPy find the nearest ones. It starts no server and embeds nothing.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from recalld.bench import goals
from recalld.bench.bench_kernels import DAY_US, NOW_US, spell
from recalld.bench.corpus import DIM, unit_vectors
from recalld.bench.report import QUICK, Figure, Report, Table, command, provenance
from recalld.index import role_catalogue
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn
from recalld.index.embedder import Calibration, RequestBackground
from recalld.index.exact import VectorBlock
from recalld.index.filter import View, exclude
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.roles import RoleModel
from recalld.index.time_channel import TimeAsked
from recalld.scoring import params
from recalld.scoring.params import RankParams, Scale

SIZES = (100, 1_000, 10_000)
K = 5
QUERY_COUNT = 16  # different ones, asked in turn
WORDS_PER_TEXT = 12
VOCABULARY = 5_000
TURNS_PER_TALK = 20
PARAMS = RankParams(0.0, 0.1, relevance=Scale(0.0, 0.1))
VIEW = View(NOW_US)


def least_us(call: Callable[[int], object], batches: int) -> float:
    """Processor time of a call in microseconds: the least of the means of some batches.

    Args:
        call: gets numbers from 0 on.
        batches: so many; each takes about a millisecond.
    """
    start = time.thread_time()
    for number in range(QUERY_COUNT):
        call(number)
    once_s = (time.thread_time() - start) / QUERY_COUNT
    calls = max(1, int(1e-3 / max(once_s, 1e-7)))
    least_s = float("inf")
    for batch in range(batches):
        start = time.thread_time()
        for number in range(batch, batch + calls):
            call(number)
        least_s = min(least_s, (time.thread_time() - start) / calls)
    return round(1e6 * least_s, 1)


def texts_of(count: int) -> list[str]:
    """Texts of words whose frequencies are those of a language."""
    words = np.random.default_rng(4).zipf(1.3, (count, WORDS_PER_TEXT)) % VOCABULARY
    return [" ".join(map(spell, line.tolist())) for line in words]


def rows_of(texts: list[str]) -> list[IndexRow]:
    """Memories of all kinds: turns of talks, keyed facts, replaced ones with their successors."""
    rows = []
    for n, text in enumerate(texts, 1):
        made = IndexRow(
            n,
            text,
            1 + n % 7,
            importance=1 + n % 4,
            event_time_us=NOW_US - n * 60_000_000,
            create_time_us=n,
            anchor_time_us=NOW_US - n % 90 * DAY_US,
            identity=n,
        )
        if n % 3 == 0:
            made = replace(made, key=f"slot.{n}")
        elif n % 3 == 1:
            made = replace(made, session_id=f"talk-{n // TURNS_PER_TALK}")
        elif n % 8 == 0 and n < len(texts):
            made = replace(made, status=params.SUPERSEDED, heir=n + 1)
        rows.append(made)
    return rows


def filled(count: int) -> PartitionIndex:
    """A partition with everything that a search can look at."""
    centres = unit_vectors(2, 6)
    index = PartitionIndex(DIM, PARAMS, requests=RequestBackground(centres, Calibration(0.0, 0.1)))
    vectors = np.concatenate([unit_vectors(count, 1), unit_vectors(count, 5)], axis=1)
    cues = {n: unit_vectors(2, n) for n in range(10, count + 1, 10)}
    index.add(rows_of(texts_of(count)), vectors, cues)
    return index


def role_model() -> RoleModel:
    """The catalogue, with vectors that no model made."""
    catalogue = role_catalogue.load()
    memories = sum(len(role.memories) for role in catalogue.roles.values())
    requests = sum(len(one.requests) for one in catalogue.situations.values())
    return RoleModel(catalogue, unit_vectors(memories, 7), unit_vectors(requests, 8))


def plans_of(model: RoleModel) -> dict[str, list[QueryPlan]]:
    """The ways of asking, each with different queries."""
    vectors = unit_vectors(QUERY_COUNT, 2)
    both = np.concatenate([vectors, unit_vectors(QUERY_COUNT, 3)], axis=1)
    texts = [" ".join(text.split()[:6]) for text in texts_of(QUERY_COUNT)]
    some = Filter(must=(NumberIn("kind", frozenset({3})),))
    bare = QueryPlan(VIEW, k=K, min_score=None)
    by_text = [
        replace(bare, vectors=both[i : i + 1], texts=(texts[i],), cue_weight=1.0)
        for i in range(QUERY_COUNT)
    ]
    newest = TimeAsked(newest=True, now_us=NOW_US)
    return {
        "vector": [replace(bare, vectors=vectors[i : i + 1]) for i in range(QUERY_COUNT)],
        "vector, filtered": [
            replace(bare, vectors=vectors[i : i + 1], filter=some) for i in range(QUERY_COUNT)
        ],
        "filter alone": [replace(bare, filter=some)] * QUERY_COUNT,
        "words alone": [replace(bare, texts=(text,)) for text in texts],
        "text": by_text,
        "text, all channels": [
            replace(plan, roles=model.ask(plan.vectors[:, :DIM], (1.0,)), time=newest)
            for plan in by_text
            if plan.vectors is not None
        ],
    }


def floor_of(count: int, batches: int) -> dict[str, float]:
    """The cheapest answers: reading the vectors, and the nearest of them by NumPy."""
    vectors, queries = unit_vectors(count, 1), unit_vectors(QUERY_COUNT, 2)
    block = VectorBlock.empty(DIM).appended(vectors)
    rows, codes = np.arange(count), block.coded()[0][:count]

    def brute_force(number: int) -> object:
        scores = vectors @ queries[number % QUERY_COUNT]
        return np.argpartition(scores, -K)[-K:]

    calls: dict[str, Callable[[int], object]] = {
        "read int8": lambda _: np.max(codes.view(np.uint64)),
        "read float32": lambda _: np.max(vectors.view(np.uint64)),
        "NumPy, nearest": brute_force,
        "scan int8": lambda number: block.scan(rows, queries[number % QUERY_COUNT]),
        "scan float32": lambda number: block.rescore(rows, queries[number % QUERY_COUNT]),
    }
    return {name: least_us(call, batches) for name, call in calls.items()}


def searches_of(index: PartitionIndex, plans: list[QueryPlan]) -> Callable[[int], object]:
    """A call that puts one of some questions."""
    return lambda number: index.search(plans[number % len(plans)])


def stages_of(index: PartitionIndex, plan: QueryPlan, batches: int) -> dict[str, float]:
    """Parts of a search that can be called by themselves."""
    generation = index.generation
    calls: dict[str, Callable[[int], object]] = {
        "view": lambda _: exclude(generation.columns, plan.view, plan.filter),
        "words": lambda _: index.read(plan.texts, plan.text_weights, plan.time),
        "check": lambda _: plan.check(DIM, 2),
    }
    return {f"stage: {name}": least_us(call, batches) for name, call in calls.items()}


def measure(batches: int, sizes: Sequence[int] = SIZES) -> Report:
    """Run some sizes."""
    columns: dict[str, dict[int, float]] = {}
    model = role_model()
    plans = plans_of(model)
    for count in sizes:
        index = filled(count)
        found = floor_of(count, batches)
        for name, some in plans.items():
            found[name] = least_us(searches_of(index, some), batches)
        found |= stages_of(index, plans["text, all channels"][0], batches)
        for name, value in found.items():
            columns.setdefault(name, {})[count] = value
    vectors = unit_vectors(1, 2)
    asking = least_us(lambda _: model.ask(vectors, (1.0,)), batches)
    columns["stage: situations of a request"] = dict.fromkeys(sizes, asking)
    figures: dict[str, Figure] = {
        f"{name.replace(',', '').replace(':', '').replace(' ', '_')}_us_{count}": value
        for name, row in columns.items()
        for count, value in row.items()
    }
    table = Table(
        f"Microseconds of processor, one thread, {DIM} dimensions, k {K}",
        ["what", *(f"{count:,} rows" for count in sizes)],
        [[name, *(f"{row[count]:g}" for count in sizes)] for name, row in columns.items()],
    )
    return Report(provenance() | figures, [table, goals.table_of("search", figures)])


def main() -> None:
    """Measure, print and, if asked, write the figures to a file."""
    command(__doc__, lambda given: measure(30 if given.quick else 300), QUICK)


if __name__ == "__main__":
    # Before any product is computed: one thread, as the server's pool uses them.
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(
            sys.executable, [sys.executable, "-m", "recalld.bench.bench_search", *sys.argv[1:]]
        )
    main()
