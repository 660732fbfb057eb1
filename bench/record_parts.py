"""What every channel says of every memory of a store, as a real server explains it.

Each question is asked in slices of the store, by id, with no cut and with its parts explained, so
that no candidate is missing. A memory that the server holds back (superseded, expired) is none.
Invariant: weights, bias and factors recorded reproduce the served scores.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from recalld.bench import baselines, next_day_calls, ranked
from recalld.bench.next_day import Store
from recalld.bench.ranked import Corpus
from recalld.bench.report import Step
from recalld.bench.target import CALL_TIMEOUT_S, Target, clock
from recalld.v1.recall_service_pb2 import Channel, Hit, RecallRequest
from recalld.v1.types_pb2 import Condition, Filter, StringSet

SLICE_COUNT = 100  # memories in one answer; the longest ones of that many stay below its limit
WORKERS = 2
CHANNEL_COUNT = len(Channel.values()) - 1  # a channel's column is its number on the wire less one

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recorded:
    """One question and all its candidates.

    Attributes:
        set_name, store, category: where it comes from.
        text: the question.
        documents: candidates as trivial rankers see them.
        needed: positions of the candidates it needs; empty where it needs none.
        needed_count: how many it needs, those included that are no candidates.
        firsts: positions of those that should come first; `has_first`: it has such, here or not.
        all_counts: found means all needed ones, not one of them.
        channels: float64[m, CHANNEL_COUNT], normalised, in 0..1.
        factors: float64[m], product of all factors, in (0, 1].
        served: float64[m], scores.
        weights: float64[CHANNEL_COUNT] of the server; bias: beside them.
    """

    set_name: str
    store: str
    category: str
    text: str
    documents: Sequence[baselines.Document]
    needed: NDArray[np.int64]
    needed_count: int
    firsts: NDArray[np.int64]
    has_first: bool
    all_counts: bool
    channels: Floats
    factors: Floats
    served: Floats
    weights: Floats
    bias: float


@dataclass(frozen=True)
class _Wanted:
    """A question as it goes to the server, and its labels."""

    store: str
    category: str
    request: RecallRequest
    needed: frozenset[str]
    firsts: frozenset[str]
    all_counts: bool


def of_corpus(target: Target, corpus: Corpus, set_name: str, step: Step) -> list[Recorded]:
    """Stores a corpus and records all its questions."""
    stored = ranked.store(target, corpus, f"{uuid4().hex[:8]}-{corpus.name}", step)
    wanted = [
        _Wanted(
            corpus.name, q.category, ranked.request_of(q, stored), q.gold, q.gold, all_counts=False
        )
        for q in corpus.questions
    ]
    items = {memory_id: frozenset(records) for memory_id, records in stored.records.items()}
    return _record(target, set_name, wanted, items, ranked.asked_at(corpus))


def of_next_day(target: Target, store: Store, set_name: str, step: Step) -> list[Recorded]:
    """Stores the scenarios of a pool and records all their questions."""
    owners = next_day_calls.remember(target, store, f"{uuid4().hex[:8]}/{store.name}", step)
    wanted = [
        _Wanted(
            store.name,
            case.kind,
            next_day_calls.request_of(case, owners),
            case.must,
            frozenset([case.best]) if case.best else frozenset(),
            all_counts=True,
        )
        for case in store.cases
    ]
    mine = store.cases[0].user
    items = {i: frozenset(ids) for i, ids in owners.items.items() if owners.owner[i] == mine}
    return _record(target, set_name, wanted, items, store.now)


def _record(
    target: Target,
    set_name: str,
    wanted: Sequence[_Wanted],
    items: dict[str, frozenset[str]],
    now: datetime,
) -> list[Recorded]:
    def one(question: _Wanted) -> Recorded:
        hits = {hit.memory.id: hit for hit in _hits(target, question.request, list(items), now)}
        ids = [i for i in items if i in hits]  # in the order of writing
        return _recorded(set_name, question, [hits[i] for i in ids], [items[i] for i in ids])

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, wanted))


def _hits(target: Target, asked: RecallRequest, ids: list[str], now: datetime) -> list[Hit]:
    hits: list[Hit] = []
    for start in range(0, len(ids), SLICE_COUNT):
        some = StringSet(values=ids[start : start + SLICE_COUNT])
        request = RecallRequest()
        request.CopyFrom(asked)
        request.MergeFrom(
            RecallRequest(
                k=SLICE_COUNT, min_score=0.0, explain=True, filter=Filter(must=[Condition(id=some)])
            )
        )
        answer = target.recall.Recall(request, metadata=clock(now), timeout=CALL_TIMEOUT_S)
        if answer.degraded:
            raise ValueError(f"the server cut an answer short: {', '.join(answer.degraded)}")
        hits += answer.hits
    return hits


def _recorded(
    set_name: str, question: _Wanted, hits: Sequence[Hit], items: Sequence[frozenset[str]]
) -> Recorded:
    channels = np.zeros((len(hits), CHANNEL_COUNT))
    weights = np.zeros(CHANNEL_COUNT)
    for row, hit in enumerate(hits):
        for part in hit.parts.channels:
            channels[row, part.channel - 1] = part.normalised
            weights[part.channel - 1] = part.weight

    def positions(labels: frozenset[str]) -> NDArray[np.int64]:
        return np.flatnonzero([not labels.isdisjoint(item) for item in items])

    return Recorded(
        set_name=set_name,
        store=question.store,
        category=question.category,
        text=question.request.text,
        documents=[document(hit) for hit in hits],
        needed=positions(question.needed),
        needed_count=len(question.needed),
        firsts=positions(question.firsts),
        has_first=bool(question.firsts),
        all_counts=question.all_counts,
        channels=channels,
        factors=np.array([_factor(hit) for hit in hits]),
        served=np.array([hit.score for hit in hits]),
        weights=weights,
        bias=hits[0].parts.bias if hits else 0.0,
    )


def document(hit: Hit) -> baselines.Document:
    """A hit as trivial rankers see it."""
    memory = hit.memory
    return baselines.Document(
        memory.content, memory.event_time.ToDatetime(), int(memory.importance)
    )


def _factor(hit: Hit) -> float:
    return float(hit.parts.decay * hit.parts.importance * hit.parts.confidence)
