"""Analyzer: text to the tokens that keyword search counts.

English words are stemmed and stop words cut; Chinese becomes single characters and pairs of
neighbours (the pairs keep order: 林书瑶 and 林瑶书 share no pair); identifiers (`DD20261118-7742`,
`v2.3.1`, `snake_case`, mail addresses, paths) are one whole token besides their parts, also inside
Chinese text. It never looks at other texts: rarity is the postings' business.

Invariants: queries and memories go through the same code; a text of stop words only keeps them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import snowballstemmer

from recalld.index.folding import Folder

# Memory bound of one analyzer's cache of stems; a stem costs 26 us, a look-up 0.1.
STEM_CACHE_COUNT_MAX = 65_536
# And of what stands between two blanks, read; longer pieces hardly come twice.
PIECE_CACHE_COUNT_MAX, PIECE_CHARS_MAX = 32_768, 24
# Longer runs are noise (base64, hashes glued together); they are cut, not dropped.
TOKEN_CHARS_MAX = 128
# A bare number from this many digits on names a thing (order, room, year), not a quantity.
IDENTIFIER_DIGITS_MIN = 4
# Shorter parts of an identifier are not tokens of their own.
PART_DIGITS_MIN = 3
PART_LETTERS_MIN = 2

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNITS = "km/h|m/s|mm|cm|km|kg|mg|ml|gb|mb|kb|tb|ghz|mhz|kwh|kw"
_UNSPACED = _HAN + "\u3005\u3007\u3041-\u30ff\uac00-\ud7af"
_LETTER = rf"[^\W_{_UNSPACED}]"
_RUN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<quantity>\d+(?:\.\d+)?[ ]?(?:{_UNITS})\b)"
    rf"|(?P<word>(?:{_LETTER}|_)+(?:(?:://|[.\-_/@:+#&=~%'])+(?:{_LETTER}|_)+)*(?:\+\+|\#(?!\w))?)",
    re.IGNORECASE,
)
# The only run that holds a blank.
_SPACED_QUANTITY = re.compile(rf"\d (?:{_UNITS})\b", re.IGNORECASE)
_HAN_ONE = re.compile(f"[{_HAN}]")
_PART = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+?(?=[A-Z]|$)|\d+")
_CAMEL = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_VERSION = re.compile(r"v\d+(?:\.\d+)*")
# A year names a tenth of a diary: boosting it cost 5 points hit@5 on Chinese life logs.
_YEAR = re.compile(r"(?:19|20)\d\d")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_DOTTED_NAME = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z][a-z0-9]*)+")

STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being but by can
could did do does doing down during each few for from further had has have having he her here hers
him his how i if in into is it its itself just me more most my myself no nor not now of off on once
only or other our ours out over own same she should so some such than that the their theirs them
then there these they this those through to too under until up very was we were what when where
which while who whom why will with would you your yours im ive id ill youre youve hes shes theyre
weve dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt havent hasnt hadnt
thats whats lets s t""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a text says to keyword search.

    Attributes:
        words: every token in reading order, repeats kept (they are the term frequencies).
        identifiers: the tokens among `words` that name one thing (order numbers, versions, paths).
    """

    words: tuple[str, ...]
    identifiers: frozenset[str]


NONE: frozenset[str] = frozenset()
Words = tuple[str, ...]
_Told = tuple[Sequence[str], Sequence[str], Sequence[str]]
"""Words, stop words and identifiers, in reading order."""


class _Pieces(NamedTuple):
    """What is known of pieces: their words; of those that have some, stop words, identifiers."""

    words: dict[str, Words]
    stopped: dict[str, Words]
    identifiers: dict[str, Words]

    def keep(self, piece: str, words: Words, stopped: Words, identifiers: Words) -> None:
        """Enter a piece; its words last, since whoever finds these looks for the others."""
        if stopped:
            self.stopped[piece] = stopped
        if identifiers:
            self.identifiers[piece] = identifiers
        self.words[piece] = words


class Analyzer:
    """Turns text into tokens.

    Thread safety: calls may run side by side; the caches are dicts whose single reads and writes
    are atomic, and the stemmer, which keeps its word inside itself, has a lock.
    """

    def __init__(self) -> None:
        self._folder = Folder()
        self._stemmer = snowballstemmer.stemmer("english")
        self._stemming = threading.Lock()
        self._stems: dict[str, str] = {}
        self._known = _Pieces({}, {}, {})

    def analyze(self, text: str) -> Tokens:
        """Split `text` into tokens.

        Args:
            text: any string.

        Returns:
            The tokens; empty when the text holds neither letter nor digit.

        Complexity: linear in the text; about 20 MB/s of English whose words were met before, 1.4
            of new ones, 2 of Chinese.
        """
        folded = self._folder.fold(text)
        pieces = folded.split()
        known = self._known
        found: list[Sequence[str] | None] = list(map(known.words.get, pieces))
        met: dict[str, _Told] = {}
        if None in found:
            if _SPACED_QUANTITY.search(folded):
                read, stopped, identifiers = self._read(folded)
                return Tokens(tuple(read or stopped), frozenset(identifiers))
            # No other run crosses a blank, so each piece is what it always was.
            both = list(zip(pieces, found, strict=True))
            met = {piece: self._read(piece) for piece, words in both if words is None}
            found = [met[piece][0] if words is None else words for piece, words in both]
            self._keep(met)
        words = tuple(chain.from_iterable(found))  # type: ignore[arg-type]
        named = NONE
        if not known.identifiers.keys().isdisjoint(pieces):
            told = [known.identifiers[piece] for piece in pieces if piece in known.identifiers]
            named = frozenset(chain.from_iterable(told))
        for _, _, identifiers in met.values():
            named = named.union(identifiers) if identifiers else named
        if not words:
            silent = [met[p][1] if p in met else known.stopped.get(p, ()) for p in pieces]
            words = tuple(chain.from_iterable(silent))
        return Tokens(words, named)

    def _keep(self, met: dict[str, _Told]) -> None:
        """Keep what pieces say for the next time."""
        if len(self._known.words) >= PIECE_CACHE_COUNT_MAX:
            # Not cleared: who looks into the old one finds it whole.
            self._known = _Pieces({}, {}, {})
        for piece, told in met.items():
            # A number may belong to the unit that follows it.
            if len(piece) <= PIECE_CHARS_MAX and not piece[-1].isdigit():
                self._known.keep(piece, *map(tuple, told))

    def _read(self, folded: str) -> _Told:
        """Words, stop words and identifiers of folded text, in reading order."""
        if folded.isdigit() and folded.isascii():  # As many pieces are: told without a search.
            number = folded[:TOKEN_CHARS_MAX]
            return [number], [], [number] if _names_by_digits(number) else []
        words: list[str] = []
        stopped: list[str] = []
        identifiers: list[str] = []
        stems = self._stems
        for match in _RUN.finditer(folded):
            run = match.group()
            known = stems.get(run)
            if known is not None:
                words.append(known)
            elif match.lastgroup == "unspaced":
                words.extend(run)
                words.extend([run[i : i + 2] for i in range(len(run) - 1)])
            elif match.lastgroup == "quantity":
                whole = run.replace(" ", "").lower()
                identifiers.append(whole)
                words.append(whole)
                words.append(_PART.findall(whole)[0])
            elif run.isalpha() and not _CAMEL.fullmatch(run):
                self._plain(run, words, stopped)
            else:
                self._compound(run, words, stopped, identifiers)
        return words, stopped, identifiers

    def _plain(self, run: str, words: list[str], stopped: list[str]) -> None:
        """Append a word of letters only, stemmed, or set it aside as a stop word."""
        word = run.lower()[:TOKEN_CHARS_MAX]
        if word in STOP_WORDS:
            stopped.append(word)
            return
        stem = self._stems.get(word)
        if stem is None:
            stem = word
            if word.isascii():
                with self._stemming:
                    stem = str(self._stemmer.stemWord(word))
            if len(self._stems) >= STEM_CACHE_COUNT_MAX:
                self._stems.clear()
            # Only plain words are cached under their own spelling, so `analyze` may trust a hit.
            self._stems[word] = stem
            # Words as long as a text would make a bounded cache a large one.
            if len(run) <= TOKEN_CHARS_MAX:
                self._stems[run] = stem
        words.append(stem)

    def _compound(
        self, run: str, words: list[str], stopped: list[str], identifiers: list[str]
    ) -> None:
        """Append a run with digits, joints or humps: whole where it names a thing, and parts."""
        run = run.strip("_")[: 4 * TOKEN_CHARS_MAX]
        plain = run.replace("'", "")
        if plain.isalpha() and not _CAMEL.fullmatch(plain):
            self._plain(plain, words, stopped)
            return
        whole = run.lower()[:TOKEN_CHARS_MAX]
        if not whole:
            return
        if whole.isdigit():
            words.append(whole)
            if _names_by_digits(whole):
                identifiers.append(whole)
            return
        named = _names_a_thing(run)
        if named:
            identifiers.append(whole)
        if named or _CAMEL.fullmatch(run) or whole.endswith(("++", "#")):
            words.append(whole)
        if _VERSION.fullmatch(whole):
            words.append(whole[1:])
            identifiers.append(whole[1:])
        for part in _HUMP.findall(run):
            if named and len(part) < (PART_DIGITS_MIN if part.isdigit() else PART_LETTERS_MIN):
                # The 4 and the 10 of `4.10.2`, the E of `E-1042` say nothing and match everything.
                continue
            if part.isdigit():
                words.append(part)
            else:
                self._plain(part, words, stopped)


def _names_by_digits(number: str) -> bool:
    """Tell a number that names a thing from a quantity and from a year."""
    return len(number) >= IDENTIFIER_DIGITS_MIN and not _YEAR.fullmatch(number)


def _names_a_thing(run: str) -> bool:
    """Tell an identifier from joined words: `E-1042` and `a_b` are one, `well-known` is not."""
    if any(c.isdigit() for c in run):
        return not _ORDINAL.fullmatch(run)
    if "_" in run or "@" in run or run.count("/") >= 2 or "://" in run:
        return True
    return bool(_DOTTED_NAME.fullmatch(run)) or (run[0].islower() and bool(_CAMEL.fullmatch(run)))


def is_single_han(token: str) -> bool:
    """Tell a token that is one Chinese character."""
    return len(token) == 1 and not token.isascii() and _HAN_ONE.match(token) is not None
