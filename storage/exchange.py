"""Puts another database in the place of the present one, so that a kill never leaves neither.

The present file gets a second name, then the new one is renamed over the first: at every moment
the database's name has a complete file. Until the new one has been opened in its place the old
one stays beside it under the second name, and takes its place back if the new one does not open.

It opens no database. Invariants: what is put in place is closed, synced and has no log; the second
name exists only between `place` and the next successful opening.
"""

from __future__ import annotations

from pathlib import Path

from recalld.storage.database_file import ASIDE_SUFFIX, DATABASE_NAME, next_damaged, wal_path
from recalld.storage.errors import StorageError
from recalld.storage.fsio import Files


def place(data_dir: Path, fresh: Path, files: Files) -> None:
    """Puts a database in place of one that was closed in an orderly way, or where there is none.

    Args:
        data_dir: held by the caller; its database is closed.
        fresh: a complete, closed database on the same file system.
        files: sync, link and rename.

    Raises:
        StorageError: the present database still has a log: it was not closed.
        OSError: the file system refused; the next start undoes or finishes it.
    """
    path = data_dir / DATABASE_NAME
    if wal_path(path).exists():
        raise StorageError(f"{wal_path(path)}: the present database was not closed")
    files.sync_file(fresh)
    if path.exists():
        files.link(path, path.with_name(path.name + ASIDE_SUFFIX))
        files.sync_directory(data_dir)
    files.rename(fresh, path)
    files.sync_directory(data_dir)


def place_over_damage(data_dir: Path, fresh: Path, files: Files) -> Path:
    """Puts a database in place of one that does not open, which is kept for people to look at.

    Returns:
        The name under which the damaged database is kept; its log stands beside it.

    Raises:
        OSError: the file system refused; what there was is there, under one name or the other.
    """
    path = data_dir / DATABASE_NAME
    kept = next_damaged(path)
    files.sync_file(fresh)
    if path.exists():
        files.link(path, kept)
    if wal_path(path).exists():
        files.rename(wal_path(path), wal_path(kept))
    files.sync_directory(data_dir)
    files.rename(fresh, path)
    files.sync_directory(data_dir)
    return kept
