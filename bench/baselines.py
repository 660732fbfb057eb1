"""Rankers that look at one thing only, computed locally on the questions a server is asked.

They say how hard a set is: a figure means nothing without them. They never talk to a server.
Invariants: equal scores keep the order of the documents; BM25 leaves out what shares no word.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

BM25_K1 = 1.2
BM25_B = 0.75
HAN_SHARE_MIN = 0.2  # from this share of texts with Han characters on, a corpus counts as Chinese

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_RUN = re.compile(rf"[{_HAN}]+|[a-z0-9]+")
_WORD = re.compile(r"[a-z0-9]+")
_STOP_TEXT = """
a about after again all also am an and any are as at be because been before being but by can
could did do does doing down during each few for from further had has have having he her here
hers him his how i if in into is it its itself just me more most my myself no nor not now of
off on once only or other our ours out over own same she should so some such than that the
their theirs them then there these they this those through to too under until up very was we
were what when where which while who whom why will with would you your yours
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())

Tokenizer = Callable[[str], list[str]]


@dataclass(frozen=True)
class Document:
    """What a trivial ranker may see of a memory."""

    text: str
    time: datetime
    importance: int = 0  # higher matters more; 0 throughout where a set has none


def tokens_en(text: str) -> list[str]:
    """Lower-cased English words without stop words, suffixes stripped crudely."""
    words = _WORD.findall(text.lower().replace("'", "").replace("’", ""))
    return [_stem(word) for word in words if word not in _STOP_WORDS]


def tokens_zh(text: str) -> list[str]:
    """Character bigrams inside each run of Han characters; Latin and digit runs stay whole."""
    tokens = []
    for run in _RUN.findall(text.lower()):
        if run[0].isascii() or len(run) == 1:
            tokens.append(run)
        else:
            tokens += [run[i : i + 2] for i in range(len(run) - 1)]
    return tokens


def tokenizer_for(texts: Sequence[str]) -> Tokenizer:
    """The tokenizer that suits a corpus, by its share of texts with Han characters."""
    han_count = sum(1 for text in texts if _HAN_CHARACTER.search(text))
    return tokens_zh if han_count >= HAN_SHARE_MIN * max(1, len(texts)) else tokens_en


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for suffix, kept in (("sses", 2), ("ing", 0), ("edly", 0), ("ed", 0), ("ly", 0)):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: len(word) - len(suffix) + kept]
            doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
            return word[:-1] if doubled else word
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class Bm25:
    """Okapi BM25 over a fixed corpus.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; the idf is
    Lucene's, which is never negative.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._count = len(texts)
        documents = [tokenizer(text) for text in texts]
        lengths = np.array([len(d) for d in documents], dtype=np.float64)
        average = max(float(lengths.mean()), 1e-9) if documents else 1.0
        norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths / average)
        occurrences: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for i, document in enumerate(documents):
            for token, count in Counter(document).items():
                occurrences[token].append((i, count))
        self._weights: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for token, pairs in occurrences.items():
            rows = np.array([i for i, _ in pairs])
            counts = np.array([c for _, c in pairs], dtype=np.float64)
            idf = math.log(1 + (self._count - len(pairs) + 0.5) / (len(pairs) + 0.5))
            self._weights[token] = rows, idf * counts * (BM25_K1 + 1) / (counts + norm[rows])

    def rank(self, query: str, k: int) -> list[int]:
        """Positions of the best k documents, best first; those that share no word are left out."""
        scores = np.zeros(self._count)
        for token in set(self._tokenizer(query)):
            if token in self._weights:
                rows, weights = self._weights[token]
                scores[rows] += weights
        order = np.argsort(-scores, kind="stable")[:k]
        return [int(i) for i in order if scores[i] > 0]


Ranker = Callable[[str, int], list[int]]


def rankers(documents: Sequence[Document]) -> dict[str, Ranker]:
    """The trivial rankers of one corpus, by name.

    Returns:
        Functions from query text and k to positions in `documents`, best first. `most important`
        is there only if the documents differ in importance.
    """
    texts = [d.text for d in documents]
    named: dict[str, Ranker] = {"BM25": Bm25(texts, tokenizer_for(texts)).rank}
    by: dict[str, Callable[[Document], float]] = {
        "newest first": lambda d: d.time.timestamp(),
        "longest first": lambda d: len(d.text),
    }
    if len({d.importance for d in documents}) > 1:
        by["most important first"] = lambda d: d.importance
    for name, value in by.items():
        named[name] = _fixed_order(documents, value)
    return named


def _fixed_order(documents: Sequence[Document], value: Callable[[Document], float]) -> Ranker:
    order = sorted(range(len(documents)), key=lambda i: -value(documents[i]))
    return lambda query, k: order[:k]
