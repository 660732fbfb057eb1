"""Candidates: which of very many rows are worth their exact evidence.

One pass over the sketches bounds what each row can reach; a few of the best, looked at exactly,
say what has to be reached. What is dropped could not have been among the best k, so the answer is
that of looking at every row. Among so many rows that even a bit for each is too much, a graph
proposes near ones; then some may be missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.index.evidence import Parts, Words
from recalld.index.generation import Generation
from recalld.index.plan import QueryPlan
from recalld.index.sketch import PASS_SHARE_MIN, highest
from recalld.scoring.best import NOW
from recalld.scoring.params import Fusion
from recalld.scoring.rank import Candidates, Floats, Rows, Weights, rank
from recalld.scoring.rivals import make_bars, rivals_into
from recalld.scoring.sketch import add_reach_into, leave_out_into
from recalld.scoring.topk import kth_largest

# Of the rows that may reach most, this many per hit are looked at exactly to find the bar.
PROBES_PER_HIT = 4
PROBE_COUNT_MIN = 64
# Up to this many rows that match, a look at each costs no more than finding the few.
LOOK_COUNT_MAX = 2_000
# The graph is asked for this many rows per hit wanted, and never for fewer than the minimum.
GRAPH_PER_HIT = 4
GRAPH_COUNT_MIN = 256
# Rows with the most evidence of each other channel that join what the graph proposes.
OTHERS_COUNT = 256
# Where fewer rows match, the graph visits so many in vain that a pass over sketches costs less.
GRAPH_SHARE_MIN = 0.5


def is_for_graph(generation: Generation, matched: int) -> bool:
    """Tell whether `proposed` can answer, and faster than a pass over all rows."""
    count = generation.columns.count
    return generation.graph is not None and matched >= GRAPH_SHARE_MIN * count


def proposed(
    generation: Generation,
    plan: QueryPlan,
    parts: Parts,
    excluded: NDArray[np.uint8],
    words: Words,
) -> Rows:
    """Find near rows by the graph, and the best of every other channel.

    Args:
        generation: the rows, n of them, with a graph.
        plan: the question.
        parts: the vector channels asked, at least one.
        excluded: uint8[n], 0 = may answer.
        words: what is said of every row without its vector.

    Returns:
        int64, ascending; some of the best may be missing.
    """
    graph = generation.graph
    assert graph is not None
    passes = excluded == 0
    matched = int(np.count_nonzero(passes))
    wanted = max(GRAPH_COUNT_MIN, GRAPH_PER_HIT * plan.k)
    # Widened by how few pass, so that about `wanted` of the found ones do.
    widened = wanted * max(graph.live_count, matched) // max(1, matched) + wanted
    chosen = np.zeros(len(excluded), dtype=np.bool_)
    for query in parts[0].queries:
        chosen[graph.near(parts[0].block, query, widened)] = True
    chosen[generation.heirs.heir] = True
    for _, normalised in words.values():
        kth = kth_largest(normalised, min(OTHERS_COUNT, len(normalised)))
        chosen |= (normalised >= kth) & (normalised > 0)
    return np.flatnonzero(chosen & passes)


def is_worth_a_pass(
    generation: Generation, plan: QueryPlan, parts: Parts, matched: int, k: int
) -> bool:
    """Tell whether `reaching` can answer, and faster than a look at each matching row."""
    return (
        generation.sketch is not None
        and plan.fusion == Fusion.WEIGHTED
        and len(parts) == 1
        and matched > max(LOOK_COUNT_MAX, PASS_SHARE_MIN * generation.columns.count)
        and matched > PROBES_PER_HIT * k
    )


def reaching(
    generation: Generation,
    asked: Candidates,
    parts: Parts,
    excluded: NDArray[np.uint8],
    weights: Weights,
    k: int,
) -> Rows:
    """Find the rows that may be among the best k.

    Args:
        generation: the rows, n of them, with sketches.
        asked: what is said of every row without its vector.
        parts: the vector channel asked, one.
        excluded: uint8[n], 0 = may answer; more rows than PROBES_PER_HIT * k.
        weights: of the search, WEIGHTED.
        k: hits wanted.

    Returns:
        int64, ascending: all those whose score may reach the k-th best, and every heir.
    """
    logit = _reach(generation, asked, parts, weights)
    leave_out_into(excluded, logit)
    probes = highest(logit, max(PROBE_COUNT_MIN, PROBES_PER_HIT * k))
    # But for what they inherit, which only raises.
    said = {**asked.said, **{part.channel: part.empty() for part in parts}}
    for part in parts:
        part.exact(probes, said[part.channel])
    ranked = rank(asked._replace(rows=probes, said=said), weights, k, 0.0)
    _, small, times, _ = asked.facts
    table, settings = asked.rules
    bars = make_bars(float(ranked.scores[-1]))
    rows = np.flatnonzero(logit >= bars[-1])
    count = rivals_into(logit, small, times, int(settings[NOW]), table, bars, rows)
    rows, heirs = rows[:count], generation.heirs.heir
    # What an heir inherits is not known yet.
    if len(heirs):
        rows = np.union1d(rows, heirs[excluded[heirs] == 0])
    return rows


def _reach(generation: Generation, asked: Candidates, parts: Parts, weights: Weights) -> Floats:
    """Return the log-odds float32[n] that each row can reach."""
    assert generation.sketch is not None
    logit = np.zeros(generation.columns.count, np.float32)
    for part in parts:
        bar = float(weights.channels[part.channel])
        for query, weight in zip(part.queries, part.weights.tolist(), strict=True):
            reach = generation.sketch.reach(query)
            add_reach_into(reach, part.numbers, weight, bar, logit)
    logit += np.float32(weights.bias)
    for channel, (_, normalised) in asked.said.items():
        if weights.channels[channel]:
            logit += weights.channels[channel] * normalised
    return logit
