"""A store with memories that can be looked for in files, for the tests of snapshots and purges."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.fsio import Files
from recalld.storage.purge import PurgeOrder
from recalld.storage.record import MemoryRecord
from recalld.storage.snapshots import SnapshotFolder, Stamp
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage.samples import memory, request

DIM = 64
TEXTLESS = frozenset({"textless"})
STAMP = Stamp(50, "model-1")


def options(files: Files | None = None) -> DuckDBOptions:
    return DuckDBOptions(1, "test", files=files or Files())


def open_store(data_dir: Path, files: Files | None = None) -> DuckDBStore:
    return DuckDBStore(data_dir, options(files))


def open_folder(data_dir: Path, files: Files | None = None) -> SnapshotFolder:
    return SnapshotFolder(data_dir, options(files))


def row(label: int, revision: int, user: str = "ann", **fields: object) -> StoredMemory:
    """A memory whose text, vector, cue and vector of the cue are its own."""
    text = f"secret {label * 7919} of {user} that is written nowhere else"
    vector, cue = np.random.default_rng(label).standard_normal((2, DIM)).astype(np.float32)
    values: dict[str, object] = {
        "content": text,
        "content_hash": hashlib.blake2b(text.encode(), digest_size=16).digest(),
        "create_time_us": 10,
        "vector": vector,
        "relevant_when": (f"hidden occasion {label * 7919} of {user}",),
        "cues": cue[None] / np.linalg.norm(cue),
        "user_id": user,
    }
    return memory(label, revision, **(values | fields))


def fill(store: DuckDBStore, count: int = 40) -> list[StoredMemory]:
    """Memories of ann (odd labels) and bob (even ones), and an answer that tells ann's first."""
    rows = [row(n, 1, "ann" if n % 2 else "bob") for n in range(1, count + 1)]
    told = rows[0].record.content.encode() + b"\n " + rows[0].record.id.encode()
    store.write(WriteBatch("acme", 1, tuple(rows), request("r", response=told)))
    store.checkpoint()
    return rows


def order(records: Sequence[MemoryRecord], *, whole: bool = False) -> PurgeOrder:
    """A purge at time 100."""
    return PurgeOrder("f" * 32, records[0].scope.user_id, 100, tuple(records), whole, TEXTLESS)


def of(rows: Sequence[StoredMemory], user: str) -> list[StoredMemory]:
    """Rows of a user."""
    return [one for one in rows if one.record.scope.user_id == user]


def int8(vector: np.ndarray) -> bytes:
    """The vector in 8 bits, as an index codes it."""
    return np.round(vector * (127 / np.abs(vector).max())).astype(np.int8).tobytes()


def found_in(data_dir: Path, rows: Sequence[StoredMemory]) -> list[str]:
    """Files in which a text or a vector (float32, 8 bits) of any of the rows stands."""
    found = []
    for path in sorted(data_dir.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            for one in rows:
                assert one.vector is not None
                assert one.cues is not None
                texts = (one.record.content, *one.record.relevant_when)
                wanted = [text.encode() for text in texts]
                for vector in (one.vector, *one.cues):
                    wanted += [vector.tobytes(), int8(vector)]
                if any(part in data for part in wanted):
                    found.append(str(path.relative_to(data_dir)))
                    break
    return found


def contents(store: DuckDBStore) -> list[str]:
    """Texts of all memories, in order of their labels."""
    return [stored.record.content for stored in store.load()]
