"""Whether a snapshot is what its manifest says; reads everything and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recalld.storage import duckdb_file, manifest, migrate
from recalld.storage.errors import Corrupt, FormatTooNew, StorageError
from recalld.storage.manifest import MANIFEST_NAME, Manifest, SnapshotFile
from recalld.storage.queries import REVISIONS, Reader

READ_MEMORY_BYTES = 64 * 1024 * 1024
"""For DuckDB's buffers while a snapshot is looked at."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One snapshot of the list.

    Attributes:
        name: of its folder.
        manifest: None when it cannot be read.
        problem: why it cannot, or what is wrong with the sizes of its files; None when nothing is.
    """

    name: str
    manifest: Manifest | None
    problem: StorageError | None


@contextmanager
def reading(database: Path) -> Iterator[duckdb_file.DuckDBFile]:
    """A database that nobody serves, opened to read only.

    Raises:
        Corrupt, StorageError: it does not open.
    """
    connect = partial(duckdb_file.connect, memory_limit_bytes=READ_MEMORY_BYTES, read_only=True)
    file = duckdb_file.DuckDBFile(database, connect(database), connect)
    try:
        yield file
    finally:
        file.close()


def facts(reader: Reader) -> tuple[int, dict[str, int], dict[str, int]]:
    """Format version, rows of each table, and newest revision of each tenant."""
    ((version,),) = reader.rows("SELECT value FROM meta WHERE key = 'format_version'")
    sql = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
    counts = {
        name: int(reader.rows(f'SELECT count(*) FROM "{name}"')[0][0])
        for (name,) in reader.rows(sql)
    }
    return int(version), counts, dict(reader.rows(REVISIONS))


def violations(folder: Path) -> list[str]:
    """Returns everything that is wrong with the snapshot in a folder; empty = nothing is."""
    try:
        expected = manifest.read_manifest(folder / MANIFEST_NAME)
    except (Corrupt, FormatTooNew) as error:
        return [str(error)]
    except OSError as error:
        return [f"{folder / MANIFEST_NAME}: {error.strerror}"]
    found = [*_of_files(folder, expected)]
    if expected.name != folder.name:
        found.append(f"{MANIFEST_NAME}: is of the snapshot {expected.name!r}")
    # A database whose bytes are not those that were written is not worth a second opinion.
    return found or [*_of_rows(folder / expected.database.name, expected)]


def listed(folder: Path) -> Listed:
    """Tells what can be told of a snapshot without reading more of it than its manifest."""
    before: Manifest | None = None
    while True:
        try:
            made = manifest.read_manifest(folder / MANIFEST_NAME)
        except StorageError as error:
            return Listed(folder.name, None, error)
        except OSError as error:
            return Listed(folder.name, None, Corrupt(folder / MANIFEST_NAME, str(error.strerror)))
        found = [found for file in made.files if (found := _of_size(folder, file))]
        if not found:
            return Listed(folder.name, made, None)
        if made == before:
            return Listed(folder.name, made, Corrupt(folder, found[0]))
        before = made  # A purge may have exchanged the files since: look again.


def _of_size(folder: Path, file: SnapshotFile) -> str:
    """What is wrong with a file that is missing or has another size; "" = nothing."""
    try:
        size_bytes = (folder / file.name).stat().st_size
    except OSError as error:
        return f"{file.name}: {error.strerror}"
    if size_bytes != file.size_bytes:
        return f"{file.name}: {size_bytes} bytes, expected {file.size_bytes}"
    return ""


def _of_files(folder: Path, expected: Manifest) -> Iterator[str]:
    for file in expected.files:
        if found := _of_size(folder, file):
            yield found
            continue
        try:
            sha256 = manifest.sha256_of(folder / file.name)
        except OSError as error:
            yield f"{file.name}: {error.strerror}"
            continue
        if sha256 != file.sha256:
            yield f"{file.name}: SHA-256 {sha256}, expected {file.sha256}"
    known = {MANIFEST_NAME, *(file.name for file in expected.files)}
    for name in sorted({path.name for path in folder.iterdir()} - known):
        yield f"{name}: is not in the manifest"


def _of_rows(database: Path, expected: Manifest) -> Iterator[str]:
    try:
        with reading(database) as reader:
            version, counts, revisions = facts(reader)
    except StorageError as error:
        yield str(error)
        return
    if version > migrate.FORMAT_VERSION:
        yield str(FormatTooNew(database, version, migrate.FORMAT_VERSION))
    if version != expected.format_version:
        yield f"{database.name}: format {version}, expected {expected.format_version}"
    if counts != expected.counts:
        yield f"{database.name}: rows {counts}, expected {expected.counts}"
    if revisions != expected.revisions:
        yield f"{database.name}: revisions {revisions}, expected {expected.revisions}"
