"""Time durable writes and loading of the store, beside the bare sync of the same disk.

    python -m recalld.bench.bench_store [--dir DIR] [--json FILE] [--quick]

Every write is timed from the call to durability, and by the processor time of the process, which
the disk is not in. The bare sync (200 bytes appended to a file, then `fsync`) is measured before
and after: shared disks drift, so compare figures of one run only. The floor is what DuckDB takes
to commit one row of one column. It prints a table and can write one flat JSON object. It never
touches an existing data directory.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from recalld.bench.report import Figure, Report, Table, provenance, publish
from recalld.storage import duckdb_file
from recalld.storage.duckdb_store import MEMORY_LIMIT_BYTES, DuckDBOptions, DuckDBStore
from recalld.storage.record import MemoryRecord, Scope
from recalld.storage.store import StoredMemory, WriteBatch

DIM = 384
USER_COUNT = 100
SYNC_BYTES = 200
SYNC_COUNT = 200
SINGLE_COUNT = 200
BATCH_ROW_COUNT = 64
BATCH_COUNT = 30
WRITER_COUNT = 16
WRITER_S = 3.0
LOAD_ROW_COUNTS = (10_000, 100_000)
FILL_ROW_COUNT = 512
QUICK_DIVISOR = 10
CONTENT = "the user said they cannot eat peanuts, 用户对花生过敏，不能吃花生酱".ljust(90, ".")


class Rows:
    """Makes rows like those of an agent: 100 characters, one key, a 384-wide vector."""

    def __init__(self) -> None:
        """Draws the vectors once; making rows is not what is measured."""
        generator = np.random.default_rng(7)
        self._vectors = generator.standard_normal((1_024, DIM)).astype(np.float32)

    def batch(self, store: DuckDBStore, tenant: str, revision: int, count: int) -> WriteBatch:
        """One batch of `count` new rows."""
        labels = store.allocate_labels(count)
        return WriteBatch(
            tenant, revision, tuple(self._row(label, tenant, revision) for label in labels)
        )

    def _row(self, label: int, tenant: str, revision: int) -> StoredMemory:
        record = MemoryRecord(
            label=label,
            id=f"{label:032x}",
            scope=Scope(tenant, f"user-{label % USER_COUNT}", "agent"),
            kind=1,
            content=f"{label}: the user said they cannot eat peanuts, 用户对花生过敏".ljust(
                100, "."
            ),
            key="allergy",
            event_time_us=1_700_000_000_000_000 + label,
            content_hash=label.to_bytes(16, "little"),
            revision=revision,
        )
        return StoredMemory(record, self._vectors[label % len(self._vectors)], "bench")


def time_ms(call: Callable[[], object]) -> float:
    """Duration of one call in milliseconds."""
    start = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - start)


def percentiles(name: str, times_ms: Sequence[float]) -> dict[str, Figure]:
    """The 50th and 99th percentile, named after what was timed."""
    return {
        f"{name}_p50_ms": float(np.percentile(times_ms, 50)),
        f"{name}_p99_ms": float(np.percentile(times_ms, 99)),
    }


def both_times(name: str, calls: Sequence[Callable[[], object]]) -> dict[str, Figure]:
    """Percentiles of the duration, and the median of the processor time, of calls one by one."""
    times_ms, spent_ms = [], []
    for call in calls:
        began_s = time.process_time()
        times_ms.append(time_ms(call))
        spent_ms.append(1_000 * (time.process_time() - began_s))
    return percentiles(name, times_ms) | {f"{name}_processor_ms": float(np.median(spent_ms))}


def bare_sync(folder: Path, count: int) -> list[float]:
    """Appends SYNC_BYTES and syncs, again and again: the cheapest possible durable write."""
    with (folder / "sync").open("ab", buffering=0) as file:

        def append() -> None:
            file.write(bytes(SYNC_BYTES))
            os.fsync(file.fileno())

        return [time_ms(append) for _ in range(count)]


def open_store(folder: Path) -> DuckDBStore:
    """Opens or creates the store of this bench."""
    return DuckDBStore(folder, DuckDBOptions(now_us=1, created_by="bench"))


def commit_floor(folder: Path, count: int) -> dict[str, Figure]:
    """Times DuckDB's own commits of one number, with the settings of the store."""
    folder.mkdir()
    file = folder / "floor.duckdb"
    with duckdb_file.connect(file, memory_limit_bytes=MEMORY_LIMIT_BYTES) as connection:
        connection.execute("CREATE TABLE floor (number BIGINT NOT NULL)")
        connection.execute("CHECKPOINT")
        appender = connection.appender("floor")

        def commit(number: int) -> None:
            appender.append_row(number)
            appender.flush()

        return both_times("floor", [partial(commit, number) for number in range(count)])


def write_alone(store: DuckDBStore, rows: Rows, count: int, row_count: int) -> dict[str, Figure]:
    """Times batches written one after the other; each waits for durability."""
    tenant = f"alone-{row_count}"
    batches = [rows.batch(store, tenant, revision, row_count) for revision in range(1, count + 1)]
    return both_times(f"write_{row_count}", [partial(store.write, batch) for batch in batches])


def write_together(
    store: DuckDBStore, rows: Rows, duration_s: float
) -> tuple[float, list[float], int]:
    """Single-row writes of many threads: rows a second, each latency, and how many commits."""
    times_ms: list[float] = []
    start, commits = time.perf_counter(), store.stats().commit_count

    def write(number: int) -> None:
        revision = 0
        while time.perf_counter() - start < duration_s:
            revision += 1
            batch = rows.batch(store, f"together-{number}", revision, 1)
            times_ms.append(time_ms(partial(store.write, batch)))

    with ThreadPoolExecutor(WRITER_COUNT) as pool:
        list(pool.map(write, range(WRITER_COUNT)))
    rows_per_s = len(times_ms) / (time.perf_counter() - start)
    return rows_per_s, times_ms, store.stats().commit_count - commits


def load(folder: Path, rows: Rows, row_count: int) -> dict[str, Figure]:
    """Fills a new store, then times opening it and loading every row as records."""
    store = open_store(folder)
    start = time.perf_counter()
    for revision in range(1, -(-row_count // FILL_ROW_COUNT) + 1):
        count = min(FILL_ROW_COUNT, row_count - (revision - 1) * FILL_ROW_COUNT)
        store.write(rows.batch(store, "acme", revision, count))
    fill_s = time.perf_counter() - start
    store.close()
    start = time.perf_counter()
    store = open_store(folder)
    open_ms = 1_000 * (time.perf_counter() - start)
    try:
        figures: dict[str, Figure] = {
            f"fill_{row_count}_rows_per_s": row_count / fill_s,
            f"open_{row_count}_ms": open_ms,
            f"load_{row_count}_ms": time_ms(lambda: list(store.load())),
            f"partition_{row_count}_ms": time_ms(
                lambda: list(store.load_partition("acme", "user-7"))
            ),
            f"check_{row_count}_ms": time_ms(store.check),
            f"file_{row_count}_bytes": store.stats().file_bytes,
        }
        # Without the collector's walks over ever more rows: what a start-up can choose to do.
        gc.disable()
        figures[f"load_{row_count}_no_gc_ms"] = time_ms(lambda: list(store.load()))
    finally:
        gc.enable()
        store.close()
    return figures


def measure(folder: Path, divisor: int) -> dict[str, Figure]:
    """Takes every figure; the name of each ends in its unit."""
    rows = Rows()
    figures: dict[str, Figure] = percentiles("sync_before", bare_sync(folder, SYNC_COUNT))
    figures |= commit_floor(folder / "floor", max(2, SINGLE_COUNT // divisor))
    store = open_store(folder / "write")
    try:
        for row_count, count in ((1, SINGLE_COUNT), (BATCH_ROW_COUNT, BATCH_COUNT)):
            figures |= write_alone(store, rows, max(2, count // divisor), row_count)
        rate, times_ms, commits = write_together(store, rows, WRITER_S / divisor)
        figures |= percentiles(f"write_{WRITER_COUNT}_writers", times_ms)
        figures[f"write_{WRITER_COUNT}_writers_rows_per_s"] = rate
        figures[f"write_{WRITER_COUNT}_writers_rows_per_commit"] = len(times_ms) / max(1, commits)
    finally:
        store.close()
    for row_count in LOAD_ROW_COUNTS:
        figures |= load(folder / f"load-{row_count}", rows, row_count // divisor)
    return figures | percentiles("sync_after", bare_sync(folder, SYNC_COUNT))


def report_of(figures: dict[str, Figure]) -> Report:
    """One line a figure, in the order measured."""
    lines = [(name, f"{value:,.2f}") for name, value in figures.items() if isinstance(value, float)]
    lines += [(name, f"{value:,}") for name, value in figures.items() if isinstance(value, int)]
    return Report(figures | provenance(), [Table("Store", ("figure", "value"), lines)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; the temporary directory is removed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dir", type=Path, help="where to make the temporary directory")
    parser.add_argument("--json", type=Path, help="also write the JSON object to this file")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        figures = measure(Path(folder), QUICK_DIVISOR if options.quick else 1)
    publish(report_of(figures), options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
