"""Averages relevance updates of several runs: better on requests of new kinds than any one of them.

The average of the products B A is kept to a rank by its largest singular values.

Source: Wortsman et al., "Model soups", ICML 2022, section 2 (uniform soup).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

AVERAGE_RANK = 48

Update = Mapping[str, NDArray[np.float16]]


def average(updates: Sequence[Update], rank: int) -> tuple[dict[str, NDArray[np.float16]], float]:
    """Average updates.

    Args:
        updates: factors as `RelevanceEncoder.update` gives them, of the same matrices.
        rank: of the result, > 0.

    Returns:
        Factors of the average, and the largest share of a matrix's norm that the rank leaves out.
    """
    factors, lost = {}, 0.0
    for name in sorted(name.removesuffix(".A") for name in updates[0] if name.endswith(".A")):
        product = sum(
            one[f"{name}.B"].astype(np.float64) @ one[f"{name}.A"].astype(np.float64)
            for one in updates
        ) / len(updates)
        left, sizes, right = np.linalg.svd(product, full_matrices=False)
        root = np.sqrt(sizes[:rank])
        factors[f"{name}.A"] = (root[:, None] * right[:rank]).astype(np.float16)
        factors[f"{name}.B"] = (left[:, :rank] * root).astype(np.float16)
        norm = float(np.linalg.norm(sizes))
        lost = max(lost, float(np.linalg.norm(sizes[rank:])) / norm if norm else 0.0)
    return factors, lost
