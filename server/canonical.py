"""Canonical values: statements of one key held to say the same where they land on one value of it.

The catalogue lists what a key can hold, by examples. A statement lands on the value of its nearest
example that denies as it does, where no other value's is nearly as near and its words are those of
that value; else on none: of the two errors, taking two values for one loses what was said. What a
writer put into `value` counts before any guess. It never changes a record and never compares across
keys.

Invariant: statements that differ in a number, in whom or what circumstance they are about, or in a
name that is not of the value itself never say the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.catalogue_lines import EXAMPLE_CHARS_MAX
from recalld.index.key_values import KeyValues
from recalld.scoring.params import Scale
from recalld.server.change import Change
from recalld.server.claims import Claim
from recalld.server.indexing import led_text
from recalld.server.partition import slot_of
from recalld.server.precedence import holds_now
from recalld.storage.record import MemoryRecord, Status

Floats = NDArray[np.float32]
NEAR_SPREADS_MIN = 2.0
"""Spreads above the background from which an example is near."""
MARGIN_SPREADS_MIN = 0.25
"""Spreads by which the nearest example has to be nearer than those of every other value; measured
with the default model (docs/CATALOGUE.md)."""
SHARED_SHARE_MAX = 0.5
"""Share of the words of the shorter of two statements above which they speak of the same thing."""
TWO = 2
QUALIFIED = re.compile(
    r"\b(?:but|except|unless|only|although|depends|sometimes|usually not)\b"
    r"|但|除非|除了|不过|看情况|有时|只有",
    re.IGNORECASE,
)
"""The statement holds in part, so no single value says it."""


@dataclass(frozen=True)
class CanonicalKey:
    """One key's values with the vectors of their examples.

    Attributes:
        values: in the order of the catalogue.
        owners: int64[m], place of the value of each example.
        vectors: float32[m, dim], unit length, as memories of that key.
        claims: what the examples say.
        denies: bool[m], whether an example denies.
        words: of a statement that does not deny, and of one that does: the words that speak for
            each value alone.
        names: names that the examples of each value hold.
    """

    values: tuple[str, ...]
    owners: NDArray[np.int64]
    vectors: Floats
    claims: tuple[Claim, ...]
    denies: NDArray[np.bool_]
    words: tuple[tuple[frozenset[str], ...], tuple[frozenset[str], ...]]
    names: tuple[frozenset[str], ...]

    @staticmethod
    def of(entry: KeyValues, vectors: Floats) -> CanonicalKey:
        """Lay out the values of a key; vectors float32[m, dim] of its examples in their order."""
        claims = [[Claim(text) for text in texts] for texts in entry.values.values()]
        every = tuple(claim for some in claims for claim in some)
        return CanonicalKey(
            tuple(entry.values),
            np.repeat(np.arange(len(claims)), [len(some) for some in claims]),
            vectors,
            every,
            np.array([claim.denies for claim in every]),
            (_own_words(claims, denies=False), _own_words(claims, denies=True)),
            tuple(frozenset(name for claim in some for name in claim.names) for some in claims),
        )

    def nearest(self, claim: Claim, vector: Floats, scale: Scale) -> int:
        """Place of the value that a statement lands on, or -1.

        Args:
            claim: what it says.
            vector: float32[dim], of length 1.
            scale: cosines of unrelated texts.
        """
        if len(claim.text) > EXAMPLE_CHARS_MAX or QUALIFIED.search(claim.folded):
            return -1
        alike = self.denies == claim.denies
        if len(np.unique(self.owners[alike])) < len(self.values):
            # Of a value without such an example nobody knows how near it would be.
            return -1
        spreads = (self.vectors @ vector - scale.mean) / scale.spread
        best = np.full(len(self.values), -np.inf)
        np.maximum.at(best, self.owners[alike], spreads[alike])
        second, first = np.argsort(best, kind="stable")[-2:]
        if best[first] < NEAR_SPREADS_MIN or best[first] - best[second] < MARGIN_SPREADS_MIN:
            return -1
        shared = [len(claim.content.keys() & own) for own in self.words[claim.denies]]
        if shared[first] <= max(count for at, count in enumerate(shared) if at != first):
            return -1
        own = np.flatnonzero(self.owners == first).tolist()
        return -1 if any(_flips(claim, self.claims[place]) for place in own) else int(first)


class CanonicalValues:
    """Canonical values by key; immutable.

    Thread safety: all methods.
    """

    def __init__(self, entries: Mapping[str, KeyValues], vectors: Floats) -> None:
        """Lay out the keys; vectors float32[m, dim] of `statements(entries)`, as memories."""
        self._keys: dict[str, CanonicalKey] = {}
        start = 0
        for key, entry in entries.items():
            end = start + sum(map(len, entry.values.values()))
            canonical = CanonicalKey.of(entry, vectors[start:end])
            self._keys |= dict.fromkeys((key, *entry.synonyms), canonical)
            start = end

    def of_key(self, key: str) -> CanonicalKey | None:
        """What a key can hold, by its own name or that of a synonym; None: it is not listed."""
        return self._keys.get(key.lower())

    def twin_of(self, change: Change, record: MemoryRecord, vector: Floats) -> MemoryRecord | None:
        """The current record of a slot that says the same by its canonical value, or None.

        Args:
            change: the plan.
            record: about to be stored.
            vector: its own.
        """
        slot, canonical = slot_of(record), self.of_key(record.key)
        if slot is None or canonical is None:
            return None
        rivals = [rival for rival in change.in_slot(slot) if _may_be_twin(change, record, rival)]
        value = _value(change, canonical, record, vector) if rivals else -1
        if value < 0:
            return None
        for rival in rivals:
            if not _differ(change.claim(record), change.claim(rival), canonical.names[value]):
                theirs = _value(change, canonical, rival, change.vector_of(rival.label))
                if theirs == value:
                    return rival
        return None


def statements(entries: Mapping[str, KeyValues]) -> list[str]:
    """The texts to embed: every example as a memory of its key, key by key, value by value."""
    return [
        led_text(key, text)
        for key, entry in entries.items()
        for texts in entry.values.values()
        for text in texts
    ]


def _may_be_twin(change: Change, record: MemoryRecord, rival: MemoryRecord) -> bool:
    """Whether one row could stand for both, so that nothing which the writer gave gets lost."""
    is_settled = rival.status == Status.ACTIVE and not rival.superseded_by
    same_form = (rival.kind, rival.visibility) == (record.kind, record.visibility)
    is_kept = record.value_json in ("", rival.value_json)
    return is_settled and same_form and is_kept and holds_now(rival, change.now_us)


def _value(change: Change, canonical: CanonicalKey, record: MemoryRecord, vector: Floats) -> int:
    """Place of a record's value: the one its writer gave, else a guess; -1 = none."""
    if record.value_json:
        return _given(canonical.values, json.loads(record.value_json))
    index = change.partition.index
    return canonical.nearest(change.claim(record), vector[: index.dim], index.scale)


def _given(values: Sequence[str], given: Mapping[str, object]) -> int:
    """Place of the one canonical value that stands in a structured value, or -1."""
    named = {text.lower() for text in given.values() if isinstance(text, str)}
    found = [place for place, value in enumerate(values) if value in named]
    return found[0] if len(found) == 1 else -1


def _own_words(claims: Sequence[Sequence[Claim]], *, denies: bool) -> tuple[frozenset[str], ...]:
    """The words that only one value's examples have, of those that deny or of those that do not.

    Where a key holds two values, what denies one of them speaks for the other.
    """

    def words(value: Sequence[Claim], is_denied: bool) -> frozenset[str]:
        """Words of a value's examples."""
        return frozenset(w for claim in value if claim.denies == is_denied for w in claim.content)

    alike = [words(value, denies) for value in claims]
    own = [held.difference(*alike[:at], *alike[at + 1 :]) for at, held in enumerate(alike)]
    if len(claims) == TWO:
        one, other = (words(value, not denies) for value in claims)
        own = [own[0] | (other - one), own[1] | (one - other)]
    return tuple(own)


def _flips(one: Claim, other: Claim) -> bool:
    """Whether one denies what the other says in the same words."""
    shared = (one.content & other.content).total()
    least = min(one.content.total(), other.content.total())
    return one.denies != other.denies and shared > SHARED_SHARE_MAX * least


def _differ(one: Claim, other: Claim, own_names: frozenset[str]) -> bool:
    """Whether two statements of one value differ in what no value stands for."""
    apart = set(one.names) ^ set(other.names)
    return (
        sorted(one.numbers) != sorted(other.numbers)
        or not apart <= own_names
        or one.bounds[1:] != other.bounds[1:]
        or _flips(one, other)
    )
