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

from recalld.scoring.params import KEYWORD_EVIDENCE_MAX, RRF_K


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
