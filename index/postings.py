"""Postings: which memory holds which word, and how much a query's words weigh.

An instance is an immutable view; a write returns the next one. Views share their storage: rows are
appended beyond what older views look at, and the few small arrays that do change are copied. It
keeps no text and never ranks.

Invariants: one writer at a time, always on the newest view; a reader of an older view sees exactly
the rows that view was made with; document frequencies count live rows only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Tokens, is_single_han
from recalld.index.growth import grown
from recalld.scoring.keyword import K1, NO_ENTRY, TF_BITS, TF_MAX, add_word_into

# One Chinese character alone says little beside the pair it forms.
SINGLE_HAN_UNIT = 0.3
# Evidence of m matched words counts m^2 / (m^2 + 2): one shared word is often chance.
COORDINATION = 2.0
LIST_CAPACITY_MIN = 2


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One distinct word of a query, weighed against one view.

    Attributes:
        unit: how much it counts as a match, in (0, 1].
        idf: rarity among live rows, > 0; a word that no row holds counts as rarest.
        word_id: its list, or -1 when no row holds it.
    """

    unit: float
    idf: float
    word_id: int


class Postings:
    """Immutable view of the words of rows 0..count-1.

    Attributes:
        count: rows, removed ones included.
        live_count: rows not removed.
    """

    def __init__(self) -> None:
        self.count = 0
        self.live_count = 0
        self._live_length = 0.0
        self._words: dict[str, int] = {}
        self._lists: list[NDArray[np.int64]] = []
        self._frequency = np.zeros(0, dtype=np.int32)
        self._lengths = np.zeros(0, dtype=np.float32)
        self._forward = np.zeros(0, dtype=np.int32)
        self._starts = np.zeros(1, dtype=np.int64)

    def appended(self, documents: Sequence[Tokens]) -> Postings:
        """Return the next view, with one more row per document.

        Complexity: linear in the tokens, plus a copy of the word frequencies.
        """
        view = self._next()
        counts = [Counter(document.words) for document in documents]
        end = self.count + len(documents)
        view._lengths = grown(self._lengths, self.count, end)
        view._starts = grown(self._starts, self.count + 1, end + 1)
        used = int(self._starts[self.count])
        view._forward = grown(self._forward, used, used + sum(map(len, counts)))
        new_words = {w for c in counts for w in c if w not in self._words}
        view._frequency = np.zeros(len(self._words) + len(new_words), dtype=np.int32)
        view._frequency[: len(self._frequency)] = self._frequency
        for row, (document, count) in enumerate(zip(documents, counts, strict=True), self.count):
            view._lengths[row] = len(document.words)
            ids = [view._enter(word, row, tf) for word, tf in count.items()]
            view._forward[used : used + len(ids)] = ids
            view._frequency[ids] += 1
            used += len(ids)
            view._starts[row + 1] = used
            view._live_length += len(document.words)
        view.count = end
        view.live_count = self.live_count + len(documents)
        return view

    def removed(self, rows: Sequence[int]) -> Postings:
        """Return the next view, in which `rows` (live, distinct) no longer count."""
        view = self._next()
        view._frequency = self._frequency.copy()
        for row in rows:
            ids = self._forward[self._starts[row] : self._starts[row + 1]]
            view._frequency[ids] -= 1
            view._live_length -= float(self._lengths[row])
        view.live_count -= len(rows)
        return view

    def compacted(self, rows: NDArray[np.int64]) -> Postings:
        """Return a view of its own storage that holds `rows` only, numbered 0.. in their order."""
        view = Postings()
        place = np.full(self.count, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        forward: list[NDArray[np.int32]] = []
        renumbered = np.full(len(self._frequency), -1, dtype=np.int32)
        for word, word_id in list(self._words.items()):
            if word_id >= len(self._frequency) or self._frequency[word_id] <= 0:
                continue
            entries = self._lists[word_id]
            entries = entries[: np.searchsorted(entries, self.count << TF_BITS)]
            target = place[entries >> TF_BITS]
            kept = target >= 0
            packed = (target[kept] << TF_BITS) | (entries[kept] & TF_MAX)
            renumbered[word_id] = len(view._lists)
            view._words[word] = len(view._lists)
            view._lists.append(np.sort(packed))
        view._frequency = np.array([len(e) for e in view._lists], dtype=np.int32)
        starts = [0]
        for row in rows:
            ids = renumbered[self._forward[self._starts[row] : self._starts[row + 1]]]
            forward.append(ids)
            starts.append(starts[-1] + len(ids))
        view._forward = np.concatenate(forward) if forward else view._forward
        view._starts = np.array(starts, dtype=np.int64)
        view._lengths = self._lengths[rows].copy()
        view._live_length = float(view._lengths.sum(dtype=np.float64))
        view.count = view.live_count = len(rows)
        return view

    def weigh(self, words: Iterable[str]) -> list[QueryWord]:
        """Look up the distinct words of a query, in an order that only depends on the words."""
        return [self._weigh(word) for word in sorted(set(words))]

    def ceiling(self, words: Iterable[str]) -> float:
        """Return the BM25 score of a row that held every word many times."""
        return sum(w.unit * w.idf * (K1 + 1) for w in self.weigh(words))

    def score(self, words: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Score every row against a query.

        Args:
            words: tokens of the query; repeats count once.

        Returns:
            bm25: float32[count], >= 0, 0 where no word is shared. Removed rows get scores too.
            evidence: float32[count], >= 0: BM25 over the root of the summed squares of the words'
                ceilings (what chance matches of that query would spread to), times the share by
                matched words. It means the same from query to query: a rare word in a long
                request, or one chance word in a short one, stays small.
        """
        bm25 = np.zeros(self.count, dtype=np.float32)
        matched = np.zeros(self.count, dtype=np.float32)
        average = self._live_length / self.live_count if self._live_length > 0 else 1.0
        squares = 0.0
        for word in self.weigh(words):
            weight = word.unit * word.idf * (K1 + 1)
            squares += weight * weight
            if word.word_id >= 0:
                entries = self._lists[word.word_id]
                add_word_into(entries, self._lengths, average, weight, word.unit, bm25, matched)
        if squares == 0.0:
            return bm25, bm25
        matched *= matched
        evidence = bm25 * (matched / (matched + np.float32(COORDINATION)))
        evidence *= np.float32(1.0 / math.sqrt(squares))
        return bm25, evidence

    def holders(self, word: str) -> tuple[NDArray[np.int64], float]:
        """Find the rows that hold one word.

        Returns:
            rows int64[h], ascending, removed ones included; and the word's rarity in (0, 1],
            1 for a word that a single row of many holds.
        """
        weighed = self._weigh(word)
        if weighed.word_id < 0:
            return np.zeros(0, dtype=np.int64), 1.0
        entries = self._lists[weighed.word_id]
        rows = entries[: np.searchsorted(entries, self.count << TF_BITS)] >> TF_BITS
        rarest = _idf(self.live_count, min(1, self.live_count))
        return rows, min(1.0, weighed.idf / rarest)

    def _weigh(self, word: str) -> QueryWord:
        word_id = self._words.get(word, -1)
        if word_id >= len(self._frequency):
            word_id = -1  # A later view knows the word; this one does not.
        frequency = int(self._frequency[word_id]) if word_id >= 0 else 0
        unit = SINGLE_HAN_UNIT if is_single_han(word) else 1.0
        return QueryWord(unit, _idf(self.live_count, frequency), word_id)

    def _next(self) -> Postings:
        """Return a copy of the view that shares its storage."""
        view = Postings.__new__(Postings)
        view.__dict__.update(self.__dict__)
        return view

    def _enter(self, word: str, row: int, tf: int) -> int:
        """Append one entry to a word's list; older views stop before it."""
        packed = row << TF_BITS | min(tf, TF_MAX)
        word_id = self._words.get(word)
        if word_id is None:
            word_id = len(self._lists)
            self._lists.append(np.array([packed, NO_ENTRY], dtype=np.int64))
            self._words[word] = word_id
            return word_id
        entries = self._lists[word_id]
        place = int(np.searchsorted(entries, packed))
        if place == len(entries):
            entries = np.full(max(LIST_CAPACITY_MIN, place + place // 2 + 1), NO_ENTRY, np.int64)
            entries[:place] = self._lists[word_id]
        entries[place] = packed
        self._lists[word_id] = entries
        return word_id


def _idf(live_count: int, frequency: int) -> float:
    """Rarity of a word: Robertson-Sparck Jones with 1 added, so that it stays positive."""
    return math.log(1 + (live_count - frequency + 0.5) / (frequency + 0.5))
