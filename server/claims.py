"""What a text claims, as far as words tell: numbers, names, polarity, and what it says of a change.

Pure functions of texts, zh and en. They judge words, never meaning: `doubts` weighs them together
with vectors. Invariant: two texts whose numbers, identifiers or polarity differ never are `same`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from recalld.index.analyzer import STOP_WORDS
from recalld.server import cues

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(
    r"[a-z]+(?:['’][a-z]+)?|[\u3400-\u9fff]|[a-z0-9_.\-/@#+]*\d(?:[a-z0-9_.\-/@#+]*[a-z0-9_@#+])?"
)
_CLAUSE = re.compile(r"[,，;；。!！?？]|\. ")
_HAN, _NAME = re.compile(r"[\u3400-\u9fff]"), re.compile(r"\b[A-Z][\w'-]+")
_NUMERALS = """zero one two three four five six seven eight nine ten eleven twelve"""
_DIGITS = {word: str(number) for number, word in enumerate(_NUMERALS.split())}
_HAN_DIGITS = str.maketrans("〇零一二两三四五六七八九", "001223456789")
_LIGHT = frozenset({"a", "an", "the", "that", "is", "are", "am", "be", "do", "does", "so", "very"})
_LIGHT |= frozenset("的了是着呢吧啊呀哦正已经") | {"really", "just", "also", "please", "been"}
_WITHOUT_NOT = {"ca": "can", "wo": "will"}
_SPEAKER = frozenset({"i", "my", "me", "mine", "we", "our", "us", "我", "们", "咱"})

SAME_SHARE = 0.6
"""Share of a clause's Chinese pairs that an older text holds when it is of the same thing."""


@dataclass(frozen=True)
class Claim:
    """A text read as a claim; every reading is made once, when it is asked for."""

    text: str

    @cached_property
    def folded(self) -> str:
        """NFKC, lower case."""
        return unicodedata.normalize("NFKC", self.text).lower()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words, single Chinese characters, numbers and identifiers, in order."""
        return tuple(_DIGITS.get(word, word) for word in _WORD.findall(self.folded))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers in order, words and Chinese digits counted as digits."""
        spelled = " ".join(_DIGITS.get(word, word) for word in self.folded.split())
        return tuple(_NUMBER.findall(spelled.translate(_HAN_DIGITS)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Identifiers, and capitalised words but the first, in order."""
        marked = [word for word in self.words if any(c.isdigit() for c in word)]
        whole = unicodedata.normalize("NFKC", self.text)
        return (*marked, *[m[0].lower() for m in _NAME.finditer(whole) if m.start() > 0])

    @cached_property
    def negations(self) -> int:
        """How often it denies."""
        return len(cues.NEGATING.findall(self.folded))

    @cached_property
    def denies(self) -> bool:
        """Whether the statement as a whole denies: once, or otherwise an odd number of times."""
        return (self.negations + bool(cues.OPPOSING.search(self.folded))) % 2 == 1

    @cached_property
    def has_values(self) -> bool:
        """Whether it holds any value of a closed class; most texts hold none."""
        return bool(cues.ANY_VALUE.search(self.folded))

    @cached_property
    def values(self) -> tuple[frozenset[object], ...]:
        """Per closed class of `cues.VALUES`, which of its values the text holds."""
        if not self.has_values:
            return ()
        return tuple(
            frozenset(re.findall(row[0], self.folded))
            if len(row) == 1
            else frozenset(i for i, group in enumerate(row) if re.search(group, self.folded))
            for row in cues.VALUES
        )

    @cached_property
    def bounds(self) -> tuple[frozenset[str], ...]:
        """What the text is about: named things, people, then each sort of circumstance."""
        return (
            frozenset(name for name in self.names if not name.isdigit()),
            frozenset(m for found in cues.KIN.findall(self.folded) for m in found if m),
            *(frozenset(re.findall(c, self.folded)) for c in cues.CONDITIONS),
        )

    @cached_property
    def ends(self) -> bool:
        """Whether it says that something has ended."""
        return bool(cues.ENDING.search(self.folded))

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is otherwise than it was."""
        return bool(cues.CHANGING.search(self.folded))

    @cached_property
    def corrects(self) -> bool:
        """Whether it says that something said before was wrong."""
        return bool(cues.CORRECTING.search(self.folded))

    @cached_property
    def is_absolute(self) -> bool:
        """Whether it leaves no room for another statement beside it."""
        return bool(cues.ABSOLUTE.search(self.folded))

    @cached_property
    def can_deny(self) -> bool:
        """Whether some part of it may deny."""
        return bool(self.negations or cues.OPPOSING.search(self.folded))

    def clause_like(self, other: Claim) -> Claim:
        """The clause that shares the most with another claim; the others are beside the point."""
        clauses = [Claim(part) for part in _CLAUSE.split(self.folded) if part.strip()]
        return max(clauses, key=lambda c: (c.content & other.content).total(), default=self)

    @cached_property
    def content(self) -> Counter[str]:
        """Words that carry meaning: stems of English ones, pairs of Chinese characters."""
        latin = [w for w in self.words if not _HAN.match(w) and w not in STOP_WORDS]
        han = re.findall(r"[\u3400-\u9fff]+", self.folded)
        pairs = [run[i : i + 2] for run in han for i in range(len(run) - 1)]
        return Counter([_stem(word) for word in latin] + pairs)

    @cached_property
    def affirmed(self) -> tuple[str, ...]:
        """What is left of its words, in order, without what denies: stems, the speaker one way."""
        words = Claim(cues.NEGATING.sub(" ", self.folded)).bare
        return tuple(_stem(_WITHOUT_NOT.get(word, word)) for word in words)

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Words without those that change nothing, the speaker spelled one way."""
        return tuple("i" if word in _SPEAKER else word for word in self.words if word not in _LIGHT)


def _stem(word: str) -> str:
    """A word without its commonest endings."""
    for ending in ("ing", "ies", "ed", "es", "'s", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def is_same(one: Claim, other: Claim) -> bool:
    """Whether two texts of near-equal vectors say the same: the same words, at most reordered.

    Numbers, names and negations stand in the same order, and so do all Chinese characters.
    """
    if (one.numbers, one.names, one.negations) != (other.numbers, other.names, other.negations):
        return False
    if set(one.bare) - {"i"} != set(other.bare) - {"i"}:
        return False
    if _HAN.search(one.folded + other.folded):
        return _without_speaker(one) == _without_speaker(other)
    return True


def is_denied(one: Claim, other: Claim) -> bool:
    """Whether one text is the other with a denial put in: "dogs are (not) allowed"."""
    if (one.numbers, one.names) != (other.numbers, other.names):
        return False
    is_more = len(set(one.affirmed) - {"i"}) > 1
    return is_more and one.affirmed == other.affirmed and {one.negations, other.negations} == {0, 1}


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


def may_differ(older: Claim, newer: Claim) -> bool:
    """Whether `tells_of_change` or `opposes` can hold; far cheaper than `features`."""
    told = newer.ends or newer.changes or newer.corrects
    denied = older.can_deny or newer.can_deny
    values = older.has_values and newer.has_values
    if not (told or denied or values or (older.is_absolute and newer.is_absolute)):
        return False
    return bool(older.content & newer.content)


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
    han = Counter({word: n for word, n in rest.items() if _HAN.match(word)})
    if any(not _HAN.match(word) for word in missing):
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
