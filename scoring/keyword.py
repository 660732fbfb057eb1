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
# An entry packs a row and its term frequency: row << TF_BITS | tf.
TF_BITS = 8
TF_MAX = (1 << TF_BITS) - 1
# Unused capacity: greater than any entry, so a reader stops at it.
NO_ENTRY = np.iinfo(np.int64).max


@kernel("i64[:]", "i64[:]", "f32[:,:]", "f32[:]", "f64", "out f32[:]", "out f32[:]")
def add_words_into(entries, starts, words, lengths, average, score, matched):  # type: ignore[no-untyped-def]
    """Add each word's share to the score of every row that holds it.

    Args:
        entries: int64[e], the words' lists one behind the other, each packed and ascending; entries
            of rows beyond `score` are ignored.
        starts: int64[w + 1], where each list begins and the last one ends.
        words: float32[2, w]: `unit * idf * (k1 + 1)`, and the unit, how much the word counts as a
            match, in (0, 1].
        lengths: float32[>= n], tokens per row.
        average: mean length of live rows, > 0.
        score: float32[n], added to.
        matched: float32[n], added to: units of query words the row holds.
    """
    count = score.shape[0]
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
            matched[row] += unit
