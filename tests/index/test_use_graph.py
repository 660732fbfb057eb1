"""The encoder graph of the fast model, on small weights."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.errors import ModelInvalid
from recalld.index.onnx_session import OnnxSession, open_session
from recalld.index.use_graph import build_graph
from tests.index.tiny_use import DIM, PIECES, TinyUse

TINY = TinyUse()
ALL = list(range(len(PIECES)))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> OnnxSession:
    path = tmp_path_factory.mktemp("use") / "model.onnx"
    onnx.save(build_graph(TINY.weights, ALL), str(path))
    return open_session(path, 1)


@given(
    texts=st.lists(st.lists(st.sampled_from(ALL), min_size=1, max_size=9), min_size=1, max_size=4)
)
def test_graph_computes_the_encoder(session: OnnxSession, texts: list[list[int]]) -> None:
    """A graph gives the vectors of a plain computation, whatever padding stands beside a text."""
    width = max(map(len, texts))
    ids = np.full((len(texts), width), 3, np.int64)
    mask = np.zeros((len(texts), width), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    result = session.run(ids, mask)
    expected = np.stack([TINY.encode(text) for text in texts])
    assert result.shape == (len(texts), DIM)
    np.testing.assert_allclose(result, expected, atol=2e-4)


def test_pruned_table_keeps_pieces_and_rows_in_step(tmp_path: Path) -> None:
    """With fewer pieces a token has another id and the same vector."""
    kept = [0, 1, 2, 3, 4, 5, 7, 19]
    onnx.save(build_graph(TINY.weights, kept), str(tmp_path / "model.onnx"))
    ids = np.array([[1, kept.index(19), kept.index(7), 2]], np.int64)
    vector = open_session(tmp_path / "model.onnx", 1).run(ids, np.ones_like(ids))[0]
    np.testing.assert_allclose(vector, TINY.encode([1, 19, 7, 2]), atol=2e-4)


def test_same_input_gives_same_bytes() -> None:
    """A graph built twice is the same, byte for byte."""
    first, second = (build_graph(TINY.weights, ALL).SerializeToString() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["q3", "w1_5", "eps", "d3"])
def test_missing_tensor_is_named(name: str) -> None:
    """Weights without a tensor are refused, and the message names it."""
    weights = {key: value for key, value in TINY.weights.items() if key != name}
    with pytest.raises(ModelInvalid, match=name):
        build_graph(weights, ALL)
