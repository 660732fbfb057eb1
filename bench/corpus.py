"""Memories for benches: clustered vectors and plain texts, written straight into a data directory.

The same seed gives the same rows on any machine, so that an exact answer can be computed beside the
server's. Going past the server makes large stores affordable; what writing through it costs is
another bench's question.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.bench.report import progress
from recalld.client.testing import RunningServer, running_server
from recalld.index.hash_embedder import HashEmbedder
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.record import Kind, MemoryRecord, Scope
from recalld.storage.store import BATCH_ROW_COUNT_MAX, StoredMemory, WriteBatch

DIM = 384  # as wide as the default model's
CLUSTERS = 200
# Deviation of a coordinate from its cluster's centre: neighbours at cosines of 0.3 and unrelated
# ones at 0 +- 0.05. Much tighter clusters are scored 1.0 to the last bit, and are then told apart
# by their age alone.
CLUSTER_SPREAD = 1.5
TENANT = "default"
START_US = 1_760_000_000_000_000
GROUPS = 100  # namespaces "d/dd" by the last two digits of a row's number: 1 % each, 10 % by "d"
CACHED_USERS = 8


def unit_vectors(count: int, seed: int) -> NDArray[np.float32]:
    """Make clustered unit vectors float32[count, DIM]."""
    random = np.random.default_rng(seed)
    # The clusters are the same for every seed, so that queries have neighbours.
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, DIM), dtype=np.float32)
    vectors = centres[random.integers(0, CLUSTERS, count)]
    vectors = vectors + CLUSTER_SPREAD * random.standard_normal((count, DIM), dtype=np.float32)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@lru_cache(CACHED_USERS)
def vectors_of(user_id: str, count: int) -> NDArray[np.float32]:
    """The vectors of a user's memories, float32[count, DIM], by number."""
    return unit_vectors(count, int.from_bytes(user_id.encode(), "little"))


def content(number: int) -> str:
    """Text of a user's n-th memory, about 55 characters."""
    return (
        f"Note {number}: shelf {number % 97} of room {number % 13} holds item "
        f"{number * 7919 % 10_007}"
    )


def namespace(number: int) -> str:
    """Namespace of a user's n-th memory."""
    group = number % GROUPS
    return f"{group % 10}/{group}"


def number_of(memory_content: str) -> int:
    """The number of the memory with this text."""
    return int(memory_content.split(":", 1)[0].removeprefix("Note "))


def nearest(
    vectors: NDArray[np.float32], queries: NDArray[np.float32], k: int
) -> NDArray[np.int64]:
    """Numbers int64[q, k] of the nearest of float32[n, DIM] to each of float32[q, DIM], exactly."""
    similarities = queries @ vectors.T
    return np.argsort(-similarities, axis=1, kind="stable")[:, :k]


@dataclass(frozen=True)
class Size:
    """What rows take at least: their vectors and their text."""

    rows: int
    vector_bytes: int
    text_bytes: int

    @property
    def bytes(self) -> int:
        """Both together."""
        return self.vector_bytes + self.text_bytes


def fill(data_dir: Path, users: Mapping[str, int]) -> Size:
    """Stores so many memories of each user, as the server would have.

    Args:
        data_dir: of a server that does not run; made when it is missing.
        users: memories by user.
    """
    store = DuckDBStore(data_dir, DuckDBOptions(START_US, "bench"))
    fingerprint = HashEmbedder(DIM).fingerprint
    total, text_bytes, label, revision = sum(users.values()), 0, 0, 0
    with progress("store", total) as step:
        batch: list[StoredMemory] = []
        for user_id, count in users.items():
            vectors = vectors_of(user_id, count)
            for number in range(count):
                label += 1
                record = _record(label, user_id, number, revision + 1)
                text_bytes += len(record.content)
                batch.append(StoredMemory(record, vectors[number], fingerprint))
                if len(batch) == BATCH_ROW_COUNT_MAX or label == total:
                    revision += 1
                    store.write(WriteBatch(TENANT, revision, tuple(batch)))
                    step(len(batch))
                    batch.clear()
    store.close()
    return Size(total, total * DIM * 4, text_bytes)


def _record(label: int, user_id: str, number: int, revision: int) -> MemoryRecord:
    return MemoryRecord(
        label=label,
        id=f"{label:032x}",
        scope=Scope(TENANT, user_id, namespace=namespace(number)),
        kind=Kind.FACT,
        key=f"slot.{number}",
        content=content(number),
        event_time_us=START_US,
        create_time_us=START_US,
        update_time_us=START_US,
        content_hash=label.to_bytes(16, "big"),
        revision=revision,
    )


@contextmanager
def serving(data_dir: Path | None = None) -> Iterator[RunningServer]:
    """A server on such a directory, or on an empty one, with the embedder that `fill` names."""
    environment = {"RECALLD_EMBEDDER__HASH_DIM": str(DIM)}
    with running_server(data_dir=data_dir, env=environment) as server:
        yield server
