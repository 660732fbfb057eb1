"""The encoder graph, its tokenizer and its integer codes, on a small container."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.e5_container import E5Container
from recalld.index.e5_graph import Kind, build_graph
from recalld.index.e5_quantise import pack_nibbles, quantise_blocks, quantise_channels
from recalld.index.e5_tokenizer import build_tokenizer, kept_pieces
from recalld.index.onnx_session import open_session
from tests.index.tiny_e5 import LAYERS, PIECES, WIDE, TinyE5

TINY = TinyE5()
CONTAINER = E5Container(TINY.data())
SMOOTH = {
    f"{layer}.{part}": np.arange(WIDE if part == "fo" else 128).astype(np.int8) % 9 - 4
    for layer in range(LAYERS)
    for part in ("qkv", "ao", "fi", "fo")
}
TEXTS = [[0, 5, 6, 7, 2], [0, 9, 2], [0, 20, 21, 5, 5, 30, 3, 12, 2]]


@pytest.mark.parametrize(
    ("kind", "cosine_min"), [("fp32", 0.999999), ("q4", 0.999), ("q8", 0.999), ("int8", 0.995)]
)
def test_graph_computes_the_encoder(tmp_path: Path, kind: Kind, cosine_min: float) -> None:
    """Each kind of graph gives the vectors of a plain computation, padded or not."""
    path = tmp_path / "model.onnx"
    kept = kept_pieces(PIECES, "none")
    onnx.save(build_graph(CONTAINER, kept, kind, SMOOTH if kind == "int8" else {}), str(path))
    session = open_session(path, 1)
    ids = np.ones((3, 9), np.int64)
    mask = np.zeros((3, 9), np.int64)
    for row, text in enumerate(TEXTS):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    together = session.run(ids, mask)
    for row, text in enumerate(TEXTS):
        expected = TINY.encode(text)
        alone = session.run(np.array([text]), np.ones((1, len(text)), np.int64))[0]
        for vector in (together[row], alone):
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
            assert float(vector @ expected) > cosine_min


def test_same_input_gives_same_bytes() -> None:
    """A graph built twice is the same, byte for byte."""
    kept = kept_pieces(PIECES, "zh-en")
    first, second = (
        build_graph(CONTAINER, kept, "int8", SMOOTH).SerializeToString() for _ in range(2)
    )
    assert first == second


def test_pruned_table_keeps_pieces_and_rows_in_step(tmp_path: Path) -> None:
    """After pruning a text has other ids but the same vector."""
    kept = kept_pieces(PIECES, "zh-en")
    path = tmp_path / "model.onnx"
    onnx.save(build_graph(CONTAINER, kept, "fp32", {}), str(path))
    ids = build_tokenizer(CONTAINER, kept, 16).encode("ab好").ids
    vector = open_session(path, 1).run(np.array([ids]), np.ones((1, len(ids)), np.int64))[0]
    assert [PIECES[kept[i]] for i in ids] == ["<s>", "▁", "a", "b", "好", "</s>"]
    assert float(vector @ TINY.encode([kept[i] for i in ids])) > 0.999999


def test_pruning_drops_other_scripts_and_the_mask() -> None:
    """`zh-en` drops kana and the mask piece and keeps the rest in order; `none` keeps all."""
    kept = kept_pieces(PIECES, "zh-en")
    assert [PIECES[i] for i in kept] == [p for p in PIECES if p not in ("か", "<mask>")]
    assert kept_pieces(PIECES, "none") == list(range(len(PIECES)))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ab", ["<s>", "▁", "a", "b", "</s>"]),
        ("  a \t b\n", ["<s>", "▁", "a", "▁", "b", "</s>"]),
        ("ａ\u200bb", ["<s>", "▁", "a", "▁", "b", "</s>"]),
        ("a\x07b", ["<s>", "▁", "a", "b", "</s>"]),
        ("", ["<s>", "</s>"]),
        ("あ", ["<s>", "▁", "<unk>", "</s>"]),
    ],
)
def test_tokenizer(text: str, tokens: list[str]) -> None:
    """Blanks are squeezed, controls dropped, wide letters folded, unknown letters marked."""
    kept = kept_pieces(PIECES, "zh-en")
    ids = build_tokenizer(CONTAINER, kept, 16).encode(text).ids
    assert [PIECES[kept[i]] for i in ids] == tokens


def test_tokenizer_cuts() -> None:
    """A long text is cut at the limit and still ends properly."""
    tokenizer = build_tokenizer(CONTAINER, kept_pieces(PIECES, "none"), 6)
    ids = tokenizer.encode("abcdefgh").ids
    assert [PIECES[i] for i in ids] == ["<s>", "▁", "a", "b", "c", "</s>"]


def test_nibbles_are_packed_in_pairs() -> None:
    """Element 2i lies in the low half of byte i, element 2i + 1 in the high half."""
    packed = pack_nibbles((np.arange(64) % 16).astype(np.uint8).reshape(1, 64))
    assert packed.shape == (1, 2, 16)
    assert [int(x) for x in packed[0, 0, :3]] == [0x10, 0x32, 0x54]


@given(st.integers(0, 2**32 - 1), st.floats(0, 100))
def test_codes_are_within_half_a_step(seed: int, size: float) -> None:
    """Undoing the codes gives each weight to half a step, also where all weights are zero."""
    weights = (np.random.default_rng(seed).normal(size=(3, 256)) * size).astype(np.float32)
    weights[1] = 0
    codes, scales = quantise_channels(weights)
    error = np.abs(codes.T.astype(np.float64) * scales[:, None] - weights)
    assert (error <= scales[:, None] * 0.5001).all()
    blocks, block_scales = quantise_blocks(weights)
    undone = (blocks.astype(np.float64) - 128) * block_scales[:, :, None]
    error = np.abs(undone.reshape(3, 256) - weights)
    assert (error <= np.repeat(block_scales, 128, axis=1) * 0.5001).all()
