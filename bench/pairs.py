"""Relevance pairs that training never saw, as stores of about three hundred memories.

Each item brings the memories that its request needs and some that look closer; a few requests need
none. Pooled, every request is put to all of them. Training leaves these items out.
"""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recalld.bench.ranked import Corpus, Question, Record
from recalld.index.relevance_pairs import Pair, read_pairs, split
from recalld.v1.types_pb2 import MemoryKind

STORE_COUNT = 300  # memories of a store, about
SEED = 0  # of the order of items, so that a store mixes domains
START = datetime(2026, 1, 1, tzinfo=UTC)
SPACING = timedelta(minutes=1)
NEEDED, NEEDLESS = "needs a memory", "needs none"


def load(folder: Path) -> list[Corpus]:
    """The kept-out items of a folder of pair files, mixed and pooled.

    Raises:
        PairsInvalid: there are none, or a line is malformed.
    """
    _, kept_out = split(read_pairs(folder))
    random.Random(SEED).shuffle(kept_out)
    stores: list[list[Pair]] = [[]]
    for pair in kept_out:
        if sum(len(p.relevant) + len(p.distractors) for p in stores[-1]) >= STORE_COUNT:
            stores.append([])
        stores[-1].append(pair)
    return [_corpus(f"pairs-{i}", pairs) for i, pairs in enumerate(stores)]


def _corpus(name: str, pairs: list[Pair]) -> Corpus:
    # By text: what two items share is one memory, and what any of them needs counts for it.
    texts = dict.fromkeys(text for p in pairs for text in (*p.relevant, *p.distractors))
    order = random.Random(SEED).sample(list(texts), len(texts))  # so that newest says nothing
    ids = {text: str(i) for i, text in enumerate(order)}
    records = [
        Record(i, text, START + int(i) * SPACING, kind=MemoryKind.MEMORY_KIND_FACT)
        for text, i in ids.items()
    ]
    questions = [
        Question(
            p.request, frozenset(ids[t] for t in p.relevant), NEEDED if p.relevant else NEEDLESS
        )
        for p in pairs
    ]
    return Corpus(name, records, questions)
