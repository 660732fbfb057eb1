"""Keyword kernel: adds the BM25 shares of a query's words to every memory that holds them.

`idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length / average))` (Robertson, Zaragoza, The
Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3). It never decides which words
matter; the postings do.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring.kernel import kernel

K1 = 1.2
B = 0.75
# Evidence of m matched words counts m^2 / (m^2 + 2): one shared word is often chance. Or, where
# more, the fourth power of the matched share of the request: half of it counts next to nothing.
COORDINATION = 2.0
# An entry packs a row and its term frequency: row << TF_BITS | tf.
TF_BITS = 8
TF_MAX = (1 << TF_BITS) - 1
# Unused capacity: greater than any entry, so a reader stops at it.
NO_ENTRY = np.iinfo(np.int64).max


@kernel("i64[:]", "i64[:]", "f32[:,:]", "f32[:]", "f64[:]", "out f32[:]", "out f32[:]")
def add_words_into(entries, starts, words, lengths, sums, score, evidence):  # type: ignore[no-untyped-def]
    """Add each word's share to the score of every row that holds it, then weigh the scores.

    Args:
        entries: int64[e], the words' lists one behind the other, each packed and ascending; entries
            of rows beyond `score` are ignored.
        starts: int64[w + 1], where each list begins and the last one ends.
        words: float32[2, w]: `unit * idf * (k1 + 1)`, and the unit, how much the word counts as a
            match, in (0, 1].
        lengths: float32[>= n], tokens per row.
        sums: float64[3], > 0 each: mean length of live rows, units of all words of the query, and
            the spread that chance matches of it would have.
        score: float32[n], zeros; written with BM25.
        evidence: float32[n], zeros; written with BM25 over the spread, times the share by matched
            words.
    """
    count = score.shape[0]
    average, units, spread = sums[0], sums[1], sums[2]
    for w in range(starts.shape[0] - 1):
        weight = np.float64(words[0, w])
        unit = words[1, w]
        for i in range(starts[w], starts[w + 1]):
            row = entries[i] >> TF_BITS
            if row >= count:
                break
            tf = np.float64(entries[i] & TF_MAX)
            norm = K1 * (1.0 - B + B * lengths[row] / average)
            score[row] += np.float32(weight * tf / (tf + norm))
            evidence[row] += unit
    share, scale = np.float32(1.0 / units), np.float32(1.0 / spread)
    for row in range(count):
        matched = evidence[row]
        if matched > 0:
            square = matched * matched
            # A short request that is held whole is no chance, however few its words are.
            half = matched * share * matched * share
            together = max(square / (square + np.float32(COORDINATION)), half * half)
            evidence[row] = score[row] * together * scale
