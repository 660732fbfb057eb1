"""Columns: everything about a partition's rows but their words and vectors.

An instance is an immutable view; a write returns the next one. Rows are appended beyond what older
views look at; a change or removal copies the small blocks it touches. Strings and metadata are
kept once each, in append-only dictionaries, and rows hold their numbers.

Invariants: one writer at a time, always on the newest view; number 0 of every dictionary is "".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.dictionary import Dictionary, canonical
from recalld.index.growth import grown
from recalld.scoring.masks import EVENT_TIME, SMALL_COUNT, TIME_COUNT, odd_into
from recalld.scoring.rank import Facts

STRING_FIELDS = (
    "key",
    "agent_id",
    "session_id",
    "namespace",
    "source_session_id",
    "source_uri",
    "language",
)
# Rows of the block of links.
LINK_COUNT = 2
IDENTITY, HEIR = range(LINK_COUNT)
KEY, AGENT, SESSION, NAMESPACE, SOURCE_SESSION, SOURCE_URI, LANGUAGE = range(len(STRING_FIELDS))
ROW_BYTES = 230
"""Of a row: its columns, and its entry in `row_of`."""
SMALL_FIELDS = ("kind", "status", "importance", "stated_by", "visibility", "doubt")
_TIMES = (
    "event_time_us",
    "create_time_us",
    "update_time_us",
    "anchor_time_us",
    "valid_from_us",
    "valid_to_us",
    "expire_time_us",
    "superseded_from_us",
    "superseded_time_us",
    "named_from_us",
    "named_to_us",
    "past_time_us",
)


_small, _times, _strings = (
    attrgetter(*SMALL_FIELDS),
    attrgetter(*_TIMES),
    attrgetter(*STRING_FIELDS),
)


# Not frozen, though nobody changes one: that would triple the time to make the many rows of a load.
@dataclass(slots=True)
class IndexRow:
    """What the index needs to know of one memory.

    Attributes:
        label: unique, in [1, 2^63).
        text: content; only its words are kept.
        kind..visibility: enum numbers, see recalld.scoring.params.
        confidence: in [0, 1].
        *_us: microseconds since 1970, 0 = not set. `anchor_time_us` is the newest of event,
            confirmation and use; `superseded_from_us` is from when on the successor holds (valid
            time), `superseded_time_us` when that became known (record time, not 0 if superseded);
            `named_*_us` and `past_time_us` are those of recalld.index.memory_times.
        doubt: number of recalld.scoring.params.Doubt.
        identity, heir: numbers that stand for this memory and for the one that replaced it or
            weighs more; 0 = none.
        metadata: JSON object.
    """

    label: int
    text: str
    kind: int
    key: str = ""
    status: int = 1
    importance: int = 2
    stated_by: int = 1
    visibility: int = 1
    confidence: float = 1.0
    event_time_us: int = 0
    create_time_us: int = 0
    update_time_us: int = 0
    anchor_time_us: int = 0
    valid_from_us: int = 0
    valid_to_us: int = 0
    expire_time_us: int = 0
    superseded_from_us: int = 0
    superseded_time_us: int = 0
    named_from_us: int = 0
    named_to_us: int = 0
    past_time_us: int = 0
    doubt: int = 0
    identity: int = 0
    heir: int = 0
    agent_id: str = ""
    session_id: str = ""
    namespace: str = ""
    source_session_id: str = ""
    source_uri: str = ""
    language: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def small(self) -> tuple[int, ...]:
        """Return the row of the uint8 block, in the order of recalld.scoring.masks."""
        return _small(self)

    def times(self) -> tuple[int, ...]:
        """Return the row of the time block, in the order of recalld.scoring.masks."""
        return _times(self)

    def strings(self) -> tuple[str, ...]:
        """Return the strings in the order of STRING_FIELDS."""
        return _strings(self)


@dataclass(frozen=True)
class Columns:
    """Immutable view of rows 0..count-1.

    Attributes:
        count: rows, removed ones included; live_count: rows not removed.
        labels: int64[capacity]; alive: uint8[capacity]; confidence: float32[capacity].
        small: uint8[SMALL_COUNT, capacity]; times: int64[TIME_COUNT, capacity].
        links: int64[LINK_COUNT, capacity].
        strings: int32[len(STRING_FIELDS), capacity], numbers in `dictionaries`.
        metadata: int32[capacity], numbers in `objects`.
        row_of: label -> row, of live rows and of rows newer than this view.
    """

    count: int
    live_count: int
    labels: NDArray[np.int64]
    alive: NDArray[np.uint8]
    confidence: NDArray[np.float32]
    small: NDArray[np.uint8]
    times: NDArray[np.int64]
    links: NDArray[np.int64]
    strings: NDArray[np.int32]
    metadata: NDArray[np.int32]
    dictionaries: tuple[Dictionary, ...]
    objects: Dictionary
    row_of: dict[int, int]

    @staticmethod
    def empty() -> Columns:
        """Return columns without rows."""
        return Columns(
            0,
            0,
            np.zeros(0, np.int64),
            np.zeros(0, np.uint8),
            np.zeros(0, np.float32),
            np.zeros((SMALL_COUNT, 0), np.uint8),
            np.zeros((TIME_COUNT, 0), np.int64),
            np.zeros((LINK_COUNT, 0), np.int64),
            np.zeros((len(STRING_FIELDS), 0), np.int32),
            np.zeros(0, np.int32),
            tuple(Dictionary() for _ in STRING_FIELDS),
            Dictionary({}),
            {},
        )

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the rows take, estimated."""
        return ROW_BYTES * self.count

    @cached_property
    def facts(self) -> Facts:
        """What the ranking looks at whatever is asked."""
        return self.labels, self.small, self.times, self.confidence

    @cached_property
    def odd(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Which rows not every reader sees now: uint8[count], 1 for these; and their numbers."""
        odd = np.empty(self.count, np.uint8)
        odd_into(self.alive, self.small, self.times, odd)
        return odd, np.flatnonzero(odd)

    @cached_property
    def event_places(self) -> NDArray[np.float64]:
        """Share of the rows whose event is no later than a row's, float64[count], in (0, 1]."""
        event = self.times[EVENT_TIME, : self.count]
        return np.searchsorted(np.sort(event), event, side="right") / max(1, self.count)

    def row(self, label: int) -> int:
        """Return the live row of a label in this view, or -1."""
        row = self.row_of.get(label, -1)
        return row if 0 <= row < self.count and self.alive[row] else -1

    def appended(self, rows: Sequence[IndexRow]) -> Columns:
        """Return the next view, with `rows` behind the present ones."""
        end = self.count + len(rows)
        view = replace(
            self,
            count=end,
            live_count=self.live_count + len(rows),
            labels=grown(self.labels, self.count, end),
            alive=grown(self.alive, self.count, end),
            confidence=grown(self.confidence, self.count, end),
            small=grown(self.small, self.count, end, axis=1),
            times=grown(self.times, self.count, end, axis=1),
            links=grown(self.links, self.count, end, axis=1),
            strings=grown(self.strings, self.count, end, axis=1),
            metadata=grown(self.metadata, self.count, end),
        )
        labels = [row.label for row in rows]
        view.labels[self.count : end] = labels
        view.alive[self.count : end] = 1
        view._write(np.arange(self.count, end), rows)
        view.row_of.update(zip(labels, range(self.count, end), strict=True))
        return view

    def updated(self, rows: Sequence[IndexRow]) -> Columns:
        """Return the next view, in which the rows with these labels (live) have new values."""
        view = replace(
            self,
            confidence=self.confidence.copy(),
            small=self.small.copy(),
            times=self.times.copy(),
            links=self.links.copy(),
            strings=self.strings.copy(),
            metadata=self.metadata.copy(),
        )
        view._write(np.array([self.row_of[row.label] for row in rows]), rows)
        return view

    def removed(self, rows: Sequence[int]) -> Columns:
        """Return the next view, without `rows` (live, distinct)."""
        view = replace(self, alive=self.alive.copy(), live_count=self.live_count - len(rows))
        view.alive[list(rows)] = 0
        for row in rows:
            self.row_of.pop(int(self.labels[row]), None)
        return view

    def compacted(self, rows: NDArray[np.int64]) -> Columns:
        """Return a view of its own storage that holds `rows` only, in their order."""
        labels = self.labels[rows].copy()
        dictionaries = tuple(Dictionary() for _ in STRING_FIELDS)
        strings = np.zeros((len(STRING_FIELDS), len(rows)), np.int32)
        for f, (old, new) in enumerate(zip(self.dictionaries, dictionaries, strict=True)):
            strings[f] = [new.enter(old.values[number]) for number in self.strings[f, rows]]
        objects = Dictionary({})
        values = [self.objects.values[number] for number in self.metadata[rows]]
        metadata = [objects.enter(canonical(value), value) for value in values]
        return Columns(
            len(rows),
            len(rows),
            labels,
            np.ones(len(rows), np.uint8),
            self.confidence[rows].copy(),
            np.ascontiguousarray(self.small[:, rows]),
            np.ascontiguousarray(self.times[:, rows]),
            np.ascontiguousarray(self.links[:, rows]),
            strings,
            np.array(metadata, dtype=np.int32),
            dictionaries,
            objects,
            {int(label): row for row, label in enumerate(labels)},
        )

    def _write(self, places: NDArray[np.int64], rows: Sequence[IndexRow]) -> None:
        """Fill rows; only called on rows that no older view looks at."""
        if not rows:
            return
        self.small[:, places] = np.array(list(map(_small, rows)), np.uint8).T
        self.times[:, places] = np.array(list(map(_times, rows)), np.int64).T
        self.links[:, places] = np.array([(row.identity, row.heir) for row in rows], np.int64).T
        self.confidence[places] = [row.confidence for row in rows]
        texts = zip(*map(_strings, rows), strict=True)
        for numbers, dictionary, values in zip(self.strings, self.dictionaries, texts, strict=True):
            numbers[places] = [dictionary.enter(value) for value in values]
        self.metadata[places] = [
            self.objects.enter(canonical(row.metadata), row.metadata) for row in rows
        ]
