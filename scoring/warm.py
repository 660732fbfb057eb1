"""Warm-up: calls every kernel once with the real types, before the server reports ready.

Loading compiled code from the cache, or compiling it where there is none, then never falls on a
request. It never keeps anything.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring import decay, fuse, keyword, masks, params, rivals, scan, sketch, topk


def warm() -> None:
    """Call every kernel once, on one tiny row."""
    rows = np.zeros(1, dtype=np.int64)
    one = np.ones(1, dtype=np.float32)
    small = np.ones(1, dtype=np.uint8)
    vector = np.ones((1, 1), dtype=np.float32)
    codes, steps = scan.quantise(vector)
    scan.scan_into(codes, steps, rows, codes[0], steps[0], one.copy())
    scan.rescore_into(vector, rows, vector[0], one.copy())
    scale = params.Scale(0.0, 1.0).numbers()
    scan.nearest_into(vector, rows, vector, one, scale, one.copy(), one.copy())
    bits, planes = np.zeros((1, 1), np.uint64), np.zeros((sketch.PLANE_COUNT, 1), np.uint64)
    terms, numbers = np.ones((sketch.TERM_COUNT, 1), np.float32), np.ones(5, np.float32)
    sketch.reach_into(bits, terms, planes, numbers, one.copy())
    sketch.add_reach_into(one, scale, 1.0, 1.0, one.copy())
    entries = np.array([1, keyword.NO_ENTRY], dtype=np.int64)
    starts = np.array([0, 2], dtype=np.int64)
    words = np.ones((2, 1), dtype=np.float32)
    keyword.add_words_into(entries, starts, words, one, 1.0, one.copy(), one.copy())
    table = decay.factor_table(params.RankParams(0.0, 1.0))
    kinds = np.ones((masks.SMALL_COUNT, 1), dtype=np.uint8)
    times = np.zeros((masks.TIME_COUNT, 1), dtype=np.int64)
    decay.gather_factors(rows, kinds, times, one, (1, 1), table)
    fuse.fuse_into(vector, one, 0.0, one.copy())
    fuse.score_into(vector, one, 0.0, vector, one.copy(), one.copy())
    rivals.rivals_into(one, kinds, times, 1, table, rivals.make_bars(0.5), rows.copy())
    topk.top_into(one, rows, rows, np.zeros(1, dtype=np.int64))
    masks.view_into(
        small,
        kinds,
        times,
        np.zeros(1, dtype=np.int32),
        np.zeros(masks.VIEW_COUNT, dtype=np.int64),
        np.ones(params.STATUS_COUNT, dtype=np.uint8),
        small.copy(),
    )
