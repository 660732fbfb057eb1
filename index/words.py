"""Words: what the words, identifiers and keys of a request say of every row of a partition.

It needs no vector, so it is done while the model is still at work.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from recalld.index.analyzer import Analyzer, Tokens
from recalld.index.columns import KEY, Columns, IndexRow
from recalld.index.evidence import Floats, Words
from recalld.index.generation import Generation
from recalld.index.postings import Postings
from recalld.scoring.fuse import normalise_keyword
from recalld.scoring.params import Channel

# Keyword evidence of a run of three Chinese characters that a single row holds.
PHRASE_EVIDENCE = np.float32(0.12)
# Runs of a request that are looked for.
PHRASE_COUNT_MAX = 32


def searched_text(row: IndexRow) -> str:
    """The text in which words are looked for: the row's own, and its key."""
    return f"{row.text}\n{row.key}" if row.key else row.text


def read_words(
    analyzer: Analyzer, generation: Generation, texts: Sequence[str], weights: Sequence[float]
) -> Words:
    """Return raw and normalised scores, float32[n] each, per channel.

    Args:
        analyzer: the one that made the postings.
        generation: the rows.
        texts: of the request first, then of earlier turns.
        weights: one per text, in (0, 1]; the best weighted text counts for each row.
    """
    out: Words = {}
    for text, weight in zip(texts, weights, strict=False):
        tokens = analyzer.analyze(text)
        bm25, evidence = generation.postings.score(tokens.words)
        keyword = normalise_keyword(evidence)
        for row in _held_phrases(generation.postings, tokens.words):
            keyword[row] = min(1.0, keyword[row] + PHRASE_EVIDENCE)
        found: Words = {Channel.KEYWORD: (bm25, keyword)}
        identifiers = _identifiers(generation.postings, tokens)
        if identifiers is not None:
            found[Channel.IDENTIFIER] = (identifiers, identifiers)
        keys = _keys(generation.columns, text, tokens)
        if keys is not None:
            found[Channel.KEY] = (keys, keys)
        for channel, (raw, normalised) in found.items():
            scaled = normalised if weight == 1.0 else normalised * np.float32(weight)
            if channel in out:
                raw = np.where(scaled > out[channel][1], raw, out[channel][0])
                scaled = np.maximum(scaled, out[channel][1])
            out[channel] = (raw, scaled)
    return out


def _held_phrases(postings: Postings, words: Sequence[str]) -> set[int]:
    """Rows that alone hold three Chinese characters of the query in their order.

    A name is such a run. Characters and pairs shared by chance say less than their number does.
    """
    pairs = [(one, two) for one, two in pairwise(words) if len(one) == len(two) == 2]
    runs = [(one, two) for one, two in pairs if one[1] == two[0] and not one.isascii()]
    found = set()
    for one, two in runs[:PHRASE_COUNT_MAX]:
        rows = np.intersect1d(postings.holders(one)[0], postings.holders(two)[0])
        if len(rows) == 1:
            found.add(int(rows[0]))
    return found


def _identifiers(postings: Postings, tokens: Tokens) -> Floats | None:
    """Share of the query's identifiers that a row holds whole, each by its squared rarity."""
    if not tokens.identifiers:
        return None
    share = np.zeros(postings.count, dtype=np.float32)
    for word in sorted(tokens.identifiers):
        rows, rarity = postings.holders(word)
        share[rows] += np.float32(rarity * rarity / len(tokens.identifiers))
    return np.minimum(share, np.float32(1.0))


def _keys(columns: Columns, text: str, tokens: Tokens) -> Floats | None:
    """Mark rows whose key the query is, or names as one of its identifiers."""
    whole = unicodedata.normalize("NFC", text).strip()
    names = {whole, whole.lower(), *tokens.identifiers} - {""}
    numbers = [columns.dictionaries[KEY].number(name) for name in sorted(names)]
    numbers = [number for number in numbers if number >= 0]
    if not numbers:
        return None
    return np.isin(columns.strings[KEY, : columns.count], numbers).astype(np.float32)
