"""Warm-up: calls every kernel once with the real types, before the server reports ready.

Loading compiled code from the cache, or compiling it where there is none, then never falls on a
request. It never keeps anything.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring import (
    affinity,
    best,
    decay,
    hand_over,
    keyword,
    masks,
    params,
    rank,
    rivals,
    scan,
    sketch,
    topk,
    witness,
)
from recalld.scoring.params import Channel, Fusion

_ROWS = np.zeros(1, dtype=np.int64)


def warm() -> None:
    """Call every kernel once, on one tiny row."""
    _warm_vectors()
    _warm_words()
    _warm_ranking()
    small = np.ones(1, dtype=np.uint8)
    kinds, times = _facts()[1:3]
    masks.odd_into(small, kinds, times, small.copy())
    view, wanted = np.zeros(masks.VIEW_COUNT, np.int64), np.ones(params.STATUS_COUNT, np.uint8)
    columns = small, kinds, times, np.zeros(1, dtype=np.int32)
    masks.view_into(_ROWS, columns, view, wanted, small.copy())
    masks.filter_into(small > 0, small.copy())
    masks.passing(small, int(masks.tally(small)[0]))


def _one() -> rank.Floats:
    return np.ones(1, dtype=np.float32)


def _facts() -> rank.Facts:
    small = np.ones((masks.SMALL_COUNT, 1), dtype=np.uint8)
    times = np.zeros((masks.TIME_COUNT, 1), dtype=np.int64)
    return np.ones(1, dtype=np.int64), small, times, _one()


def _warm_vectors() -> None:
    vector, weights = np.ones((1, 1), dtype=np.float32), _one()
    codes, steps = scan.quantise(vector)
    queries, query_steps = scan.query_codes(vector)
    scale = params.Scale(0.0, 1.0).numbers()
    scan.first_unfit(vector, 1, 0.1)
    scan.unit_into(_one(), _one())
    scan.scan_into(codes, steps, _ROWS, queries[0], query_steps[0], _one())
    asked = queries, query_steps
    scan.roughly_nearest_into((codes, steps), _ROWS, asked, weights, scale, _one())
    scan.rescore_into(vector, _ROWS, vector[0], _one())
    scan.nearest_into(vector, _ROWS, vector, weights, scale, _one(), _one())
    signs = np.zeros((1, 1, sketch.BLOCK_COUNT), np.uint64)
    terms = np.ones((1, sketch.TERM_COUNT, sketch.BLOCK_COUNT), np.float32)
    planes, numbers = np.zeros((sketch.PLANE_COUNT, 1), np.uint64), np.ones(5, np.float32)
    sketch.turn_into(vector, vector.copy())
    sketch.levels_into(_one(), planes.copy(), np.empty(3, np.float32))
    sketch.reach_into(signs, terms, planes, numbers, _one())
    sketch.add_reach_into(_one(), scale, 1.0, 1.0, _one())
    sketch.leave_out_into(np.ones(1, np.uint8), _one())


def _warm_words() -> None:
    entries = np.array([1, keyword.NO_ENTRY], dtype=np.int64)
    starts = np.array([0, 2], dtype=np.int64)
    words = np.ones((2, 1), dtype=np.float32)
    keyword.add_words_into(entries, starts, words, _one(), np.ones(3), _one(), _one())
    passes, numbers = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int32)
    matrix = np.ones((1, 1), dtype=np.float32)
    affinity.roles_into(matrix, _one(), (numbers, _ROWS), (passes, _ROWS), 0.5, 0.5, _one())
    cues = matrix, _ROWS, _one()
    affinity.cues_into(cues, matrix, (matrix, _one()), np.arange(4.0), _one(), _one())
    affinity.nearest_cues_into(_ROWS, _ROWS, (_one(), _one()), _one(), _one(), _ROWS.copy())
    hand_over.handing_on_into(passes, passes, _ROWS, _ROWS, _ROWS.copy())
    hand_over.inherit_into(_ROWS, _ROWS, _one(), _one(), passes.copy())
    hand_over.beside_into(_one(), passes, (_ROWS, _ROWS), 1.0, _one(), _one())


def _warm_ranking() -> None:
    table = decay.factor_table(params.RankParams(0.0, 1.0))
    rules = table, np.ones(best.SETTING_COUNT, dtype=np.int64)
    said = {Channel.VECTOR: (_one(), _one())}
    weights = rank.make_weights(Fusion.WEIGHTED, frozenset(said), {})
    candidates = rank.Candidates(_ROWS, said, _facts(), rules)
    found = rank.rank(candidates, weights, 1, None)
    marks = _ROWS.copy()
    witness.marks_into(found.said, weights.channels, _ROWS, np.ones(1), marks)
    rank.promising(candidates._replace(rows=np.zeros(2, np.int64)), weights, 1, 0.1)
    rivals.rivals_into(_one(), *_facts()[1:3], 1, table, rivals.make_bars(0.5), _ROWS.copy())
    topk.select(_one(), _ROWS, _ROWS, 1)
