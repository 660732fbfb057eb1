"""Signals that might tell a request that needs a memory from one that needs none.

Each is one number of a recorded question, higher where a memory is needed; how well it separates is
its AUROC. Nothing here decides anything.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from recalld.bench.fit import Mix
from recalld.bench.metrics import auroc
from recalld.bench.record_parts import Recorded
from recalld.bench.report import Cell, Table
from recalld.v1.recall_service_pb2 import Channel

Signal = Callable[[Recorded, Mix], float]


def top_score(question: Recorded, mix: Mix) -> float:
    """The best score."""
    return float(mix.scores(question).max())


def lead(question: Recorded, mix: Mix) -> float:
    """How far the best is above the second, in log-odds."""
    second, best = np.sort(mix.logits(question))[-2:]
    return float(best - second)


def above_store(question: Recorded, mix: Mix) -> float:
    """How far the best is above the middle of the store, in log-odds."""
    logits = mix.logits(question)
    return float(logits.max() - np.median(logits))


def standing_out(question: Recorded, mix: Mix) -> float:
    """The same, in spreads of the store."""
    logits = mix.logits(question)
    return float((logits.max() - logits.mean()) / max(float(logits.std()), 1e-9))


def fifth(question: Recorded, mix: Mix) -> float:
    """The fifth-best score: whether the store speaks of it more than once."""
    scores = np.sort(mix.scores(question))
    return float(scores[-min(5, len(scores))])


def agreement(question: Recorded, mix: Mix) -> float:
    """The weaker of similarity and relevance, where it is strongest."""
    similarity = question.channels[:, Channel.CHANNEL_VECTOR - 1]
    relevance = question.channels[:, Channel.CHANNEL_RELEVANCE - 1]
    return float(np.minimum(similarity, relevance).max())


def best_of(channel: int) -> Signal:
    """The most that one channel says of any memory."""
    return lambda question, mix: float(question.channels[:, channel - 1].max())


SIGNALS: Mapping[str, Signal] = {
    "top score": top_score,
    "best above second": lead,
    "best above the store's middle": above_store,
    "best in spreads of the store": standing_out,
    "fifth score": fifth,
    "similarity and relevance agree": agreement,
    "best similarity": best_of(Channel.CHANNEL_VECTOR),
    "best relevance": best_of(Channel.CHANNEL_RELEVANCE),
    "best shared words": best_of(Channel.CHANNEL_KEYWORD),
}


def table(by_set: Mapping[str, Sequence[Recorded]], mixes: Mapping[str, Mix]) -> Table:
    """AUROC of every signal, per set that has requests of both sorts.

    Args:
        by_set: questions by the name of their set.
        mixes: weights to read the scores with, by name: one row of "top score" for each.
    """
    sets = {name: some for name, some in by_set.items() if len({_needs(q) for q in some}) == 2}
    rows: list[list[Cell]] = [
        [f"{name}, {mix_name} weights", *(_separates(signal, some, mix) for some in sets.values())]
        for mix_name, mix in mixes.items()
        for name, signal in SIGNALS.items()
    ]
    counts: list[Cell] = [
        f"{sum(map(_needs, some))} / {sum(not _needs(q) for q in some)}" for some in sets.values()
    ]
    title = "AUROC of a request that needs a memory against one that needs none"
    return Table(title, ["signal", *sets], [["requests that need one / none", *counts], *rows])


def _needs(question: Recorded) -> bool:
    return question.needed_count > 0


def _separates(signal: Signal, questions: Sequence[Recorded], mix: Mix) -> float:
    return auroc(
        [signal(q, mix) for q in questions if _needs(q)],
        [signal(q, mix) for q in questions if not _needs(q)],
    )
