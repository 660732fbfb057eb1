"""One user's memories in this process.

Records, slots, identities and the search index, kept in step.

A partition is (tenant, user_id): the unit of isolation. It never reaches another partition, and
nothing here writes to disk. Records and books change on the event loop only; the index has its own
rules for concurrent readers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from sys import getsizeof

from recalld.index.judge import Judge
from recalld.index.partition import PartitionIndex
from recalld.server.book import Book
from recalld.server.standing import is_binding
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import Kind, MemoryRecord, Status

CURRENT = frozenset({Status.ACTIVE, Status.CONFLICTED})
TOPIC_KINDS = frozenset({Kind.EVENT, Kind.DOCUMENT})
RECORD_BYTES = 670
"""Of a record and its entries in the books, beside its texts; measured."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a keyed memory competes: within one partition, namespace and agent."""

    namespace: str
    agent_id: str
    key: str


def slot_of(record: MemoryRecord) -> Slot | None:
    """The slot of a record; None without a key, and for topics, whose entries add up."""
    if not record.key or record.kind in TOPIC_KINDS:
        return None
    return Slot(record.scope.namespace, record.scope.agent_id, record.key)


def identity_of(record: MemoryRecord) -> tuple[object, ...]:
    """What makes two memories the same thing said twice.

    Events and documents are occurrences: the same words at another time, or from another place, are
    another one.
    """
    occurrence: tuple[object, ...] = ()
    if record.kind in TOPIC_KINDS:
        occurrence = (record.event_time_us, record.source, record.metadata_json)
    where = record.scope
    return (
        record.content_hash,
        record.kind,
        record.key,
        record.value_json,
        where.namespace,
        where.agent_id,
        record.visibility,
        *occurrence,
    )


class Partition:
    """Records of one user by label, and the books over them."""

    def __init__(
        self, tenant: str, user_id: str, index: PartitionIndex, judge: Judge | None = None
    ) -> None:
        """Start empty; `judge` judges pairs of statements where the model has one."""
        self.judge = judge
        self.tenant = tenant
        self.user_id = user_id
        self.index = index
        self.lock = asyncio.Lock()
        self.records: dict[int, MemoryRecord] = {}
        self._labels: dict[str, int] = {}
        self._slots: Book[Slot] = Book()
        self._past: Book[Slot] = Book()
        # Of what says the same: whole identities would be a second copy of much of a record.
        self._sayings: Book[bytes] = Book()
        self._binding: set[int] = set()
        self._groups: Book[str] = Book()
        self._text_bytes = 0
        self.signs: dict[int, int] = {}
        """`Claim.signs` of texts that others were held against, by label."""

    def __len__(self) -> int:
        """Memories of any status."""
        return len(self.records)

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that it takes, estimated; costs about as much as a look-up."""
        return RECORD_BYTES * len(self.records) + self._text_bytes + self.index.size_bytes

    def get(self, memory_id: str) -> MemoryRecord:
        """A record by its public id.

        Raises:
            MemoryNotFound: there is none here; whether it exists elsewhere is never told.
        """
        record = self.find(memory_id)
        if record is None:
            raise MemoryNotFound("no such memory of this user")
        return record

    def label_of(self, memory_id: str) -> int | None:
        """Label of a public id, or None."""
        return self._labels.get(memory_id)

    def find(self, memory_id: str) -> MemoryRecord | None:
        """A record by its public id, or None."""
        label = self._labels.get(memory_id)
        return None if label is None else self.records[label]

    @property
    def binding(self) -> frozenset[int]:
        """Labels of the current records that bind whatever is asked."""
        return frozenset(self._binding)

    def in_slot(self, slot: Slot) -> list[MemoryRecord]:
        """Current records of a slot, oldest label first."""
        return [self.records[label] for label in self._slots.get(slot)]

    def past_of(self, slot: Slot) -> list[MemoryRecord]:
        """Superseded records of a slot."""
        return [self.records[label] for label in self._past.get(slot)]

    def in_group(self, group: str) -> list[MemoryRecord]:
        """Records of any status in a conflict group."""
        return [self.records[label] for label in self._groups.get(group)]

    def same_as(self, record: MemoryRecord) -> list[MemoryRecord]:
        """Current records that say the same thing: more than one only after an undo or an edit."""
        wanted = identity_of(record)
        found = (self.records[label] for label in self._sayings.get(record.content_hash))
        return [one for one in found if identity_of(one) == wanted]

    def current(self) -> Iterator[MemoryRecord]:
        """Records that hold now, in label order."""
        return (record for record in self.records.values() if record.status in CURRENT)

    def matching(self, test: Callable[[MemoryRecord], bool]) -> list[MemoryRecord]:
        """Records of any status that pass a test, in label order."""
        return [record for record in self.records.values() if test(record)]

    def put(self, records: Iterable[MemoryRecord]) -> None:
        """Take new or changed records into the books; the index is the caller's matter."""
        for record in records:
            old = self.records.get(record.label)
            if old is not None:
                self._forget_books(old)
            self.records[record.label] = record
            self._text_bytes += _text_bytes(record)
            self._labels[record.id] = record.label
            slot = slot_of(record)
            book = self._book(record)
            if slot is not None and book is not None:
                book.enter(slot, record.label)
            if record.conflict_group:
                self._groups.enter(record.conflict_group, record.label)
            if record.status in CURRENT:
                self._sayings.enter(record.content_hash, record.label)
                if is_binding(record):
                    self._binding.add(record.label)

    def drop(self, records: Iterable[MemoryRecord]) -> None:
        """Let go of records for good; the index is the caller's matter."""
        for record in records:
            held = self.records.pop(record.label)
            self._forget_books(held)
            del self._labels[held.id]

    def _book(self, record: MemoryRecord) -> Book[Slot] | None:
        """The book of slots that a record belongs to by its status."""
        if record.status in CURRENT:
            return self._slots
        return self._past if record.status == Status.SUPERSEDED else None

    def _forget_books(self, record: MemoryRecord) -> None:
        """Take a record's present entries out of the books."""
        self.signs.pop(record.label, None)
        self._text_bytes -= _text_bytes(record)
        slot = slot_of(record)
        book = self._book(record)
        if slot is not None and book is not None:
            book.strike(slot, record.label)
        if record.conflict_group:
            self._groups.strike(record.conflict_group, record.label)
        if record.status in CURRENT:
            self._sayings.strike(record.content_hash, record.label)
        self._binding.discard(record.label)


def _text_bytes(record: MemoryRecord) -> int:
    """Bytes of a record's own texts."""
    texts = (record.content, record.value_json, record.metadata_json, *record.relevant_when)
    return sum(map(getsizeof, filter(None, texts)))
