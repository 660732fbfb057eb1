"""`recalld verify`: checks the data of a stopped server against its invariants.

The store against the rules of its rows, each snapshot against its manifest, and an index that is
built from the rows against these rows. It changes nothing: what a start would repair is told, too.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import tzinfo
from pathlib import Path

import numpy as np
import typer

from recalld.index.analyzer import Analyzer
from recalld.index.errors import IndexLayerError
from recalld.index.partition import PartitionIndex
from recalld.scoring.params import RankParams, Scale
from recalld.server.clock import SystemClock
from recalld.server.config import Config
from recalld.server.indexing import index_row
from recalld.server.version import VERSION
from recalld.storage import wal
from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.duckdb_store import DuckDBOptions
from recalld.storage.errors import Corrupt
from recalld.storage.lock import DirectoryLock
from recalld.storage.read_only import ReadOnlyStore
from recalld.storage.snapshots import SnapshotFolder
from recalld.storage.store import StoredMemory

# Only the places of vectors are compared, never their scores, so any scale will do.
SCALE = Scale(0.0, 1.0)

Step = Callable[[str, int, int], None]
"""Told what is being checked, how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong.

    Attributes:
        where: `database`, `snapshot <name>` or `index <tenant>/<user>`.
        what: the rule that is broken, with files and labels, never with memory text.
    """

    where: str
    what: str


@dataclass(slots=True)
class Report:
    """What was looked at, and all that is wrong with it."""

    memory_count: int = 0
    partition_count: int = 0
    snapshot_count: int = 0
    violations: list[Violation] = field(default_factory=list)

    def add(self, where: str, found: Sequence[str]) -> None:
        """Notes violations of one place."""
        self.violations += [Violation(where, what) for what in found]


def run(config: Config, *, as_json: bool) -> bool:
    """Checks the configured directory under its lock and prints the report.

    Returns:
        Whether everything is in order.

    Raises:
        DirectoryLocked: a server has the directory; names it.
        FileRefused, FormatTooNew, OSError: the data cannot be read as it is.
    """
    data_dir = config.storage.data_dir
    if not data_dir.is_dir():
        raise FileNotFoundError(f"storage.data_dir: {data_dir} is no directory")
    now_us = SystemClock().now_us()
    memory_limit_bytes = config.storage.memory_limit_mb * 1024 * 1024
    options = DuckDBOptions(now_us, VERSION, memory_limit_bytes)
    with (
        DirectoryLock(data_dir, listen_address="recalld verify", now_us=now_us),
        _progress() as step,
    ):
        ranking = config.ranking
        report = verify(data_dir, options, ranking.exact_rows_max, ranking.zone, step)
    _write(report, as_json=as_json)
    return not report.violations


def verify(
    data_dir: Path, options: DuckDBOptions, exact_rows_max: int, zone: tzinfo, step: Step
) -> Report:
    """Checks everything in a data directory that nobody serves.

    Args:
        data_dir: locked by the caller.
        options: how its databases are opened.
        exact_rows_max: larger partitions get a graph, as they do in the server.
        zone: in which the days of a memory's words begin.
        step: told of the progress.

    Raises:
        FileNotFoundError: there is no database, and nothing that tells of one.
        FileRefused, FormatTooNew: the database cannot be read as it is.
    """
    report = Report()
    path = data_dir / DATABASE_NAME
    folder = SnapshotFolder(data_dir, options)
    listed = folder.listed()
    if not path.exists():
        if not listed and not wal_path(path).exists():
            raise FileNotFoundError(f"{path} does not exist: there is nothing to check")
        report.add("database", [f"{path}: missing, though its log or snapshots are there"])
    else:
        try:
            _check_store(data_dir, options, exact_rows_max, zone, step, report)
        except Corrupt as error:
            report.add("database", [str(error), *_repairable(path)])
    for number, one in enumerate(listed):
        step("snapshots", number, len(listed))
        report.add(f"snapshot {one.name}", folder.verify(one.name))
    report.snapshot_count = len(listed)
    return report


def _check_store(
    data_dir: Path,
    options: DuckDBOptions,
    exact_rows_max: int,
    zone: tzinfo,
    step: Step,
    report: Report,
) -> None:
    step("database", 0, 1)
    store = ReadOnlyStore(data_dir, options, "it is only checked")
    try:
        report.add("database", store.check())
        partitions = store.partitions()
        report.partition_count = len(partitions)
        report.memory_count = sum(partition.count for partition in partitions)
        analyzer = Analyzer()
        for number, partition in enumerate(partitions):
            step("index", number, len(partitions))
            rows = list(store.load_partition(partition.tenant, partition.user_id))
            found = list(index_violations(rows, analyzer, exact_rows_max, zone))
            if len(rows) != partition.count:
                found.append(f"{len(rows)} rows are found by user, {partition.count} by a scan")
            report.add(f"index {partition.tenant}/{partition.user_id}", found)
    finally:
        store.close()


def index_violations(
    rows: Sequence[StoredMemory], analyzer: Analyzer, exact_rows_max: int, zone: tzinfo
) -> Iterator[str]:
    """Builds the index of one partition and yields where it differs from the rows.

    Rows of each model have an index of their own; rows without a vector are embedded at a start.
    """
    models = sorted({row.fingerprint for row in rows if row.vector is not None})
    for model in models:
        own = [row for row in rows if row.vector is not None and row.fingerprint == model]
        labels = [row.record.label for row in own]
        widths = {row.vector.size for row in own if row.vector is not None}
        if len(widths) != 1:
            yield f"vectors of model {model} have the widths {sorted(widths)}"
            continue
        vectors = np.stack([row.vector for row in own if row.vector is not None])
        cues = {row.record.label: row.cues for row in own if row.cues is not None}
        # Every part of a vector has the length 1; a part that is not known is zero.
        parts = round(float(np.square(vectors, dtype=np.float64).sum(axis=1).max()))
        params = RankParams(SCALE.mean, SCALE.spread, relevance=SCALE if parts > 1 else None)
        index = PartitionIndex(vectors.shape[1] // max(1, parts), params, analyzer, exact_rows_max)
        try:
            index.add([index_row(row.record, zone) for row in own], vectors, cues)
        except (IndexLayerError, ValueError) as error:
            yield f"the rows of model {model} cannot be indexed: {error}"
            continue
        missing = [label for label in labels if label not in index]
        if missing or len(index) != len(labels):
            yield f"{len(labels)} rows, {len(index)} in the index; missing labels {missing[:5]}"
        elif not np.array_equal(index.vectors_of(labels), vectors):
            yield f"vectors of model {model} differ from those of the rows"
        elif not all(np.array_equal(index.cues_of(label), kept) for label, kept in cues.items()):
            yield f"vectors of cues of model {model} differ from those of the rows"
        graph = index.build_graph() if index.wants_graph else None
        if graph is not None and len(graph.shard) != len(labels):
            yield f"the graph of model {model} does not hold the rows"


def _repairable(path: Path) -> list[str]:
    """What the next start would repair of a database that does not open."""
    if not (zero_bytes := wal.zero_tail_bytes(wal_path(path))):
        return []
    return [
        f"{wal_path(path)}: ends in {zero_bytes} zeros, as after a loss of power; "
        "the next start keeps a copy and cuts them"
    ]


@contextlib.contextmanager
def _progress() -> Iterator[Step]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, of: bar.update(
            task, description=what, completed=done, total=max(1, of)
        )


def _write(report: Report, *, as_json: bool) -> None:
    if as_json:
        body = {"ok": not report.violations, **asdict(report)}
        typer.echo(json.dumps(body, ensure_ascii=False))
        return
    for violation in report.violations:
        typer.echo(f"{violation.where}: {violation.what}")
    looked_at = (
        f"{report.memory_count} memories, {report.partition_count} users, "
        f"{report.snapshot_count} snapshots"
    )
    count = len(report.violations)
    typer.echo(f"{looked_at}: " + (f"{count} violations" if count else "in order"))
