"""A write being planned.

What one call will change in one partition, invisible until it is committed.

Planning is pure and runs on the event loop, a long plan in pieces, under the partition's lock:
reads see the partition as it is, overlaid with what the same call has decided so far. Nothing is
changed when planning fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.server.claims import Claim
from recalld.server.partition import CURRENT, Partition, Slot, identity_of, slot_of
from recalld.server.pieces import Pieces
from recalld.storage.purge import PurgeOrder
from recalld.storage.record import MemoryRecord, Status

SUPERSEDED = frozenset({Status.SUPERSEDED})


class ModelChanged(Exception):
    """Raised when a text was embedded by another model than the partition has vectors of."""


class Change:
    """The pending rows of one call.

    Attributes:
        revision: the tenant revision that the rows will carry.
        rows: changed and new records by label, in the order of the first change.
        vectors: vectors of new rows, and of rows whose text changed, by label.
        cues: vectors of the cues of rows whose cues are new or changed, by label; see
            `recalld.index.cues.CueVectors`.
        order: rows that go for good, or None.
        read_signs: `Claim.signs` of planned rows whose texts were read, by label.
    """

    def __init__(
        self, partition: Partition, revision: int, next_label: Callable[[], int], now_us: int
    ) -> None:
        """Start with nothing changed."""
        self.partition = partition
        self.revision = revision
        self.now_us = now_us
        self.rows: dict[int, MemoryRecord] = {}
        self.vectors: dict[int, NDArray[np.float32]] = {}
        self._stacked = np.empty((0, partition.index.dim), np.float32)
        self.cues: dict[int, NDArray[np.float32]] = {}
        self.order: PurgeOrder | None = None
        self.read_signs: dict[int, int] = {}
        self._next_label = next_label
        self._claims: dict[str, Claim] = {}
        # Labels of planned rows by where they are looked for; a row may have left since.
        self._by_slot: dict[Slot | None, set[int]] = {}
        self._by_identity: dict[int, set[int]] = {}

    def require_model(self, fingerprint: str) -> None:
        """Refuse vectors of another model than the partition's.

        Raises:
            ModelChanged: the partition was switched since the texts were embedded.
        """
        if self.partition.index.fingerprint != fingerprint:
            raise ModelChanged

    def add(self, record: MemoryRecord, vector: NDArray[np.float32]) -> MemoryRecord:
        """Plan a new row; it gets its label and id here."""
        made = replace(
            record, label=self._next_label(), id=uuid.uuid4().hex, revision=self.revision
        )
        self._plan(made)
        self.put_vector(made.label, vector)
        return made

    def put_vector(self, label: int, vector: NDArray[np.float32]) -> None:
        """Plan the vector of a new row, or of one whose text changed: float32[width]."""
        known = len(self.vectors)
        place = list(self.vectors).index(label) if label in self.vectors else known
        if place == len(self._stacked):
            # Twice as many: each of a long batch is compared with all before it.
            more = np.empty((known + 1, self._stacked.shape[1]), np.float32)
            self._stacked = np.concatenate([self._stacked, more])
        self._stacked[place] = vector[: self._stacked.shape[1]]
        self.vectors[label] = vector

    def cosines(self, vector: NDArray[np.float32]) -> dict[int, float]:
        """Cosine of a vector of length 1 and each planned one, by label."""
        stacked = self._stacked[: len(self.vectors)]
        products = (stacked @ vector[: stacked.shape[1]]).tolist()
        return dict(zip(self.vectors, products, strict=True))

    def edit(self, record: MemoryRecord, **fields: Any) -> MemoryRecord:
        """Plan a change of an existing (or just planned) row."""
        present = self.rows.get(record.label, record)
        changed = replace(present, update_time_us=self.now_us, revision=self.revision, **fields)
        if changed.content != present.content:
            self.read_signs.pop(record.label, None)
        self._plan(changed)
        return changed

    def _plan(self, record: MemoryRecord) -> None:
        self.rows[record.label] = record
        self._by_slot.setdefault(slot_of(record), set()).add(record.label)
        self._by_identity.setdefault(hash(identity_of(record)), set()).add(record.label)

    def purge(self, order: PurgeOrder) -> None:
        """Plan that rows go for good; what was planned for themselves falls away."""
        for record in order.records:
            self.rows.pop(record.label, None)
        self.order = order

    def in_slot(self, slot: Slot) -> list[MemoryRecord]:
        """Current records of a slot, this call's own included."""
        return self._overlaid(slot, self.partition.in_slot(slot), CURRENT)

    def past_of(self, slot: Slot) -> list[MemoryRecord]:
        """Superseded records of a slot, this call's own included."""
        return self._overlaid(slot, self.partition.past_of(slot), SUPERSEDED)

    def _overlaid(
        self, slot: Slot, stored: list[MemoryRecord], statuses: frozenset[Status]
    ) -> list[MemoryRecord]:
        """Stored records as this call has changed them, then its other ones, of some statuses."""
        known = {record.label for record in stored}
        seen = [self.rows.get(record.label, record) for record in stored]
        planned = self._planned(self._by_slot.get(slot, ()))
        seen += [record for record in planned if record.label not in known]
        return [r for r in seen if r.status in statuses and slot_of(r) == slot]

    def _planned(self, labels: Iterable[int]) -> list[MemoryRecord]:
        """Planned rows by label, those that fell away left out, in the order of their labels."""
        return [self.rows[label] for label in sorted(labels) if label in self.rows]

    def find(self, memory_id: str) -> MemoryRecord | None:
        """A record by its public id, as this call has changed it, or None."""
        stored = self.partition.find(memory_id)
        if stored is not None:
            return self.rows.get(stored.label, stored)
        return next((record for record in self.rows.values() if record.id == memory_id), None)

    def in_group(self, group: str) -> list[MemoryRecord]:
        """Records of a conflict group, as this call has changed them, in label order."""
        seen = {record.label: record for record in self.partition.in_group(group)} | self.rows
        return [seen[label] for label in sorted(seen) if seen[label].conflict_group == group]

    def matching(self, test: Callable[[MemoryRecord], bool]) -> list[MemoryRecord]:
        """Records of any status that pass a test, as this call has changed them, in label order."""
        stored = self.partition.records
        seen = [self.rows.get(label, record) for label, record in stored.items()]
        seen += [record for label, record in self.rows.items() if label not in stored]
        return [record for record in seen if test(record)]

    async def replaced_by(self, ids: Container[str], pieces: Pieces) -> list[MemoryRecord]:
        """Records for which one of `ids` stands today, as this call has changed them.

        Args:
            ids: of memories.
            pieces: of the call: a user may have very many records.
        """
        stored = self.partition.records
        found: list[MemoryRecord] = []
        async for some in pieces.slices(list(stored.values())):
            seen = [self.rows.get(record.label, record) for record in some]
            found += [record for record in seen if record.superseded_by in ids]
        added = [record for label, record in self.rows.items() if label not in stored]
        return found + [record for record in added if record.superseded_by in ids]

    def vector_of(self, label: int) -> NDArray[np.float32]:
        """Vector of a row, all parts side by side; a copy of the stored one unless planned anew."""
        return self.vectors_of([label])[label]

    def vectors_of(self, labels: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Vectors of rows by label; see `vector_of`."""
        wanted = set(labels)
        stored = sorted(wanted - self.vectors.keys())
        found = dict(zip(stored, self.partition.index.vectors_of(stored), strict=True))
        return found | {label: self.vectors[label] for label in wanted - found.keys()}

    def claim(self, record: MemoryRecord) -> Claim:
        """What a record's text claims; each text is read once a call."""
        claim = self._claims.get(record.content)
        if claim is None:
            claim = self._claims[record.content] = Claim(record.content)
        return claim

    def signs(self, record: MemoryRecord) -> int:
        """`Claim.signs` of a record's text; those of stored ones are kept."""
        kept = self.read_signs if record.label in self.rows else self.partition.signs
        found = kept.get(record.label)
        if found is None:
            found = kept[record.label] = self.claim(record).signs
        return found

    def same_as(self, record: MemoryRecord) -> MemoryRecord | None:
        """The current record that says the same thing, this call's own included."""
        wanted = identity_of(record)
        for planned in self._planned(self._by_identity.get(hash(wanted), ())):
            if planned.status in CURRENT and identity_of(planned) == wanted:
                return planned
        stored = self.partition.same_as(record)
        return next((same for same in stored if same.label not in self.rows), None)
