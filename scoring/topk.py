"""Top k under one total order: score descending, then newer, then larger label.

Labels are unique, so no two memories are ever equal and the same input gives the same answer in
any order of its rows. It never returns a memory whose score is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel

# Beyond this many, the insertion of `top_into` costs more than a partition.
SELECT_COUNT_MAX = 256


@kernel("f32", "i64", "i64", "f32", "i64", "i64", returns="u8")
def before(score, create_us, label, other_score, other_create_us, other_label):  # type: ignore[no-untyped-def]
    """Return 1 when the first memory comes before the second."""
    if score != other_score:
        return np.uint8(score > other_score)
    if create_us != other_create_us:
        return np.uint8(create_us > other_create_us)
    return np.uint8(label > other_label)


@kernel("f32[:]", "i64[:]", "i64[:]", "out i64[:]", returns="i64")
def top_into(scores, create_us, labels, top):  # type: ignore[no-untyped-def]
    """Write the positions of the best memories, best first.

    Args:
        scores: float32[m].
        create_us: int64[m], microseconds.
        labels: int64[m], unique.
        top: int64[k], written; its length is k.

    Returns:
        How many were written: min(k, memories whose score is a number).

    Complexity: O(m * k) at worst, O(m + k * k) on shuffled input.
    """
    limit = top.shape[0]
    count = 0
    for i in range(scores.shape[0]):
        if np.isnan(scores[i]) or limit == 0:
            continue
        if count == limit:
            last = top[count - 1]
            if not before(
                scores[i], create_us[i], labels[i], scores[last], create_us[last], labels[last]
            ):
                continue
            count -= 1
        place = count
        while place > 0:
            above = top[place - 1]
            if before(
                scores[above], create_us[above], labels[above], scores[i], create_us[i], labels[i]
            ):
                break
            top[place] = above
            place -= 1
        top[place] = i
        count += 1
    return count


def select(
    scores: NDArray[np.float32],
    create_us: NDArray[np.int64],
    labels: NDArray[np.int64],
    k: int,
) -> NDArray[np.int64]:
    """Return int64[<= k] positions of the best memories, best first; see `top_into`."""
    top = np.empty(min(max(k, 0), scores.shape[0]), dtype=np.int64)
    return top[: top_into(scores, create_us, labels, top)]


def kth_largest(values: NDArray[np.float32], k: int) -> float:
    """Return the k-th largest of float32[m] for 1 <= k <= m; no value may be NaN."""
    if k > SELECT_COUNT_MAX:
        return float(np.partition(values, len(values) - k)[len(values) - k])
    # Not np.partition: with many equal values, as where no word matches, it is 100 times slower.
    places = np.arange(len(values))
    return float(values[select(values, places, places, k)[-1]])
