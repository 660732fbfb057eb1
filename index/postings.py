"""Postings: which memory holds which word, and how much a query's words weigh.

An instance is an immutable view; a write returns the next one. Views share their storage: rows are
appended beyond what older views look at, and the few small arrays that do change are copied. It
keeps no text and never ranks.

Invariants: one writer at a time, always on the newest view; a reader of an older view sees exactly
the rows that view was made with; document frequencies count live rows only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Tokens, is_single_han
from recalld.index.growth import grown
from recalld.scoring.keyword import K1, NO_ENTRY, TF_BITS, TF_MAX, add_words_into

# One Chinese character alone says little beside the pair it forms.
SINGLE_HAN_UNIT = 0.3
WORD_BYTES, LIST_BYTES, ENTRY_BYTES = 130, 300, 8
"""Of a word, of a list of its own, and of a word in a row."""

Entries = NDArray[np.int32] | NDArray[np.int64]


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
        # The rows of words: those of the first documents in one array, word by word; a word that
        # came or grew afterwards has a list of its own.
        self._entries: Entries = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros(1, dtype=np.int64)
        self._lists: dict[int, Entries] = {}
        self._frequency = np.zeros(0, dtype=np.int32)
        self._lengths = np.zeros(0, dtype=np.float32)
        self._forward = np.zeros(0, dtype=np.int32)
        self._starts = np.zeros(1, dtype=np.int64)

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the words take, estimated."""
        words = WORD_BYTES * len(self._words) + LIST_BYTES * len(self._lists)
        return words + ENTRY_BYTES * int(self._starts[self.count])

    def appended(self, documents: Sequence[Tokens]) -> Postings:
        """Return the next view, with one more row per document.

        Complexity: linear in the tokens, plus a copy of the word frequencies.
        """
        view = self._next()
        ids, rows, packed = self._packed(documents)
        order = np.argsort(ids, kind="stable")
        frequency = np.bincount(ids, minlength=len(self._words)).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(frequency)])
        if self.count:
            for word_id in np.flatnonzero(frequency).tolist():
                view._extend(word_id, packed[order[ends[word_id] : ends[word_id + 1]]])
        else:
            view._entries, view._ends = _narrow(packed[order]), ends
        end = self.count + len(documents)
        used = int(self._starts[self.count])
        view._forward = grown(self._forward, used, used + len(ids))
        view._forward[used : used + len(ids)] = ids
        view._starts = grown(self._starts, self.count + 1, end + 1)
        lengths = np.bincount(rows, minlength=len(documents))
        view._starts[self.count + 1 : end + 1] = used + np.cumsum(lengths)
        view._lengths = grown(self._lengths, self.count, end)
        view._lengths[self.count : end] = [len(document.words) for document in documents]
        view._live_length += sum(len(document.words) for document in documents)
        view._frequency = frequency
        view._frequency[: len(self._frequency)] += self._frequency
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
        lists: list[NDArray[np.int64]] = []
        renumbered = np.full(len(self._frequency), -1, dtype=np.int32)
        for word, word_id in list(self._words.items()):
            if word_id >= len(self._frequency) or self._frequency[word_id] <= 0:
                continue
            entries = self._of_word(word_id).astype(np.int64)
            entries = entries[: np.searchsorted(entries, self.count << TF_BITS)]
            target = place[entries >> TF_BITS]
            kept = target >= 0
            packed = (target[kept] << TF_BITS) | (entries[kept] & TF_MAX)
            renumbered[word_id] = view._words[word] = len(lists)
            lists.append(np.sort(packed))
        view._frequency = np.array([len(entries) for entries in lists], dtype=np.int32)
        view._entries = _narrow(np.concatenate(lists)) if lists else view._entries
        view._ends = np.concatenate([[0], np.cumsum(view._frequency)])
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

    def ceiling(self, words: Iterable[str]) -> float:
        """Return the BM25 score of a row that held every word many times."""
        return math.fsum(self._weigh(word)[2] for word in set(words))

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
        evidence = np.zeros(self.count, dtype=np.float32)
        # Sorted, so that sums do not depend on the order of a set.
        known, units, squares = [], 0.0, 0.0
        for word in sorted(set(words)):
            word_id, unit, weight = self._weigh(word)
            units += unit
            squares += weight * weight
            if word_id >= 0:
                known.append((self._of_word(word_id), weight, unit))
        if not known:
            return bm25, evidence
        lists, weights, counted = zip(*known, strict=True)
        starts = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(entries) for entries in lists], out=starts[1:])
        average = self._live_length / self.live_count if self._live_length > 0 else 1.0
        add_words_into(
            np.concatenate(lists, dtype=np.int64),
            starts,
            np.array((weights, counted), dtype=np.float32),
            self._lengths,
            np.array((average, units, math.sqrt(squares))),
            bm25,
            evidence,
        )
        return bm25, evidence

    def holders(self, word: str) -> tuple[NDArray[np.int64], float]:
        """Find the rows that hold one word.

        Returns:
            rows int64[h], ascending, removed ones included; and the word's rarity in (0, 1],
            1 for a word that a single row of many holds.
        """
        word_id, _, weight = self._weigh(word)
        if word_id < 0:
            return np.zeros(0, dtype=np.int64), 1.0
        entries = self._of_word(word_id)
        held = entries[: np.searchsorted(entries, self.count << TF_BITS)]
        rows = held.astype(np.int64) >> TF_BITS
        rarest = _idf(self.live_count, min(1.0, self.live_count)) * (K1 + 1)
        return rows, min(1.0, weight / rarest)

    def _weigh(self, word: str) -> tuple[int, float, float]:
        """Return a word's list (-1 = none), its unit as a match, and its BM25 ceiling."""
        word_id = self._words.get(word, -1)
        # A word that only a later view knows is unknown to this one.
        if word_id >= len(self._frequency):
            word_id = -1
        unit = SINGLE_HAN_UNIT if is_single_han(word) else 1.0
        frequency = float(self._frequency[word_id]) if word_id >= 0 else 0.0
        return word_id, unit, unit * _idf(self.live_count, frequency) * (K1 + 1)

    def _next(self) -> Postings:
        """Return a copy of the view that shares its storage."""
        view = Postings.__new__(Postings)
        view.__dict__.update(self.__dict__)
        return view

    def _packed(
        self, documents: Sequence[Tokens]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return of each word in each document, document by document: word, document, entry."""
        known = self._words
        number_of = known.setdefault
        numbers = [number_of(word, len(known)) for doc in documents for word in doc.words]
        lengths = [len(document.words) for document in documents]
        rows = np.repeat(np.arange(len(documents)), lengths)
        # One number for each pair, in the order of documents.
        pairs, counts = np.unique(rows * max(1, len(known)) + numbers, return_counts=True)
        rows, ids = np.divmod(pairs.astype(np.int64), max(1, len(known)))
        return ids, rows, (self.count + rows) << TF_BITS | np.minimum(counts, TF_MAX)

    def _of_word(self, word_id: int) -> Entries:
        """Return the entries of a word, those of newer views included."""
        own = self._lists.get(word_id)
        if own is not None:
            return own
        start, end = self._ends[word_id : word_id + 2] if word_id + 1 < len(self._ends) else (0, 0)
        return self._entries[start:end]

    def _extend(self, word_id: int, packed: NDArray[np.int64]) -> None:
        """Append entries of new rows to a word's list; older views stop before them."""
        entries = held = self._of_word(word_id)
        # What a write left that was given up is written over.
        used = int(np.searchsorted(held, self.count << TF_BITS))
        needed = used + len(packed)
        if word_id not in self._lists or needed > len(held):
            entries = np.full(needed + needed // 2, NO_ENTRY, dtype=np.int64)
            entries[:used] = held[:used]
        entries[used:needed] = packed
        self._lists[word_id] = entries


def _narrow(entries: NDArray[np.int64]) -> Entries:
    """The same entries, in half of the room where they fit."""
    fits = not len(entries) or entries.max() <= np.iinfo(np.int32).max
    return entries.astype(np.int32) if fits else entries


def _idf(live_count: int, frequency: float) -> float:
    """Rarity of a word: Robertson-Sparck Jones with 1 added, so that it stays positive."""
    return math.log(1 + (live_count - frequency + 0.5) / (frequency + 0.5))
