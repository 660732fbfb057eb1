"""Averages relevance updates of several runs: better on requests of new kinds than any one of them.

    python -m recalld.index.relevance_average RUN.npz RUN.npz ... --out index/relevance/update.npz

The average of the products B A is kept to a rank by its largest singular values.

Source: Wortsman et al., "Model soups", ICML 2022, section 2 (uniform soup).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RANK = 48

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


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.index.relevance_average",
        description="Average relevance updates of several runs.",
    )
    parser.add_argument("runs", type=Path, nargs="+", help="updates as relevance_train writes them")
    parser.add_argument("--out", type=Path, required=True, help="result")
    parser.add_argument("--rank", type=int, default=RANK, help="default: %(default)s")
    given = parser.parse_args(arguments)
    updates = []
    for path in given.runs:
        with np.load(path, allow_pickle=False) as stored:
            updates.append(dict(stored))
    factors, lost = average(updates, given.rank)
    np.savez_compressed(given.out, allow_pickle=False, **factors)
    sys.stdout.write(f"{given.out}: rank {given.rank} leaves out at most {lost:.1%} of a matrix\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
