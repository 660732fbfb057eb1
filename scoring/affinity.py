"""What the situation of a request says of memories: by their roles, and by their writers' cues.

It never knows a catalogue or a text; the index hands it vectors and tables.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring.kernel import kernel


@kernel(
    "f32[:,:]",
    "f32[:]",
    "(i32[:]; i64[:])",
    "(u8[:]; i64[:])",
    "f64",
    "f64",
    "out f32[:]",
    reassociate=True,
)
def roles_into(affinities, weights, by_key, by_kind, key_share, kind_share, scores):  # type: ignore[no-untyped-def]
    """Write how much of what a memory is good for a request needs.

    Args:
        affinities: float32[n, roles], what each memory is good for by its text.
        weights: float32[roles], what the request needs, in [0, 1].
        by_key: number of each memory's key int32[>= n], and the role of each number int64, -1 =
            none.
        by_kind: the same of kinds, uint8[>= n] and int64.
        key_share, kind_share: what a known key, then a known kind, says of the whole, in [0, 1].
        scores: float32[n], written, in [0, 1].
    """
    keys, key_roles = by_key
    kinds, kind_roles = by_kind
    for i in range(scores.shape[0]):
        score = np.float32(0.0)
        for r in range(weights.shape[0]):
            score += affinities[i, r] * weights[r]
        role = key_roles[keys[i]]
        if role >= 0:
            score += np.float32(key_share) * (weights[role] - score)
        role = kind_roles[kinds[i]]
        if role >= 0:
            score += np.float32(kind_share) * (weights[role] - score)
        scores[i] = min(max(score, np.float32(0.0)), np.float32(1.0))


@kernel(
    "(f32[:,:]; i64[:]; f32[:])",
    "f32[:,:]",
    "(f32[:,:]; f32[:])",
    "f64[:]",
    "out f32[:]",
    "out f32[:]",
    returns="i64",
    reassociate=True,
)
def cues_into(cues, centres, requests, scale, cosines, scores):  # type: ignore[no-untyped-def]
    """Compare cues with the nearest of some requests, what all requests share taken off.

    With r for the rest of a request and m for the centre of a cue c, what is wanted is
    r . (c - m) / |c - m|, so the cues themselves can stay as they are.

    Args:
        cues: vectors float32[c, dim], the centre of each int64[c], and 1 / |c - m| float32[c].
        centres: float32[l, dim], what requests share, l >= 1.
        requests: float32[q, dim] and a weight in (0, 1] of each, float32[q].
        scale: float64[4]: mean and spread of unrelated requests, and the spreads above the mean
            between which a score goes from 0 to 1.
        cosines: float32[c], written with that of the request that counts; 0 where none does.
        scores: float32[c], written, in [0, 1].

    Returns:
        How many scores are greater than 0.
    """
    vectors, nearest, stretches = cues
    dim = centres.shape[1]
    rest = np.empty(dim, dtype=np.float32)
    shared = np.empty(centres.shape[0], dtype=np.float32)
    cosines[:] = 0
    scores[:] = 0
    count = 0
    for q in range(requests[0].shape[0]):
        request = requests[0][q]
        own, best = 0, np.float32(-np.inf)
        for centre in range(centres.shape[0]):
            near = np.float32(0.0)
            for j in range(dim):
                near += request[j] * centres[centre, j]
            if near > best:
                own, best = centre, near
        square = np.float32(0.0)
        for j in range(dim):
            rest[j] = request[j] - centres[own, j]
            square += rest[j] * rest[j]
        length = np.sqrt(square)
        for j in range(dim):
            rest[j] = rest[j] / length if length > 0 else np.float32(0.0)
        for centre in range(centres.shape[0]):
            shared[centre] = 0
            for j in range(dim):
                shared[centre] += rest[j] * centres[centre, j]
        for i in range(scores.shape[0]):
            cosine = np.float32(0.0)
            for j in range(dim):
                cosine += vectors[i, j] * rest[j]
            cosine = (cosine - shared[nearest[i]]) * stretches[i]
            share = ((cosine - scale[0]) / scale[1] - scale[2]) / (scale[3] - scale[2])
            score = np.float32(min(max(share, 0.0), 1.0) * requests[1][q])
            if score > scores[i]:
                count += scores[i] == 0
                scores[i] = score
                cosines[i] = cosine
    return count


@kernel("i64[:]", "i64[:]", "(f32[:]; f32[:])", "out f32[:]", "out f32[:]", "out i64[:]")
def nearest_cues_into(rows, numbers, found, cosines, scores, best):  # type: ignore[no-untyped-def]
    """Let the nearest cue of each memory speak for it; of equally near ones the first.

    Args:
        rows: int64[c], row of each cue's memory, -1 = none.
        numbers: int64[c], place of each cue among those of its memory.
        found: cosines and scores of the cues, float32[c] each.
        cosines, scores: float32[n], zeros; written where a cue scores more than 0.
        best: int64[n], -1; written with the number of the cue that speaks.
    """
    for i in range(rows.shape[0]):
        row, score = rows[i], found[1][i]
        if row < 0 or score <= 0:
            continue
        if score > scores[row] or (score == scores[row] and numbers[i] < best[row]):
            cosines[row] = found[0][i]
            scores[row] = score
            best[row] = numbers[i]
