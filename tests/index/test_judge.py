"""The judge of statement pairs: its arithmetic, and whose vectors it judges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.judge import Judge, Stand


def naive(judge: Judge, older: list[float], newer: list[float]) -> list[float]:
    """The network for one pair, number by number."""
    dim = len(older)
    scale = math.sqrt(dim)
    pairs = list(zip(older, newer, strict=True))
    x = [abs(a - b) * scale for a, b in pairs] + [a * b * 5 * scale for a, b in pairs]
    x += [(b - a) * scale for a, b in pairs] + [5 * sum(a * b for a, b in pairs)]
    hidden = []
    for column, bias in zip(judge.first.T.tolist(), judge.first_bias.tolist(), strict=True):
        z = bias + sum(w * v for w, v in zip(column, x, strict=True))
        hidden.append(0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))))
    scores = [
        bias + sum(w * v for w, v in zip(column, hidden, strict=True))
        for column, bias in zip(judge.second.T.tolist(), judge.second_bias.tolist(), strict=True)
    ]
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_a_pair_is_judged_as_by_hand(seed: int, dim: int, count: int) -> None:
    """Probabilities are those of the plain formula, pair by pair, and sum to one."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    judge = Judge(drawn(3 * dim + 1, 5), drawn(5), drawn(5, len(Stand)), drawn(len(Stand)))
    older, newer = drawn(count, dim), drawn(count, dim)
    shares = judge.compare(older, newer)
    for row, one, other in zip(shares, older.tolist(), newer.tolist(), strict=True):
        assert row.tolist() == pytest.approx(naive(judge, one, other), rel=1e-3, abs=1e-5)
    assert shares.sum(axis=1) == pytest.approx(np.ones(count), abs=1e-5)


@pytest.mark.parametrize("base_model", ["", "acme/other-model"])
def test_vectors_of_other_models_have_no_judge(base_model: str) -> None:
    """A judge is given for the model it was trained on, and for no other."""
    assert Judge.of(base_model) is None


def test_the_default_model_has_a_judge() -> None:
    """The shipped weights are for the default model's vectors."""
    judge = Judge.of("intfloat/multilingual-e5-small (MIT)")
    assert judge is not None
    assert judge.first.shape[0] == 3 * 384 + 1
    assert judge.second.shape[1] == len(Stand)
