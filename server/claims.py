"""What a text claims, as far as words tell: numbers, names, polarity, and what it says of a change.

Pure readings of texts, zh and en. They judge words, never meaning; how two claims stand to each
other: `recalld.server.claim_pairs`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from recalld.index.analyzer import STOP_WORDS
from recalld.server import cues

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(
    r"[a-z]+(?:['’][a-z]+)?|[\u3400-\u9fff]|[a-z0-9_.\-/@#+]*\d(?:[a-z0-9_.\-/@#+]*[a-z0-9_@#+])?"
)
_CLAUSE = re.compile(r"[,，;；。!！?？]|\. ")
HAN = re.compile(r"[\u3400-\u9fff]")
_NAME = re.compile(r"\b[A-Z][\w'-]+")
_NUMERALS = """zero one two three four five six seven eight nine ten eleven twelve"""
_DIGITS = {word: str(number) for number, word in enumerate(_NUMERALS.split())}
_HAN_DIGITS = str.maketrans("〇零一二两三四五六七八九", "001223456789")
_LIGHT = frozenset({"a", "an", "the", "that", "is", "are", "am", "be", "do", "does", "so", "very"})
_LIGHT |= frozenset("的了是着呢吧啊呀哦正已经") | {"really", "just", "also", "please", "been"}
_CONTRACTED = re.compile(r"['’](?:m|re)\b|(?<=\b[hi][et])['’]s\b|(?<=\bshe)['’]s\b")
_WITHOUT_NOT = {"ca": "can", "wo": "will"}
_SPEAKER = frozenset({"i", "my", "me", "mine", "we", "our", "us", "我", "们", "咱"})


TELLS, DENIES, HAS_VALUES, IS_ABSOLUTE = 1, 2, 4, 8
"""Words by which a text may stand against another: it tells of an end, a change or a correction;
denies; holds a value of a closed class; leaves no room. Bits, so that they cost nothing to keep."""


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
        text = self.folded
        return any(map(text.__contains__, cues.PLAIN_VALUES)) or bool(
            cues.OTHER_VALUES.search(text)
        )

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
    def is_called_off(self) -> bool:
        """Whether it may say so in words that also stand for other things."""
        return bool(cues.CALLED_OFF.search(self.folded))

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

    @cached_property
    def signs(self) -> int:
        """What in the text may stand against another text: bits of TELLS to IS_ABSOLUTE."""
        told = self.ends or self.changes or self.corrects or self.is_called_off
        return (
            TELLS * told
            | DENIES * self.can_deny
            | HAS_VALUES * self.has_values
            | IS_ABSOLUTE * self.is_absolute
        )

    def clause_like(self, other: Claim) -> Claim:
        """The clause that shares the most with another claim; the others are beside the point."""
        clauses = [Claim(part) for part in _CLAUSE.split(self.folded) if part.strip()]
        return max(clauses, key=lambda c: (c.content & other.content).total(), default=self)

    @cached_property
    def content(self) -> Counter[str]:
        """Words that carry meaning: stems of English ones, pairs of Chinese characters."""
        latin = [w for w in self.words if not HAN.match(w) and w not in STOP_WORDS]
        han = re.findall(r"[\u3400-\u9fff]+", self.folded)
        pairs = [run[i : i + 2] for run in han for i in range(len(run) - 1)]
        return Counter([_stem(word) for word in latin] + pairs)

    @cached_property
    def affirmed(self) -> tuple[str, ...]:
        """What is left of its words, in order, without what denies: stems, the speaker one way."""
        words = Claim(_CONTRACTED.sub("", cues.NEGATING.sub(" ", self.folded))).bare
        return tuple(_stem(_WITHOUT_NOT.get(word, word)) for word in words)

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Words without those that change nothing, the speaker spelled one way."""
        return tuple("i" if word in _SPEAKER else word for word in self.words if word not in _LIGHT)


def _stem(word: str) -> str:
    """A word without its commonest endings: "smoke" and "smoking", "study" and "studies"."""
    for ending in ("ing", "ies", "ed", "es", "'s", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                return word[:-1]
            break
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word
