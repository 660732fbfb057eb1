"""Retrieval metrics, each for one question, and the bootstrap that compares two builds.

Never reads files and never talks to a server. Rankings are best first and hold no item twice; gold
sets are not empty. All values lie in [0, 1] but the bootstrap's, which are differences.
"""

import math
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Item = TypeVar("Item", bound=Hashable)

RANK_DEPTH = 10  # nDCG and MRR look this far down
BOOTSTRAP_SAMPLES = 10_000
_BOOTSTRAP_CHUNK = 500  # resamples drawn at once: bounds the memory of a large set


def recall_at_k(ranked: Sequence[Item], gold: Set[Item], k: int) -> float:
    """Share of the gold items that are among the first k."""
    return len(gold & set(ranked[:k])) / len(gold)


def hit_at_k(ranked: Sequence[Item], gold: Set[Item], k: int) -> float:
    """1 if at least one gold item is among the first k, else 0."""
    return float(not gold.isdisjoint(ranked[:k]))


def ndcg(ranked: Sequence[Item], gold: Set[Item]) -> float:
    """NDCG at 10: binary gain, discount 1 / log2(rank + 1), ideal of min(|gold|, 10) items.

    Source: Jarvelin and Kekalainen, ACM TOIS 20(4), 2002.
    """
    gained = sum(1 / math.log2(i + 2) for i, x in enumerate(ranked[:RANK_DEPTH]) if x in gold)
    return gained / sum(1 / math.log2(i + 2) for i in range(min(RANK_DEPTH, len(gold))))


def reciprocal_rank(ranked: Sequence[Item], gold: Set[Item]) -> float:
    """1 / rank of the first gold item among the first 10, else 0; its mean is MRR."""
    return next((1 / (i + 1) for i, x in enumerate(ranked[:RANK_DEPTH]) if x in gold), 0.0)


def group_recall_at_k(
    ranked: Sequence[Item], gold: Set[Item], group_of: Callable[[Item], Hashable], k: int
) -> float:
    """Share of the groups of gold items that have at least one gold item among the first k.

    Several records often witness one event; this counts the event, not the records.
    """
    found = {group_of(x) for x in ranked[:k] if x in gold}
    return len(found) / len({group_of(x) for x in gold})


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Chance that a positive scores above a negative, ties counting half; NaN if either is empty.

    Complexity: O(len(positive) * len(negative)) memory: meant for thousands, not millions.
    """
    if not positive or not negative:
        return math.nan
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def mean(values: Sequence[float]) -> float:
    """Plain mean; NaN if there are none."""
    return math.fsum(values) / len(values) if values else math.nan


@dataclass(frozen=True)
class Difference:
    """How much better the second of two builds is, on the same questions."""

    mean: float
    low: float  # 2.5th percentile of the bootstrap
    high: float  # 97.5th percentile


def paired_bootstrap(first: Sequence[float], second: Sequence[float], seed: int) -> Difference:
    """Mean of `second - first` over questions, with a 95 % bootstrap interval.

    Args:
        first: value per question of one build.
        second: value of the other build, the same questions in the same order.
        seed: of the resampling; the same seed gives the same interval.

    Raises:
        ValueError: the two differ in length or are empty.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"need two equally long, filled series, got {len(first)}, {len(second)}")
    gains = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [
            gains[random.integers(0, len(gains), (_BOOTSTRAP_CHUNK, len(gains)))].mean(axis=1)
            for _ in range(BOOTSTRAP_SAMPLES // _BOOTSTRAP_CHUNK)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(float(gains.mean()), float(low), float(high))
