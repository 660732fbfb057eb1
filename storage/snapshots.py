"""The folder of snapshots: copies of the database, each in a folder of its own with a manifest.

A snapshot appears complete, by rename, and changes only when a purge exchanges its database: the
new file is written beside the old one, then the manifest is replaced, then the old file goes. It
never touches the database that is served.

Invariants: what begins with `.new-` is unfinished, with `.old-` half removed: both go at the next
start; so does a file that its snapshot's manifest does not list. One caller at a time changes the
folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recalld.storage import duckdb_file, manifest, snapshot_check
from recalld.storage.database_file import DATABASE_NAME, DIRECTORY_MODE, FILE_MODE
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.errors import SnapshotExists, SnapshotNotFound
from recalld.storage.manifest import DATABASE_ROLE, MANIFEST_NAME, Manifest
from recalld.storage.purge import Legacy
from recalld.storage.purges import condemned_rows
from recalld.storage.queries import Queries
from recalld.storage.snapshot_check import Listed
from recalld.storage.tombstones import Hasher, Tombstones

FOLDER_NAME = "snapshots"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
UNFINISHED_PREFIX = ".new-"
REMOVED_PREFIX = ".old-"
_DATABASE = re.compile(r"recalld-(\d+)\.duckdb")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the maker of a snapshot knows of it.

    Attributes:
        now_us: the time, microseconds since the epoch.
        fingerprint: of the model that made the vectors.
        is_scheduled: made by the schedule.
    """

    now_us: int
    fingerprint: str
    is_scheduled: bool = False


class SnapshotFolder:
    """The snapshots of one data directory."""

    def __init__(self, data_dir: Path, options: DuckDBOptions) -> None:
        """Touches nothing yet.

        Args:
            data_dir: whose snapshots.
            options: how their databases are opened where they must be changed.
        """
        self._path = data_dir / FOLDER_NAME
        self._options = options
        self._files = options.files

    def clean(self) -> list[str]:
        """Removes what a killed process left unfinished; returns the names."""
        if not self._path.is_dir():
            return []
        prefixes = (UNFINISHED_PREFIX, REMOVED_PREFIX)
        left = [path for path in sorted(self._path.iterdir()) if path.name.startswith(prefixes)]
        for path in left:
            shutil.rmtree(path)
        names = [path.name for path in left]
        for listed in self.listed():
            names += self._drop_unlisted(listed)
        return names

    def listed(self) -> list[Listed]:
        """Returns all snapshots, newest first; those without a readable manifest last."""
        found = [snapshot_check.listed(path) for path in self._folders()]
        return sorted(
            found,
            key=lambda one: (one.manifest.create_time_us if one.manifest else -1, one.name),
            reverse=True,
        )

    def create(self, store: DuckDBStore, name: str, stamp: Stamp) -> Manifest:
        """Copies the store, as of one revision, while it goes on.

        Raises:
            SnapshotExists: the name is taken.
            CopyFailed, OSError: it could not be written; nothing of it stays.
        """
        assert NAME.fullmatch(name)
        self.require_free(name)
        self._path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        unfinished = self._unfinished(name)
        try:
            database = unfinished / "recalld-1.duckdb"
            store.copy_to(database)
            made = self._described(database, name, stamp)
            self._write_manifest(unfinished, made)
            self._files.rename(unfinished, self._path / name)
            self._files.sync_directory(self._path)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        return made

    def require_free(self, name: str) -> None:
        """Raises SnapshotExists when a snapshot has this name."""
        if (self._path / name).exists():
            raise SnapshotExists(f"snapshot {name!r} exists already")

    def require(self, name: str) -> Path:
        """The folder of a snapshot.

        Raises:
            SnapshotNotFound: there is none of this name.
        """
        path = self._path / name
        if not NAME.fullmatch(name) or not path.is_dir():
            raise SnapshotNotFound(f"there is no snapshot {name!r}")
        return path

    def verify(self, name: str) -> list[str]:
        """Returns everything that is wrong with a snapshot; empty = it can be restored.

        Reads every byte of it.

        Raises:
            SnapshotNotFound: there is none of this name.
        """
        return snapshot_check.violations(self.require(name))

    def newest_intact(self, other_than: str) -> str:
        """Name of the newest snapshot that nothing is wrong with; "" = there is none."""
        names = (listed.name for listed in self.listed() if listed.name != other_than)
        return next((name for name in names if not self.verify(name)), "")

    def delete(self, name: str) -> None:
        """Removes a snapshot.

        Raises:
            SnapshotNotFound: there is none of this name.
        """
        folder = self.require(name)
        removed = self._path / f"{REMOVED_PREFIX}{name}"
        self._files.rename(folder, removed)
        self._files.sync_directory(self._path)
        shutil.rmtree(removed)

    def database_path(self, name: str) -> Path:
        """The database of a snapshot.

        Raises:
            SnapshotNotFound, Corrupt, FormatTooNew: it has none that could be used.
        """
        folder = self.require(name)
        return folder / manifest.read_manifest(folder / MANIFEST_NAME).database.name

    def says(self, text: str, vector: bytes) -> bool:
        """Tells whether any memory of any snapshot holds this text, or these float32 bytes."""
        for listed in self.listed():
            if listed.manifest is not None:
                database = self._path / listed.name / listed.manifest.database.name
                with snapshot_check.reading(database) as reader:
                    if Queries(reader, database).says(text, vector):
                        return True
        return False

    def purge(
        self,
        legacy: Legacy,
        textless_methods: frozenset[str],
        tell: Callable[[str], None] = lambda step: None,
    ) -> int:
        """Rewrites every snapshot that holds something purged, telling each; returns how many.

        A snapshot that cannot be read is removed: nobody could restore it, and nobody knows
        whether it still holds what must go.
        """
        tombstones = Tombstones(Hasher(legacy.key), legacy.tombstones)
        found, count = self.listed(), 0
        for number, listed in enumerate(found, start=1):
            is_changed = self._purge(listed, tombstones, legacy, textless_methods)
            count += is_changed
            done = "changed" if is_changed else "holds nothing of it"
            tell(f"snapshot {number} of {len(found)} {done}")
        return count

    def _purge(
        self, listed: Listed, tombstones: Tombstones, legacy: Legacy, textless: frozenset[str]
    ) -> bool:
        """Rewrites or removes one snapshot; tells whether it had to."""
        if listed.manifest is None or self.verify(listed.name):
            self.delete(listed.name)
            return True
        folder = self._path / listed.name
        database = folder / listed.manifest.database.name
        with snapshot_check.reading(database) as reader:
            condemned = condemned_rows(reader, tombstones)
        if not condemned:
            return False
        work = self._copied(folder, listed.manifest)
        store = DuckDBStore(work, self._options)
        try:
            store.purges.adopt(legacy)
            store.purges.drop(condemned, textless)
            store.rewrite()
        finally:
            store.close()
        self._replace(folder, listed.manifest, work)
        return True

    def _unfinished(self, name: str) -> Path:
        """An empty folder; what a failed attempt could not remove is removed now."""
        path = self._path / f"{UNFINISHED_PREFIX}{name}"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=DIRECTORY_MODE)
        return path

    def _copied(self, folder: Path, present: Manifest) -> Path:
        """A data directory of its own with the database of a snapshot."""
        work = self._unfinished(present.name)
        shutil.copyfile(folder / present.database.name, work / DATABASE_NAME)
        return work

    def _replace(self, folder: Path, present: Manifest, work: Path) -> None:
        """Puts the database of a directory in place of a snapshot's."""
        number = int(_DATABASE.fullmatch(present.database.name)[1]) + 1  # type: ignore[index]
        database = folder / f"recalld-{number}.duckdb"
        self._files.rename(work / DATABASE_NAME, database)
        stamp = Stamp(present.create_time_us, present.fingerprint, present.is_scheduled)
        self._write_manifest(folder, self._described(database, present.name, stamp))
        (folder / present.database.name).unlink()
        self._files.sync_directory(folder)
        shutil.rmtree(work)

    def _described(self, database: Path, name: str, stamp: Stamp) -> Manifest:
        """The manifest of a fresh copy, which is synced and read again first."""
        database.chmod(FILE_MODE)
        self._files.sync_file(database)
        with snapshot_check.reading(database) as reader:
            version, counts, revisions = snapshot_check.facts(reader)
        return Manifest(
            name=name,
            create_time_us=stamp.now_us,
            created_by=self._options.created_by,
            duckdb_version=duckdb_file.VERSION,
            format_version=version,
            fingerprint=stamp.fingerprint,
            is_scheduled=stamp.is_scheduled,
            revisions=revisions,
            counts=counts,
            files=(manifest.describe_file(database, DATABASE_ROLE),),
        )

    def _write_manifest(self, folder: Path, made: Manifest) -> None:
        fresh = folder / f".{MANIFEST_NAME}"
        fresh.write_bytes(made.to_bytes())
        self._files.sync_file(fresh)
        self._files.rename(fresh, folder / MANIFEST_NAME)
        self._files.sync_directory(folder)

    def _folders(self) -> list[Path]:
        if not self._path.is_dir():
            return []
        return [path for path in self._path.iterdir() if NAME.fullmatch(path.name)]

    def _drop_unlisted(self, listed: Listed) -> list[str]:
        if listed.manifest is None:
            return []
        known = {MANIFEST_NAME, *(file.name for file in listed.manifest.files)}
        left = [p for p in sorted((self._path / listed.name).iterdir()) if p.name not in known]
        for path in left:
            path.unlink()
        return [f"{listed.name}/{path.name}" for path in left]
