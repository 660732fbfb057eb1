"""Writes the fast model's encoder, Universal Sentence Encoder multilingual v3, as an ONNX graph.

Token vectors and convolutions over two, three and five of them are summed, divided by the root of
their count and passed through three dense layers; there is no attention, so its time grows with
the tokens alone:
`input_ids int64[n, length], attention_mask int64[n, length] -> sentence_embedding float32[n, 512]`.
Standard operators only.

It never reads or writes files. Invariant: the same weights and pieces give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from recalld.index.errors import ModelInvalid
from recalld.index.onnx_graph import GraphWriter

SENTENCE = "sentence_embedding"
TABLE_PARTS = 17
"""The weights keep the table in so many parts, row i in part i mod 17, each on a scale of its
own."""
CONVOLUTIONS = ((2, 0), (3, 1), (5, 2))
"""Width of each convolution, and how many of its tokens lie to the left."""
OPSET = 20
IR_VERSION = 9
PRODUCER = "recalld"
LENGTH_FLOOR = 1e-12

Weights = Mapping[str, NDArray[Any]]


def build_graph(weights: Weights, kept: Sequence[int]) -> onnx.ModelProto:
    """Build the encoder.

    Args:
        weights: as the package keeps them.
        kept: pieces of the vocabulary, in the order of their new ids.

    Raises:
        ModelInvalid: a tensor is missing, or has another shape.
    """
    try:
        return _Encoder(weights).build(np.asarray(kept, np.int64))
    except (KeyError, IndexError, ValueError) as error:
        raise ModelInvalid(f"the weights are not those of the encoder: {error!r}") from error


class _Encoder:
    """One encoder being written."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._graph = GraphWriter()
        self._epsilon = float(weights["eps"])

    def build(self, kept: NDArray[np.int64]) -> onnx.ModelProto:
        graph = self._graph
        tokens = self._table(kept)
        mask = graph.op("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        features = self._normalised(
            graph.op("Concat", [tokens, *self._convolved(tokens, mask)], axis=-1), ("ln_g", "ln_b")
        )
        pooled = self._pooled(features, mask)
        self._unit(self._dense(pooled))
        width = self._weights["d3"].shape[1]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(SENTENCE, TensorProto.FLOAT, ["batch", width])
        made = helper.make_graph(graph.nodes, "use", inputs, [output], graph.constants)
        model = helper.make_model(
            made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name=PRODUCER
        )
        model.ir_version = IR_VERSION
        return model

    def _table(self, kept: NDArray[np.int64]) -> str:
        """Vectors of the tokens: 8 bits, a scale and a least value."""
        parts = [self._weights[f"q{number + 1}"] for number in range(TABLE_PARTS)]
        whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), np.uint8)
        for number, part in enumerate(parts):
            whole[number::TABLE_PARTS] = part
        graph = self._graph

        def looked_up(rows: NDArray[Any], name: str = "") -> str:
            return graph.op("Gather", [graph.constant(rows, name), "input_ids"])

        scale, low = (
            self._weights[name][kept % TABLE_PARTS].astype(np.float32)[:, None]
            for name in ("scale", "lo")
        )
        codes = graph.op("Cast", [looked_up(whole[kept], "word_table")], to=TensorProto.FLOAT)
        return graph.op("Add", [graph.op("Mul", [codes, looked_up(scale)]), looked_up(low)])

    def _convolved(self, tokens: str, mask: str) -> list[str]:
        """What each convolution sees, padding kept at zero between its two layers."""
        graph, weights = self._graph, self._weights
        mask = graph.op("Unsqueeze", [mask, graph.integers(2)])
        each = [width for width, _ in CONVOLUTIONS]

        def joined(stem: str, axis: int = 0) -> NDArray[Any]:
            return np.concatenate([weights[f"{stem}{width}"] for width in each], axis)

        projected = self._linear(tokens, joined("proj", 1), joined("proj_b"))
        projected = graph.op(
            "LayerNormalization",
            [projected, graph.constant(joined("ln_g")), graph.constant(joined("ln_b"))],
            axis=-1,
            epsilon=self._epsilon,
        )
        projected = graph.op("Mul", [projected, mask])
        streams = graph.many("Split", [projected], len(each), "", axis=-1, num_outputs=len(each))
        length = graph.op("Shape", ["input_ids"], start=1, end=2)
        seen = []
        for stream, (width, left) in zip(streams, CONVOLUTIONS, strict=True):
            first = self._convolution(stream, length, (width, left), 1)
            first = graph.op("Mul", [first, mask])
            seen.append(self._convolution(first, length, (width, left), 2))
        return seen

    def _convolution(self, x: str, length: str, window: tuple[int, int], layer: int) -> str:
        """One residual convolution, as a product over its shifted copies."""
        graph, (width, left) = self._graph, window
        pads = graph.integers(0, left, 0, 0, width - 1 - left, 0)
        padded = graph.op("Pad", [x, pads])
        axis = graph.integers(1)
        copies = []
        for shift in range(width):
            start = graph.integers(shift)
            copies.append(
                graph.op("Slice", [padded, start, graph.op("Add", [length, start]), axis])
            )
        weight, bias = (self._weights[f"{name}{layer}_{width}"] for name in ("w", "b"))
        around = self._linear(graph.op("Concat", copies, axis=-1), weight, bias)
        return graph.op("Add", [graph.op("Relu", [around]), x])

    def _pooled(self, features: str, mask: str) -> str:
        """Sum over the tokens, projected, by the root of their count."""
        graph = self._graph
        total = graph.op("MatMul", [graph.op("Unsqueeze", [mask, graph.integers(1)]), features])
        total = graph.op("Squeeze", [total, graph.integers(1)])
        count = graph.op("ReduceSum", [mask, graph.integers(1)], keepdims=1)
        bias = graph.op("Mul", [count, graph.constant(self._weights["cnn_b"][None])])
        projected = graph.op("Add", [self._product(total, "cnn_W"), bias])
        return graph.op("Div", [projected, graph.op("Sqrt", [count])])

    def _dense(self, x: str) -> str:
        """Two residual blocks."""
        graph = self._graph
        inner = graph.op("Relu", [self._product(x, "d0")])
        first = graph.op("Add", [self._product(x, "p1"), self._product(inner, "d1")])
        first = graph.op("Relu", [first])
        inner = graph.op("Relu", [self._product(first, "d2")])
        second = graph.op("Add", [self._product(first, "p3"), self._product(inner, "d3")])
        return graph.op("Tanh", [second])

    def _unit(self, x: str) -> None:
        graph = self._graph
        length = graph.op("ReduceL2", [x, graph.integers(-1)], keepdims=1)
        floor = graph.constant(np.array(LENGTH_FLOOR, np.float32))
        divisor = graph.op("Max", [length, floor])
        graph.nodes.append(helper.make_node("Div", [x, divisor], [SENTENCE]))

    def _normalised(self, x: str, names: tuple[str, str]) -> str:
        factors = [self._graph.constant(self._weights[name]) for name in names]
        return self._graph.op("LayerNormalization", [x, *factors], axis=-1, epsilon=self._epsilon)

    def _linear(self, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        product = self._graph.op("MatMul", [x, self._graph.constant(weight)])
        return self._graph.op("Add", [product, self._graph.constant(bias)])

    def _product(self, x: str, name: str) -> str:
        return self._graph.op("MatMul", [x, self._graph.constant(self._weights[name])])
