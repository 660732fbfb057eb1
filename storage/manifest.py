"""The manifest of a snapshot: what it holds, and how to tell that it still does.

One JSON object in the file `MANIFEST.json`, with a checksum over itself. Files are listed with
what they are for, so that a snapshot can hold more than the database, and a file that no manifest
lists does not belong to the snapshot. It never says anything of a memory's content.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from recalld.storage.background import stepped_back
from recalld.storage.errors import Corrupt, FormatTooNew

MANIFEST_NAME = "MANIFEST.json"
MANIFEST_VERSION = 1
MANIFEST_BYTES_MAX = 16 * 1024 * 1024
DATABASE_ROLE = "database"
READ_BYTES = 4 * 1024 * 1024
_CHECKSUM = "checksum"


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One file of a snapshot.

    Attributes:
        role: what it is for; `database`: the rows.
        name: in the folder of the snapshot.
        size_bytes: of the file.
        sha256: of its bytes, hex.
    """

    role: str
    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot is.

    Attributes:
        name: of the snapshot and of its folder.
        create_time_us: when it was taken, microseconds since the epoch.
        created_by: version of the program.
        duckdb_version: of the library that wrote the database.
        format_version: of the database.
        fingerprint: of the model that made the vectors.
        is_scheduled: made by the schedule, so that retention may remove it.
        revisions: newest revision of each tenant.
        counts: rows of each table.
        files: all of them; one is the database.
    """

    name: str
    create_time_us: int
    created_by: str
    duckdb_version: str
    format_version: int
    fingerprint: str
    is_scheduled: bool
    revisions: dict[str, int]
    counts: dict[str, int]
    files: tuple[SnapshotFile, ...]

    @property
    def database(self) -> SnapshotFile:
        """The file that holds the rows."""
        return next(file for file in self.files if file.role == DATABASE_ROLE)

    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files)

    def with_database(self, file: SnapshotFile) -> Manifest:
        """The manifest after another database file took the place of the present one."""
        others = tuple(held for held in self.files if held.role != DATABASE_ROLE)
        return replace(self, files=(file, *others))

    def to_bytes(self) -> bytes:
        """The text of the file, with its checksum."""
        body = {"manifest_version": MANIFEST_VERSION, **asdict(self)}
        whole = {**body, _CHECKSUM: _checksum(body)}
        return json.dumps(whole, sort_keys=True, ensure_ascii=False, indent=1).encode()


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest and checks it.

    Raises:
        Corrupt: it is missing, malformed, or not what was written.
        FormatTooNew: a newer program wrote it.
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            body = json.loads(file.read(MANIFEST_BYTES_MAX))
        checksum = body.pop(_CHECKSUM)
        version = body.pop("manifest_version")
        if version > MANIFEST_VERSION:
            raise FormatTooNew(path, version, MANIFEST_VERSION)
        if checksum != _checksum({"manifest_version": version, **body}):
            raise Corrupt(path, "its checksum is not that of its content")
        files = tuple(SnapshotFile(**one) for one in body.pop("files"))
        manifest = Manifest(**body, files=files)
        assert manifest.database
    except FileNotFoundError as error:
        raise Corrupt(path, "missing") from error
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration) as error:
        raise Corrupt(path, "is no manifest") from error
    return manifest


def describe_file(path: Path, role: str) -> SnapshotFile:
    """Size and checksum of a file, read whole."""
    return SnapshotFile(role, path.name, path.stat().st_size, sha256_of(path))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, hex; calls come first."""
    return stepped_back(partial(_sha256_of, path))


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _checksum(body: dict[str, object]) -> str:
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
