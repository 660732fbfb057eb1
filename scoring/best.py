"""Best: one pass over candidates that sums their channels, weighs them and keeps the best k.

`score = base * decay * importance * confidence`. Factors are at most 1, so a candidate whose base
alone is below the k-th best score is passed over before its factors are looked at: of many
candidates only few cost more than an addition for each channel. It never chooses candidates.

Invariants: the order is total (score descending, then newer, then larger label), so the order of
the candidates changes nothing; one whose score is NaN is never among the best.

Arguments that several kernels share; all but `rows`, `numbers` and `rules` are indexed by row:
    rows: int64[m], distinct, the candidates.
    channels: what each channel says, normalised to 0..1, then its own numbers: float32[n] each, or
        float32[0] where it says nothing.
    facts: labels int64[capacity], uint8[SMALL_COUNT, capacity], int64[TIME_COUNT, capacity] in
        microseconds (see `scoring.masks`) and confidence float32[capacity], in [0, 1].
    numbers: float64[NUMBER_COUNT], the weights of the channels and what is named below.
    rules: float64[TABLE_ROWS, KIND_COUNT] from `decay.factor_table`, and int64[SETTING_COUNT].
"""

from __future__ import annotations

import numpy as np

from recalld.scoring.decay import (
    BY_DOUBT,
    BY_IMPORTANCE,
    BY_SPEAKER,
    CONFIDENCE_ROW,
    DECAY_ROW,
    DOUBT_FLOOR,
    FACTOR_COUNT,
    FADE_FLOOR,
    HALF_LIFE,
    IMPORTANCE_ROW,
    PAST_FLOOR,
)
from recalld.scoring.kernel import kernel
from recalld.scoring.masks import ANCHOR_TIME, DOUBT, IMPORTANCE, KIND, PAST_TIME, STATED_BY
from recalld.scoring.params import CHANNEL_COUNT, PINNED, STATE, US_PER_S, Channel, Fusion

# Entries of `numbers` behind the weights: log-odds without evidence (infinite: every base is 1),
# and the largest error of the log-odds that the channels give.
NUMBER_COUNT = CHANNEL_COUNT + 2
BIAS, SLACK = range(CHANNEL_COUNT, NUMBER_COUNT)
# Entries of `settings`: the clock; the moment at which rows are past their time; whether those that
# lie in the time asked about are not; the row of times that breaks ties; a number of `Fusion`.
SETTING_COUNT = 5
NOW, PAST_AT, SPARES_ASKED, NEWER_BY, FUSION = range(SETTING_COUNT)
# Rows of the parts of a score: the factors first, then these; `IS_PAST` is 0 or 1.
PART_COUNT = FACTOR_COUNT + 3
BASE, SCORE, IS_PAST = range(FACTOR_COUNT, PART_COUNT)
# Whatever lies within this share of a score to reach is kept: float32 rounding.
ROUNDING = 1e-5

_TIME_RAW, _RRF = CHANNEL_COUNT + int(Channel.TIME), int(Fusion.RRF)
assert CHANNEL_COUNT == 8, "the signatures below name two arrays for each channel"


@kernel(
    "f64",
    "i64",
    "f32[:]",
    "(i64[:]; u8[:,:]; i64[:,:]; f32[:])",
    "(f64[:,:]; i64[:])",
    "out f32[:]",
)
def parts_into(total, row, outside, facts, rules, parts):  # type: ignore[no-untyped-def]
    """Write the parts of one candidate's score: base, factors in (0, 1], and what they make.

    Args:
        total: its sum of evidence: the base of ranks, the log-odds of anything else.
        row: the candidate; its age is that of its anchor, the newest sign of life.
        outside: float32[n], the time channel's own numbers, or float32[0].
        facts, rules: see above.
        parts: float32[PART_COUNT], written.
    """
    _, small, times, confidence = facts
    table, settings = rules
    kind = small[KIND, row]
    importance = small[IMPORTANCE, row]
    age_us = settings[NOW] - times[ANCHOR_TIME, row]
    due_us = times[PAST_TIME, row]
    is_past = due_us != 0 and due_us <= settings[PAST_AT]
    if is_past and settings[SPARES_ASKED] != 0:
        is_past = outside[row] > 0
    # An event that has been is still what happened; only what is no longer so is faded.
    if kind == STATE and is_past:
        parts[DECAY_ROW] = np.float32(table[PAST_FLOOR, 0])
    elif importance == PINNED or age_us <= 0 or table[FADE_FLOOR, kind] == 1.0:
        parts[DECAY_ROW] = np.float32(1.0)
    else:
        floor = table[FADE_FLOOR, kind]
        left = 2.0 ** (-(age_us / US_PER_S) / table[HALF_LIFE, kind])
        parts[DECAY_ROW] = np.float32(floor + (1.0 - floor) * left)
    parts[IMPORTANCE_ROW] = np.float32(table[BY_IMPORTANCE, importance])
    doubt = table[DOUBT_FLOOR, 0]
    sure = doubt + (1.0 - doubt) * np.float64(confidence[row])
    speaker = table[BY_SPEAKER, small[STATED_BY, row]]
    doubted = table[BY_DOUBT, small[DOUBT, row]]
    parts[CONFIDENCE_ROW] = np.float32(sure * speaker * doubted)
    parts[IS_PAST] = np.float32(1.0 if is_past else 0.0)
    base = total if settings[FUSION] == _RRF else 1.0 / (1.0 + np.exp(-total))
    # Rounded first: what a reader of the parts sees is what was multiplied.
    parts[BASE] = np.float32(base)
    product = np.float64(parts[BASE])
    for f in range(FACTOR_COUNT):
        product *= np.float64(parts[f])
    parts[SCORE] = np.float32(product)


@kernel("i64[:]", "16 * f32[:]", "f64[:]", "out f64[:]")
def totals_into(rows, channels, numbers, totals):  # type: ignore[no-untyped-def]
    """Write `bias + sum weight * normalised` of each candidate.

    Args:
        rows, channels, numbers, totals: see above; `totals` is float64[m].
    """
    for i in range(rows.shape[0]):
        totals[i] = numbers[BIAS]
    for c in range(CHANNEL_COUNT):
        weight = numbers[c]
        values = channels[c]
        if weight != 0 and values.shape[0] > 0:
            for i in range(rows.shape[0]):
                totals[i] += weight * np.float64(values[rows[i]])


@kernel("f64", "i64", returns="f64")
def total_for(score, fusion):  # type: ignore[no-untyped-def]
    """Return the total below which no candidate reaches a score, whatever its factors are."""
    needed = score * (1.0 - ROUNDING)
    if fusion == _RRF:
        return needed
    return np.log(needed / (1.0 - needed)) if needed > 0 else -np.inf


@kernel("f32[:]", "i64[:,:]", "i64", "i64", "out i64[:]")
def sift_into(scores, ties, start, count, heap):  # type: ignore[no-untyped-def]
    """Let an entry of a heap sink to its place; the root is the one that comes last in the order.

    Args:
        scores, ties: float32[k] and int64[2, k], time and label, by slot.
        start: place of the entry.
        count: entries of the heap in use.
        heap: int64[k], slots.
    """
    place = start
    while 2 * place + 1 < count:
        child = 2 * place + 1
        a = heap[child]
        if child + 1 < count:
            b = heap[child + 1]
            if (scores[b], ties[0, b], ties[1, b]) < (scores[a], ties[0, a], ties[1, a]):
                child += 1
                a = b
        above = heap[place]
        if (scores[above], ties[0, above], ties[1, above]) < (scores[a], ties[0, a], ties[1, a]):
            return
        heap[place] = a
        heap[child] = above
        place = child


@kernel(
    "i64[:]",
    "f64[:]",
    "f32[:]",
    "(i64[:]; u8[:,:]; i64[:,:]; f32[:])",
    "(f64[:,:]; i64[:])",
    "out (i64[:]; f32[:,:])",
    returns="i64",
)
def keep_into(rows, totals, outside, facts, rules, best):  # type: ignore[no-untyped-def]
    """Write the best k candidates, best first, and the parts of their scores.

    Args:
        rows, outside, facts, rules: see above.
        totals: float64[m], sums of the candidates' evidence.
        best: int64[k], written with rows, and float32[k, PART_COUNT], written.

    Returns:
        How many were written: min(k, candidates whose score is a number).

    Complexity: O(m), and O(log k) for each candidate that is among the best so far.
    """
    labels, _, times, _ = facts
    settings = rules[1]
    limit = best[0].shape[0]
    found = np.empty(limit, dtype=np.int64)
    parts = np.empty((limit + 1, PART_COUNT), dtype=np.float32)
    # Every slot is full from the start, with what comes behind every candidate.
    scores = np.full(limit, np.float32(-np.inf), dtype=np.float32)
    ties = np.zeros((2, limit), dtype=np.int64)
    heap = np.arange(limit)
    own = parts[limit]
    count = 0
    reach = -np.inf
    for i in range(rows.shape[0]):
        if totals[i] < reach or limit == 0:
            continue
        row = rows[i]
        parts_into(totals[i], row, outside, facts, rules, own)
        score, time = own[SCORE], times[settings[NEWER_BY], row]
        slot = heap[0]
        # Written so that what is no number is never among the best.
        if not (score, time, labels[row]) > (scores[slot], ties[0, slot], ties[1, slot]):
            continue
        found[slot] = row
        parts[slot] = own
        scores[slot] = score
        ties[0, slot], ties[1, slot] = time, labels[row]
        sift_into(scores, ties, 0, limit, heap)
        count = min(count + 1, limit)
        reach = total_for(np.float64(scores[heap[0]]), settings[FUSION])
    for end in range(limit - 1, 0, -1):
        heap[0], heap[end] = heap[end], heap[0]
        sift_into(scores, ties, 0, end, heap)
    for place in range(count):
        best[0][place] = found[heap[place]]
        best[1][place] = parts[heap[place]]
    return count


@kernel(
    "i64[:]",
    "16 * f32[:]",
    "(i64[:]; u8[:,:]; i64[:,:]; f32[:])",
    "f64[:]",
    "(f64[:,:]; i64[:])",
    "out (i64[:]; f32[:,:])",
    "out f32[:,:]",
    returns="i64",
)
def best_into(rows, channels, facts, numbers, rules, best, evidence):  # type: ignore[no-untyped-def]
    """Write the best k candidates, best first, the parts of their scores and their evidence.

    Args:
        rows, channels, facts, numbers, rules: see above.
        best: as for `keep_into`, whose count is returned.
        evidence: float32[k, 2 * CHANNEL_COUNT], written with what the channels say of them.
    """
    totals = np.empty(rows.shape[0], dtype=np.float64)
    totals_into(rows, channels, numbers, totals)
    count = keep_into(rows, totals, channels[_TIME_RAW], facts, rules, best)
    for c in range(2 * CHANNEL_COUNT):
        values = channels[c]
        for place in range(count):
            evidence[place, c] = values[best[0][place]] if values.shape[0] > 0 else 0.0
    return count


@kernel(
    "i64[:]",
    "16 * f32[:]",
    "(i64[:]; u8[:,:]; i64[:,:]; f32[:])",
    "f64[:]",
    "(f64[:,:]; i64[:])",
    "i64",
    "out i64[:]",
    returns="i64",
)
def promising_into(rows, channels, facts, numbers, rules, k, kept):  # type: ignore[no-untyped-def]
    """Write the candidates that can be among the best k, in the order of `rows`.

    Args:
        rows, channels, facts, numbers, rules: see above; WEIGHTED fusion only.
        k: >= 1.
        kept: int64[m], written with rows: all whose highest possible score reaches the k-th of the
            lowest possible ones. Their count is returned.
    """
    totals = np.empty(rows.shape[0], dtype=np.float64)
    totals_into(rows, channels, numbers, totals)
    slack, outside = numbers[SLACK], channels[_TIME_RAW]
    best = np.empty(k, dtype=np.int64), np.empty((k, PART_COUNT), dtype=np.float32)
    found = keep_into(rows, totals - slack, outside, facts, rules, best)
    least = -np.inf
    if found == k:
        least = np.float64(best[1][k - 1, SCORE]) * (1.0 - ROUNDING)
    reach = total_for(least, rules[1][FUSION])
    own = np.empty(PART_COUNT, dtype=np.float32)
    count = 0
    for i in range(rows.shape[0]):
        highest = totals[i] + slack
        if highest < reach:
            continue
        parts_into(highest, rows[i], outside, facts, rules, own)
        if own[SCORE] >= least:
            kept[count] = rows[i]
            count += 1
    return count
