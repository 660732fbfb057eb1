"""Averages of relevance updates."""

import numpy as np
import pytest

from recalld.index.relevance_average import average


def update(seed: int, rank: int) -> dict[str, np.ndarray]:
    """Factors of one matrix of 6 rows and 5 columns."""
    rng = np.random.default_rng(seed)
    return {
        "l8.q.A": rng.normal(size=(rank, 5)).astype(np.float16),
        "l8.q.B": rng.normal(size=(6, rank)).astype(np.float16),
    }


def product(one: dict[str, np.ndarray]) -> np.ndarray:
    """What an update adds to its matrix."""
    return one["l8.q.B"].astype(np.float64) @ one["l8.q.A"].astype(np.float64)


def test_the_average_is_that_of_the_products() -> None:
    """With room for every rank the result is the mean of what each run adds."""
    runs = [update(1, 1), update(2, 2), update(3, 1)]
    factors, lost = average(runs, 5)
    mean = sum(product(run) for run in runs) / 3
    assert product(factors) == pytest.approx(mean, abs=1e-2)
    assert lost < 1e-6


def test_what_a_small_rank_leaves_out_is_told() -> None:
    """Of singular values 4 and 3 a rank of 1 keeps the first and leaves out three fifths."""
    run = {
        "l8.q.A": np.array([[2, 0], [0, 1]], dtype=np.float16),
        "l8.q.B": np.array([[2, 0], [0, 3]], dtype=np.float16),
    }
    factors, lost = average([run], 1)
    assert lost == pytest.approx(3 / 5)
    assert product(factors) == pytest.approx(np.array([[4, 0], [0, 0]]), abs=1e-2)
