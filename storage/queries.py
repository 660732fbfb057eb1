"""The read side of a SQL store: statements and how their results become plain types.

Knows no database library: the backend gives a `Reader`. It never writes.

Invariants: every statement is fully fetched before the next; whatever a caller may have written
only ever travels as a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recalld.storage import rows
from recalld.storage.details import FIXED_BYTES
from recalld.storage.errors import Corrupt
from recalld.storage.requests import RecentRequests, request_size_bytes
from recalld.storage.sizes import Partition, Tally
from recalld.storage.store import StoredMemory, StoredRequest

LOAD_CHUNK_ROW_COUNT = 8_192
CHECK_LOOKUP_COUNT = 100
# A look-up by key costs as much as a scan over so many rows; DuckDB makes up to 2,048 at once.
SCATTERED_SPAN_MIN, LOOKUP_COUNT_MAX = 5_000, 1_000
LABEL_FLOOR_KEY = "label_floor"
"""Row of the table meta: labels up to this number were given out, also if no row has them."""

REVISIONS = (
    "SELECT tenant, max(revision) FROM (SELECT tenant, revision FROM tenants UNION ALL "
    "SELECT tenant, revision FROM memories) GROUP BY tenant"
)
"""Each tenant's revision, in any format: the newest of its own row and of all its memories."""

_MEMORY_NAMES = rows.names(rows.COLUMNS)
_REQUEST_NAMES = rows.names(rows.REQUEST_COLUMNS)


class Reader(Protocol):
    """Runs one query on a connection of its own and fetches all of it.

    Both raise Corrupt when the data cannot be read, StoreClosed after closing.
    """

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Returns rows of Python values."""
        ...

    def arrays(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """Returns columns of numbers by name."""
        ...

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, list[Any]]:
        """Returns columns of Python values by name; the faster way for many rows."""
        ...


class Queries:
    """Reads of memories, tenants and requests.

    Thread safety: as that of the reader; it holds no state of its own.
    """

    def __init__(self, reader: Reader, path: Path) -> None:
        """Args: reader: runs the SQL; path: the file, for messages."""
        self._reader = reader
        self._path = path

    def revisions(self) -> dict[str, int]:
        """Returns each tenant's revision."""
        return dict(self._reader.rows(REVISIONS))

    def label_max(self) -> int:
        """Returns the highest label that a row has or a purged one had; 0 = there was none."""
        sql = (
            "SELECT greatest((SELECT max(label) FROM memories), "
            "(SELECT max(value::BIGINT) FROM meta WHERE key = ?))"
        )
        return self._reader.rows(sql, (LABEL_FLOOR_KEY,))[0][0] or 0

    def counts(self) -> tuple[int, int]:
        """Returns how many memories and how many requests there are."""
        sql = "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM requests)"
        row = self._reader.rows(sql)[0]
        return row[0], row[1]

    def partitions(self) -> list[Partition]:
        """Returns every partition that has rows, ordered."""
        owners = (
            "SELECT tenant, user_id, max(update_time_us) AS change_time_us FROM memories "
            "GROUP BY tenant, user_id"
        )
        found = self._reader.rows(f"{owners} ORDER BY tenant, user_id")
        # As numbers, since so many names would be as many objects.
        held = self._reader.arrays(
            "SELECT label, number FROM memories JOIN (SELECT tenant, user_id, row_number() OVER "
            f"(ORDER BY tenant, user_id) AS number FROM ({owners})) USING (tenant, user_id)"
        )
        labels, numbers = held["label"], held["number"]
        ordered = labels[np.lexsort((labels, numbers))]
        ends = np.cumsum(np.bincount(numbers, minlength=len(found) + 1)).tolist()
        return [
            Partition(tenant, user_id, ordered[start:end], change_time_us)
            for (tenant, user_id, change_time_us), start, end in zip(
                found, ends[:-1], ends[1:], strict=True
            )
        ]

    def tally(self, tenant: str, user_id: str) -> list[Tally]:
        """Counts rows of a tenant, or of one of its users, by status and kind."""
        sql = (
            "SELECT status, kind, count(*) FROM memories WHERE tenant = $1 "
            "AND ($2 = '' OR user_id = $2) GROUP BY ALL ORDER BY ALL"
        )
        return [Tally(*row) for row in self._reader.rows(sql, (tenant, user_id))]

    def load(self) -> Iterator[StoredMemory]:
        """Yields every row in label order, a chunk of labels at a time."""
        return self._chunked("true", ())

    def load_partition(
        self, tenant: str, user_id: str, labels: NDArray[np.int64] | None
    ) -> Iterator[StoredMemory]:
        """Yields one partition's rows in label order; their labels are looked up if not known."""
        found = self._chunked("tenant = ? AND user_id = ?", (tenant, user_id), labels)
        return (row for row in found if _is_of(row, tenant, user_id))

    def find_request(self, tenant: str, request_id: str) -> StoredRequest | None:
        """Returns one request by key."""
        sql = f"SELECT {_REQUEST_NAMES} FROM requests WHERE tenant = ? AND request_id = ?"
        found = self._reader.rows(sql, (tenant, request_id))
        return StoredRequest(*found[0]) if found else None

    def newest_request_us(self) -> int:
        """Returns the time of the newest request; 0 = there is none."""
        return self._reader.rows("SELECT max(create_time_us) FROM requests")[0][0] or 0

    def requests(self, since_us: int | None = None) -> list[StoredRequest]:
        """Returns requests created at `since_us` or later (None: all), oldest first."""
        sql = (
            f"SELECT {_REQUEST_NAMES} FROM requests "
            "WHERE create_time_us >= coalesce(?, create_time_us) ORDER BY create_time_us"
        )
        return [StoredRequest(*row) for row in self._reader.rows(sql, (since_us,))]

    def fill(self, recent: RecentRequests) -> None:
        """Puts the newest requests into `recent`, reading no more of them than it can hold."""
        columns = self._reader.columns(
            "SELECT create_time_us, octet_length(response) AS response_bytes, "
            "octet_length(body_hash) AS hash_bytes FROM requests ORDER BY create_time_us DESC"
        )
        times = columns["create_time_us"]
        sizes = map(request_size_bytes, columns["response_bytes"], columns["hash_bytes"])
        kept_bytes = np.cumsum(np.fromiter(sizes, np.int64, len(times)))
        kept = min(int(np.searchsorted(kept_bytes, recent.bytes_max, "right")), recent.count_max)
        if kept:
            recent.add(self.requests(times[kept - 1]))
        if kept < len(times):
            recent.complete = False

    def says(self, text: str, vector: bytes) -> bool:
        """Tells whether any row holds this text in one of its own, or this vector."""
        texts = ("content", "key", "value_json", "metadata_json", "relevant_when_json")
        tests = " OR ".join(f"contains({name}, $1)" for name in texts)
        sql = f"SELECT 1 FROM memories WHERE embedding = $2 OR {tests} LIMIT 1"
        return bool(self._reader.rows(sql, (text, vector)))

    def check_index(self) -> list[str]:
        """Compares the key index with a scan, and the columns with their encoding."""
        lines = []
        for rule, condition in (
            ("vector is not whole float32 values", "octet_length(embedding) % 4 <> 0"),
            ("vectors of cues are not whole float32", "octet_length(cue_embedding) % 4 <> 0"),
            ("details are cut short", f"octet_length(details) < {FIXED_BYTES}"),
            (
                "cues are not JSON",
                "relevant_when_json <> '' AND NOT json_valid(relevant_when_json)",
            ),
        ):
            sql = f"SELECT label FROM memories WHERE {condition} ORDER BY label"
            found = [label for (label,) in self._reader.rows(sql)]
            if found:
                lines.append(f"{rule}: {len(found)} (first label {found[0]})")
        labels = self._reader.columns("SELECT label FROM memories ORDER BY label")["label"]
        if len(set(labels)) != len(labels):
            lines.append(f"label is used twice: {len(labels) - len(set(labels))}")
        step = max(1, len(labels) // CHECK_LOOKUP_COUNT)
        for label in labels[::step]:
            sql = "SELECT count(*) FROM memories WHERE label = ?"
            if self._reader.rows(sql, (label,)) != [(1,)]:
                lines.append(f"label {label}: a scan finds it, its key does not")
        return lines

    def _chunked(
        self,
        condition: str,
        parameters: Sequence[object],
        labels: NDArray[np.int64] | None = None,
    ) -> Iterator[StoredMemory]:
        """Yields rows in label order, reading a chunk of labels at a time.

        Those with known labels may be yielded though they do not meet the condition.
        """
        # Beside another condition DuckDB does not look up by key.
        beside = (f"{condition} AND ", parameters) if labels is None else ("", ())
        if labels is None:
            sql = f"SELECT label FROM memories WHERE {condition} ORDER BY label"
            labels = self._reader.arrays(sql, parameters)["label"]
        start = 0
        while start < len(labels):
            chunk = labels[start : start + LOAD_CHUNK_ROW_COUNT].tolist()
            if chunk[-1] - chunk[0] > SCATTERED_SPAN_MIN * len(chunk):
                chunk = chunk[:LOOKUP_COUNT_MAX]
                # As literals, since it does not look up parameters either.
                which = f"label IN ({', '.join(map(str, chunk))})"
                yield from self._memories(f"{beside[0]}{which}", beside[1])
            else:
                # The span of labels spares all blocks beside it.
                which = f"{condition} AND label BETWEEN ? AND ?"
                yield from self._memories(which, (*parameters, chunk[0], chunk[-1]))
            start += len(chunk)

    def _memories(self, condition: str, parameters: Sequence[object]) -> list[StoredMemory]:
        """Returns rows in label order."""
        columns = self._reader.columns(
            f"SELECT {_MEMORY_NAMES} FROM memories WHERE {condition}", parameters
        )
        try:
            # Sorting here: rows mostly are in order, and DuckDB would move all of their values.
            return sorted(rows.memories_of(columns), key=lambda memory: memory.record.label)
        except ValueError as error:
            raise Corrupt(self._path, f"memories where {condition}: {error}") from error


def _is_of(memory: StoredMemory, tenant: str, user_id: str) -> bool:
    scope = memory.record.scope
    return scope.tenant == tenant and scope.user_id == user_id
