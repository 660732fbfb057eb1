"""The second step of a purge: no byte of what was removed stays in the data directory.

Repeatable at any point: what it finds done already costs only the look. It removes no row that is
not purged, and it knows no content but the few examples that it searches for afterwards.

Order: database -> snapshots -> copies that people were left -> search -> note that it is complete.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recalld.storage.byte_search import Patterns
from recalld.storage.database_file import DAMAGED_INFIX, DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBStore
from recalld.storage.errors import EraseFailed
from recalld.storage.lock import LOCK_FILE_NAME
from recalld.storage.purge import StoredPurge
from recalld.storage.snapshots import SnapshotFolder

EXAMPLE_COUNT_MAX = 64
"""Memories of a purge whose bytes are searched for afterwards."""


@dataclass(frozen=True, slots=True)
class Example:
    """One purged memory to search for.

    Attributes:
        text: its content.
        vector: its float32 bytes; empty = it had none.
    """

    text: str
    vector: bytes


def erase(
    store: DuckDBStore,
    folder: SnapshotFolder,
    data_dir: Path,
    now_us: Callable[[], int],
    textless_methods: frozenset[str],
    examples: Sequence[Example] = (),
    tell: Callable[[str], None] = lambda step: None,
) -> list[StoredPurge]:
    """Completes every pending purge; returns them as they were noted.

    Args:
        store: open on `data_dir`.
        folder: its snapshots; nobody else changes them meanwhile.
        data_dir: what is searched.
        now_us: the clock.
        textless_methods: see `PurgeOrder`.
        examples: purged memories that are searched for; none after a restart.
        tell: is told each step that is done, from this thread.

    Raises:
        CopyFailed, OSError: no room; the purges stay pending.
        EraseFailed: bytes of an example are still there.
    """
    pending = store.purges.pending()
    if not pending:
        return []
    store.sealed.prune()
    store.rewrite()
    tell("database rewritten")
    snapshot_count = folder.purge(store.purges.legacy(), textless_methods, tell)
    for path in sorted(data_dir.glob(f"{DATABASE_NAME}*{DAMAGED_INFIX}*")):
        path.unlink()
    file_count = _search(store, folder, data_dir, examples) if examples else 0
    tell("files searched")
    done = [
        dataclasses.replace(
            purge,
            complete_time_us=max(1, now_us()),
            snapshot_count=snapshot_count,
            verified_file_count=file_count,
        )
        for purge in pending
    ]
    store.purges.complete(done)
    return done


def spread(count: int) -> list[int]:
    """Places of the examples among `count` memories, evenly spread."""
    step = max(1, -(-count // EXAMPLE_COUNT_MAX))
    return list(range(0, count, step))


def _search(
    store: DuckDBStore, folder: SnapshotFolder, data_dir: Path, examples: Sequence[Example]
) -> int:
    """Searches every file for the examples; returns how many files that were.

    What another memory that lives says as well (somebody else's, or one that quotes it) counts as
    that one's.

    Raises:
        EraseFailed: names the file, never what was found.
    """
    patterns = Patterns(part for one in examples for part in (one.text.encode(), one.vector))
    paths = list(_files(data_dir))
    found = {path: parts for path in paths if (parts := patterns.found_in(path))}
    wanted = set().union(*found.values())
    suspects = [one for one in examples if wanted.intersection((one.text.encode(), one.vector))]
    for one in suspects:
        if store.says(one.text, one.vector) or folder.says(one.text, one.vector):
            wanted -= {one.text.encode(), one.vector}
    for path, parts in found.items():
        if not wanted.isdisjoint(parts):
            raise EraseFailed(f"{path}: bytes of purged memories are still in it")
    return len(paths)


def _files(data_dir: Path) -> Iterator[Path]:
    """Every file of the directory but the one that says who holds it."""
    for path in sorted(data_dir.rglob("*")):
        if path.is_file() and path.name != LOCK_FILE_NAME:
            yield path
