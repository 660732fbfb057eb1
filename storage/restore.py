"""Puts a snapshot in place of the present data, while nobody serves it.

The snapshot itself is never opened for writing: a copy of it is brought up to the present format,
what was purged since is taken out of it, it is checked whole, and only then it takes the place of
the present database. It never restores what its manifest does not vouch for.

Recipe, each step repeatable after a kill: verify the snapshot -> close the present database in an
orderly way, and note its tombstones and revisions -> copy the snapshot into the working folder
-> take out what is condemned, raise revisions, check, close -> exchange -> open.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from recalld.storage import exchange
from recalld.storage.database_file import (
    DATABASE_NAME,
    DIRECTORY_MODE,
    FILE_MODE,
    WORK_NAME,
    wal_path,
)
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import Corrupt, SnapshotDamaged, StorageError
from recalld.storage.purge import Legacy
from recalld.storage.snapshots import SnapshotFolder


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did.

    Attributes:
        memory_count: memories after it.
        dropped_count: memories of the snapshot that stay purged.
        revisions: each tenant's revision after it.
        damage: what was wrong with the present database; "" = nothing.
        purges_known: whether what it said of purges could be read; if not, what was purged after
            a snapshot was copied elsewhere may have come back with that copy.
        kept_path: where the damaged database is kept; None when it was in order.
    """

    memory_count: int
    dropped_count: int
    revisions: dict[str, int]
    damage: str
    purges_known: bool
    kept_path: Path | None


def require_intact(folder: SnapshotFolder, name: str) -> None:
    """Refuses a snapshot that must not be restored.

    Raises:
        SnapshotNotFound: there is none of this name.
        SnapshotDamaged: it is not what its manifest says; offers the newest that is.
    """
    if found := folder.verify(name):
        raise SnapshotDamaged(name, found, folder.newest_intact(name))


def restore(
    data_dir: Path, name: str, options: DuckDBOptions, textless_methods: frozenset[str]
) -> Restored:
    """Restores a snapshot by name.

    Args:
        data_dir: locked by the caller; no store is open on it.
        name: of a snapshot in it.
        options: how databases are opened.
        textless_methods: see `PurgeOrder`.

    Raises:
        SnapshotNotFound, SnapshotDamaged: see `require_intact`; nothing was changed.
        StorageError, OSError: the new database could not be made; the present one is in place.
    """
    folder = SnapshotFolder(data_dir, options)
    require_intact(folder, name)
    legacy, damage = _present(data_dir, options)
    work = data_dir / WORK_NAME
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(mode=DIRECTORY_MODE)
    try:
        shutil.copyfile(folder.database_path(name), work / DATABASE_NAME)
        (work / DATABASE_NAME).chmod(FILE_MODE)
        dropped_count = _prepare(work, legacy, options, textless_methods)
        kept_path = None
        if damage:
            kept_path = exchange.place_over_damage(data_dir, work / DATABASE_NAME, options.files)
        else:
            exchange.place(data_dir, work / DATABASE_NAME, options.files)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    store = DuckDBStore(data_dir, options)  # Opened in its place, it is in place.
    try:
        revisions, memory_count = store.revisions(), store.stats().row_count
    finally:
        store.close()
    purges_known = legacy is not None or not damage
    return Restored(memory_count, dropped_count, revisions, damage, purges_known, kept_path)


def _present(data_dir: Path, options: DuckDBOptions) -> tuple[Legacy | None, str]:
    """What the present database hands on, and what is wrong with it; it is closed afterwards."""
    path = data_dir / DATABASE_NAME
    if not path.exists() and not wal_path(path).exists():
        return None, ""
    try:
        store = DuckDBStore(data_dir, options)
    except Corrupt as error:
        return None, str(error)
    legacy = None
    try:
        legacy = store.purges.legacy()
        found = store.check()
    except Corrupt as error:
        found = [str(error)]
    finally:
        store.close()
    if wal_path(path).exists():
        found.append("its log could not be moved into it")
    return legacy, "; ".join(found)


def _prepare(
    work: Path, legacy: Legacy | None, options: DuckDBOptions, textless_methods: frozenset[str]
) -> int:
    """Makes the copy what is to be served; returns how many of its memories stay purged."""
    store = DuckDBStore(work, options)
    try:
        if legacy is not None:
            store.purges.adopt(legacy)
        condemned = store.purges.condemned()
        store.purges.drop(condemned, textless_methods)
        store.purges.overtake(legacy.revisions if legacy is not None else {})
        if condemned:
            store.rewrite()
        if found := store.check():
            raise StorageError(f"the restored data is not in order: {'; '.join(found)}")
    finally:
        store.close()
    return len(condemned)
