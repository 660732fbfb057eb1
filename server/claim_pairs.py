"""How two claims stand to each other, as far as words tell.

Pure functions of `Claim`; `doubts` weighs them together with vectors. Invariant: two texts whose
numbers, identifiers or polarity differ never are `same`.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from recalld.server import cues
from recalld.server.claims import DENIES, HAN, HAS_VALUES, IS_ABSOLUTE, TELLS, Claim

SAME_SHARE = 0.6
"""Share of a clause's Chinese pairs that an older text holds when it is of the same thing."""


def is_same(one: Claim, other: Claim) -> bool:
    """Whether two texts of near-equal vectors say the same: the same words, at most reordered.

    Numbers, names and negations stand in the same order, and so do all Chinese characters.
    """
    if (one.numbers, one.names, one.negations) != (other.numbers, other.names, other.negations):
        return False
    if set(one.bare) - {"i"} != set(other.bare) - {"i"}:
        return False
    if HAN.search(one.folded + other.folded):
        return _without_speaker(one) == _without_speaker(other)
    return True


def is_denied(one: Claim, other: Claim) -> bool:
    """Whether one text is the other with a denial put in: "dogs are (not) allowed"."""
    if {one.negations, other.negations} != {0, 1} or one.numbers != other.numbers:
        return False
    return one.affirmed == other.affirmed and len(set(one.affirmed) - {"i"}) > 1


def _without_speaker(claim: Claim) -> list[str]:
    return [word for word in claim.bare if word != "i"]


class Features(NamedTuple):
    """What speaks for and against a pair's contradicting each other, each in [0, 1].

    `nearness` of vectors; `share` of the words of the shorter text; `kept`: the newer one holds all
    of the older; the newer one `ends`, `changes` or `corrects` something; one denies what the other
    says (`flips`); both are `absolute`; numbers `differ`; both hold `values` that exclude each
    other; they speak of things `apart`; the older one is `spent`, itself the word of an end. Then
    products: `told` = ends, changes or corrects, and not apart.
    """

    nearness: float
    share: float
    kept: float
    ends: float
    changes: float
    corrects: float
    flips: float
    absolute: float
    differ: float
    values: float
    apart: float
    spent: float
    near_told: float
    share_told: float
    share_flips: float
    share_values: float
    share_differ: float
    near_opposed: float

    @property
    def tells_of_change(self) -> bool:
        """Whether the newer text says that something is no longer so, and not of another thing."""
        told = bool(self.ends or self.changes or self.corrects)
        return told and self.share > 0 and not self.apart

    @property
    def opposes(self) -> bool:
        """Whether the texts differ in something that can make both of them impossible."""
        limits = bool(self.differ and self.absolute)
        return bool(self.flips or self.values or limits) and self.share > 0


def may_differ(older: int, newer: int) -> bool:
    """Whether `tells_of_change` or `opposes` can hold for texts with such `signs`."""
    both = older & newer & (HAS_VALUES | IS_ABSOLUTE)
    return bool(both or newer & TELLS or (older | newer) & DENIES)


def features(older: Claim, newer: Claim, nearness: float) -> Features:
    """Read a pair, in order of saying; `nearness` of their vectors: 0 = unrelated, 1 = near."""
    shared = (older.content & newer.content).total()
    share = shared / max(1, min(older.content.total(), newer.content.total()))
    ends, changes, corrects = newer.ends, newer.changes, newer.corrects
    flips = (older.can_deny or newer.can_deny) and (
        older.clause_like(newer).denies != newer.clause_like(older).denies
    )
    absolute = older.is_absolute and newer.is_absolute
    numbers = bool(older.numbers) and bool(newer.numbers)
    differ = numbers and set(older.numbers).isdisjoint(newer.numbers)
    values, apart = _excludes(older, newer), _apart(older, newer)
    ends = ends and _ends_it(older, newer)
    told = (ends or changes or corrects) and not apart
    return Features(
        nearness=nearness,
        share=share,
        kept=shared == older.content.total() > 0,
        ends=ends,
        changes=changes,
        corrects=corrects,
        flips=flips,
        absolute=absolute,
        differ=differ,
        values=values,
        apart=apart,
        spent=older.ends or older.corrects,
        near_told=nearness * told,
        share_told=share * told,
        share_flips=share * flips,
        share_values=share * values,
        share_differ=share * differ * (not apart),
        near_opposed=nearness * (flips or values) * absolute,
    )


def _ends_it(older: Claim, newer: Claim) -> bool:
    """Whether what the newer one says has ended is what the older one says, not something like it.

    No longer allergic to pollen says nothing of penicillin: all English words of the clause have to
    stand in the older text, and most of its pairs of Chinese characters, which also hold particles.
    """
    clause = newer.clause_like(older)
    rest = Claim(cues.ENDING.sub(" ", clause.folded)).content
    missing = rest - older.content
    han = Counter({word: n for word, n in rest.items() if HAN.match(word)})
    if any(not HAN.match(word) for word in missing):
        return False
    return bool(rest) and (han & older.content).total() >= SAME_SHARE * han.total()


def _excludes(one: Claim, other: Claim) -> bool:
    """Whether both hold different values of one closed class."""
    if not (one.values and other.values):
        return False
    held = zip(one.values, other.values, strict=True)
    return any(mine and its and mine.isdisjoint(its) for mine, its in held)


def _apart(one: Claim, other: Claim) -> bool:
    """Whether the texts speak of different people, things with names, or circumstances."""
    held = zip(one.bounds, other.bounds, strict=True)
    return any(mine and its and mine.isdisjoint(its) for mine, its in held)
