"""Opens the database file, creating it when there is none and repairing its log when zeros end it.

Knows no database library: the backend gives a `connect` function. It never replaces, empties or
deletes an existing database or log.

Invariants: a new database is created under a temporary name and renamed when complete, because
one killed in its first writes never opens again; what such a creation, or a copy, left behind is
removed at the next start, since nothing in it was ever acknowledged. A restore that was killed is
finished or undone (see `exchange`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Protocol, TypeVar

from recalld.storage import migrate, wal
from recalld.storage.errors import Corrupt
from recalld.storage.fsio import Files

DATABASE_NAME = "recalld.duckdb"
WAL_SUFFIX = ".wal"
NEW_SUFFIX = ".new"
COPY_SUFFIX = ".copy"
ASIDE_SUFFIX = ".before-restore"
DAMAGED_INFIX = ".damaged-"
WORK_NAME = ".restoring"
"""Folder in which a restored database is made ready."""
SCHEMA_NAME = "schema.sql"
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


class Connection(migrate.Connection, Protocol):
    """A connection that can also be closed."""

    def close(self) -> None:
        """Releases the file."""
        ...


C = TypeVar("C", bound=Connection)


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What opening had to do beyond opening.

    Attributes:
        created: the database is new.
        returned: a restored database did not open, and the one before it was put back.
        leftover_names: files of an interrupted creation or copy that were removed.
        wal_copy: the log as it was before its zero tail was cut; None = nothing was cut.
        wal_cut_bytes: zeros cut.
        migrated_step_count: format steps applied.
    """

    created: bool = False
    returned: bool = False
    leftover_names: tuple[str, ...] = ()
    wal_copy: Path | None = None
    wal_cut_bytes: int = 0
    migrated_step_count: int = 0


def wal_path(path: Path) -> Path:
    """Returns where the log of a database file is."""
    return path.with_name(path.name + WAL_SUFFIX)


def copy_paths(path: Path) -> tuple[Path, Path]:
    """Where copies of a database are made: one to take its place, one to be moved elsewhere."""
    return path.with_name(path.name + NEW_SUFFIX), path.with_name(path.name + COPY_SUFFIX)


def put_in_place(fresh: Path, path: Path, files: Files) -> None:
    """Renames a synced file over the one of this path, durably."""
    files.rename(fresh, path)
    files.sync_directory(path.parent)


def next_damaged(path: Path) -> Path:
    """Returns the first free name under which a damaged file can be kept beside itself."""
    number = 1
    while (kept := path.with_name(f"{path.name}{DAMAGED_INFIX}{number}")).exists():
        number += 1
    return kept


def size_bytes(path: Path) -> int:
    """Returns the size of a file, 0 when there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def open_or_create(
    data_dir: Path, connect: Callable[[Path], C], meta: dict[str, str], files: Files
) -> tuple[C, RecoveryReport]:
    """Returns an open connection to the directory's database, in the current format.

    Args:
        data_dir: created, with mode 0700, when missing; locked by the caller.
        connect: opens one file, creating it when missing.
        meta: rows for the meta table of a new database, beside `format_version`.
        files: sync and rename.

    Raises:
        Corrupt: the database is damaged, or a log has lost its database.
        FormatTooNew: it was written by a newer version.
        DirectoryLocked: another process has it open.
        OSError: the file system refused; nothing that existed was changed.
    """
    data_dir.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    path = data_dir / DATABASE_NAME
    leftovers = _remove_leftovers(path)
    created = not path.exists()
    if created:
        if wal_path(path).exists():
            raise Corrupt(path, "missing, though its log is there; restore it from a backup")
        _create(path, connect, meta, files)
    try:
        connection, copy, cut_bytes = _connect_repairing(path, connect, files)
        returned = False
    except Corrupt:
        if not _return_to_aside(path, files):
            raise
        connection, copy, cut_bytes = _connect_repairing(path, connect, files)
        returned = True
    try:
        step_count = migrate.migrate(connection, path)
        _aside(path).unlink(missing_ok=True)
        files.sync_directory(data_dir)
    except BaseException:
        connection.close()
        raise
    report = RecoveryReport(created, returned, tuple(leftovers), copy, cut_bytes, step_count)
    return connection, report


def _create(
    path: Path, connect: Callable[[Path], Connection], meta: dict[str, str], files: Files
) -> None:
    new = path.with_name(path.name + NEW_SUFFIX)
    connection = connect(new)
    try:
        new.chmod(FILE_MODE)
        connection.execute(resource_files(__package__).joinpath(SCHEMA_NAME).read_text("utf-8"))
        meta = {**meta, "format_version": str(migrate.FORMAT_VERSION)}
        meta[migrate.TOMBSTONE_KEY] = migrate.new_tombstone_key()
        for item in sorted(meta.items()):
            connection.execute("INSERT INTO meta VALUES (?, ?)", item)
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    files.sync_file(new)
    put_in_place(new, path, files)


def _connect_repairing(
    path: Path, connect: Callable[[Path], C], files: Files
) -> tuple[C, Path | None, int]:
    for file in (path, wal_path(path)):
        if file.exists():
            file.open("r+b").close()  # A refused permission is an OSError, not damage.
    try:
        return connect(path), None, 0
    except Corrupt:
        if wal.zero_tail_bytes(wal_path(path)) == 0:
            raise
    copy, cut_bytes = wal.cut_zero_tail(wal_path(path), files)
    return connect(path), copy, cut_bytes


def _remove_leftovers(path: Path) -> Sequence[str]:
    found = [path.parent.glob(f"{path.name}{suffix}*") for suffix in (NEW_SUFFIX, COPY_SUFFIX)]
    leftovers = sorted(leftover for paths in found for leftover in paths)
    for leftover in leftovers:
        leftover.unlink()
    names = [leftover.name for leftover in leftovers]
    if (work := path.with_name(WORK_NAME)).exists():
        shutil.rmtree(work)
        names.append(WORK_NAME)
    if path.exists() and _aside(path).exists() and path.samefile(_aside(path)):
        # A restore got as far as the second name and no further: nothing was exchanged.
        _aside(path).unlink()
        names.append(_aside(path).name)
    return names


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ASIDE_SUFFIX)


def _return_to_aside(path: Path, files: Files) -> bool:
    """Puts the database from before a restore back; False when there is none."""
    if not _aside(path).exists():
        return False
    wal_path(path).unlink(missing_ok=True)
    files.rename(_aside(path), path)
    files.sync_directory(path.parent)
    return True
