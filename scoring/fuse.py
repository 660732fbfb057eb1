"""Fusion: several channels of evidence to one base in 0..1.

Two ways. WEIGHTED is a logistic model, `base = 1 / (1 + exp(-(bias + sum weight * normalised)))`:
every channel is on a fixed scale, so a base means the same from query to query, whatever else the
list holds. RRF is reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009, section 2),
`sum weight * (k + 1) / (k + rank)` over weights that sum to 1: it knows order only.

It never standardises within one list: that would make the best of nothing look like something.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel
from recalld.scoring.params import (
    KEYWORD_EVIDENCE_MAX,
    RRF_K,
    VECTOR_SPREADS_BELOW,
    VECTOR_SPREADS_TOTAL,
    Scale,
)


@kernel("f32[:,:]", "f32[:]", "f64", "out f32[:]")
def fuse_into(normalised, weights, bias, logit):  # type: ignore[no-untyped-def]
    """Write `bias + sum weight * normalised` per memory.

    Args:
        normalised: float32[channels, m], in 0..1.
        weights: float32[channels].
        bias: log-odds without evidence.
        logit: float32[m], written.
    """
    used = np.flatnonzero(weights)
    for i in range(normalised.shape[1]):
        total = bias
        for c in used:
            total += np.float64(weights[c]) * np.float64(normalised[c, i])
        logit[i] = np.float32(total)


@kernel("f32[:,:]", "f32[:]", "f64", "f32[:,:]", "out f32[:]", "out f32[:]")
def score_into(normalised, weights, bias, factors, base, score):  # type: ignore[no-untyped-def]
    """Write the logistic base and `base * product of factors` per memory.

    Args:
        normalised: float32[channels, m], in 0..1.
        weights: float32[channels].
        bias: log-odds without evidence.
        factors: float32[f, m], in (0, 1].
        base: float32[m], written, in [0, 1].
        score: float32[m], written, in [0, 1]; NaN where an input with a weight is NaN.
    """
    used = np.flatnonzero(weights)
    for i in range(normalised.shape[1]):
        total = bias
        for c in used:
            total += np.float64(weights[c]) * np.float64(normalised[c, i])
        # Rounded first: what a reader of the parts sees is what was multiplied.
        base[i] = np.float32(1.0 / (1.0 + np.exp(-total)))
        product = np.float64(base[i])
        for f in range(factors.shape[0]):
            product *= np.float64(factors[f, i])
        score[i] = np.float32(product)


def normalise_vector(
    similarity: NDArray[np.float32], scale: Scale, weight: float = 1.0
) -> NDArray[np.float32]:
    """Put cosines on the model's fixed scale.

    Args:
        similarity: float32[...], cosines.
        scale: background of the vectors compared.
        weight: in (0, 1], of a secondary query: what stands out from the background shrinks by it.

    Returns:
        float32 of the same shape in 0..1; the background mean lies at 0.3.
    """
    z = (similarity - np.float32(scale.mean)) * np.float32(1.0 / scale.spread)
    if weight != 1.0:
        z = np.where(z > 0, z * np.float32(weight), z)
    scaled = (z + np.float32(VECTOR_SPREADS_BELOW)) * np.float32(1.0 / VECTOR_SPREADS_TOTAL)
    return np.asarray(np.clip(scaled, 0.0, 1.0), dtype=np.float32)


def normalise_keyword(evidence: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put keyword evidence float32[m], >= 0, on the fixed scale 0..1."""
    scaled = evidence * np.float32(1.0 / KEYWORD_EVIDENCE_MAX)
    return np.asarray(np.minimum(scaled, 1.0), dtype=np.float32)


def reciprocal_ranks(
    evidence: NDArray[np.float32], ranked: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Turn one channel into `(k + 1) / (k + rank)`, the best being 1.

    Args:
        evidence: float32[m], higher is better; equal values share the best of their ranks, so the
            order of the input changes nothing.
        ranked: bool[m], which memories the channel found at all.

    Returns:
        float32[m]; 0 where not ranked.
    """
    values = evidence[ranked]
    descending = np.sort(values)[::-1]
    ranks = np.searchsorted(-descending, -values, side="left") + 1
    out = np.zeros(evidence.shape, dtype=np.float32)
    out[ranked] = (RRF_K + 1) / (RRF_K + ranks)
    return out


def logistic(logit: float) -> float:
    """Map log-odds to 0..1 without overflow."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)
