"""Writes the default model's encoder as an ONNX graph.

A BERT encoder (normalisation after each block, exact GELU, positions from 0) whose graph ends in
mean pooling and unit length:
`input_ids int64[n, length], attention_mask int64[n, length] -> sentence_embedding float32[n, dim]`.
With a low-rank update of the last layers it has a second output, `relevance_embedding` of the same
shape; the layers before run once for both. It uses onnxruntime's own operators, so it runs on
onnxruntime >= 1.20 (q8: >= 1.22) only.

It never reads or writes files. Invariant: the same container, pieces, kind and factors give the
same bytes, for the names of nodes are counted and nothing is dated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from recalld.index.e5_container import NIBBLE_ZERO, BlockMatrix, E5Container
from recalld.index.e5_quantise import (
    Q4_BLOCK,
    Q8_BLOCK,
    pack_nibbles,
    quantise_blocks,
    quantise_channels,
    smoothing_factors,
)
from recalld.index.onnx_graph import RUNTIME_DOMAIN, GraphWriter

Kind = Literal["int8", "q8", "q4", "fp32"]
Update = Mapping[str, NDArray[np.float16]]

SENTENCE, RELEVANCE, STATES = "sentence_embedding", "relevance_embedding", "hidden_states"
OPSET = 21
IR_VERSION = 10
PRODUCER = "build_e5_onnx"
# Lets MatMulNBits quantise activations to 8 bits, which is what makes it fast.
ACCURACY_LEVEL = 4
LENGTH_FLOOR = 1e-12


def build_graph(
    container: E5Container,
    kept: Sequence[int],
    kind: Kind,
    smooth: Mapping[str, NDArray[np.int8]],
    update: Update | None = None,
) -> onnx.ModelProto:
    """Build the encoder.

    Args:
        container: weights.
        kept: pieces of the vocabulary, in the order of their new ids.
        kind: how the weights of the linear layers are kept: `int8` a channel, with activations
            quantised a tensor; `q8` in blocks of 128; `q4` as the container has them; `fp32`.
        smooth: for int8, `<layer>.<qkv|ao|fi|fo>` to int8[inputs]: how far each input is scaled
            down and its weights up before quantising.
        update: low-rank factors of the last layers, `l<layer>.<q|k|v|ao|fi|fo>.<A|B>` to
            float16[rank, inputs] and float16[outputs, rank]; None = one output only.

    Raises:
        ModelInvalid: the container lacks a tensor.
        KeyError: `smooth` lacks a layer, or `update` a factor.
    """
    return _Encoder(container, kind, smooth).build(np.asarray(kept, np.int64), update)


def build_states_graph(
    container: E5Container,
    kept: Sequence[int],
    kind: Kind,
    smooth: Mapping[str, NDArray[np.int8]],
    layer_count: int,
) -> onnx.ModelProto:
    """Build the first `layer_count` layers alone, for training what comes after them.

    Its output is `hidden_states float32[n, length, dim]`.
    """
    encoder = _Encoder(container, kind, smooth)
    return encoder.build_states(np.asarray(kept, np.int64), layer_count)


def first_updated_layer(update: Update) -> int:
    """Number of the first layer that an update changes."""
    return min(int(name.partition(".")[0][1:]) for name in update)


class _Encoder:
    """One encoder being written; constants are named in the order in which they are added."""

    def __init__(
        self, container: E5Container, kind: Kind, smooth: Mapping[str, NDArray[np.int8]]
    ) -> None:
        self._container = container
        self._shape = container.shape
        self._kind = kind
        self._smooth = smooth
        self._graph = GraphWriter()
        self._update: Update = {}

    def build(self, kept: NDArray[np.int64], update: Update | None) -> onnx.ModelProto:
        x = self._embeddings(kept)
        mask = self._graph.op("Cast", ["attention_mask"], to=TensorProto.INT32)
        layers = self._shape.layers
        shared = layers if update is None else first_updated_layer(update)
        for layer in range(shared):
            x = self._layer(x, mask, layer)
        plain = x
        for layer in range(shared, layers):
            plain = self._layer(plain, mask, layer)
        self._pool(plain, SENTENCE)
        outputs = {SENTENCE: ["batch", self._shape.hidden]}
        if update is not None:
            self._update = update
            for layer in range(shared, layers):
                x = self._layer(x, mask, layer)
            self._pool(x, RELEVANCE)
            outputs[RELEVANCE] = ["batch", self._shape.hidden]
        return self._model(outputs)

    def build_states(self, kept: NDArray[np.int64], layer_count: int) -> onnx.ModelProto:
        x = self._embeddings(kept)
        mask = self._graph.op("Cast", ["attention_mask"], to=TensorProto.INT32)
        for layer in range(layer_count):
            x = self._layer(x, mask, layer)
        self._graph.nodes.append(helper.make_node("Identity", [x], [STATES]))
        return self._model({STATES: ["batch", "seq", self._shape.hidden]})

    def _embeddings(self, kept: NDArray[np.int64]) -> str:
        graph, shape = self._graph, self._shape
        words = self._container.matrix("emb.word", shape.vocabulary, shape.hidden).take(kept)
        if self._kind == "fp32":
            table = graph.constant(words.weights(), "word_embeddings")
            x = graph.op("Gather", [table, "input_ids"])
        else:
            x = self._block_table(words)
        positions = self._container.vector("emb.pos").reshape(shape.positions, shape.hidden)
        types = self._container.vector("emb.type").reshape(shape.token_types, shape.hidden)
        inputs = [graph.constant(positions + types[0][None], "position_table"), graph.integers(0)]
        inputs += [graph.op("Shape", ["input_ids"], start=1, end=2), graph.integers(0)]
        total = graph.op("Add", [x, graph.op("Slice", inputs)])
        scale, shift = self._constants("emb.ln.w", "emb.ln.b")
        epsilon = float(shape.epsilon)
        return graph.op("LayerNormalization", [total, scale, shift], axis=-1, epsilon=epsilon)

    def _block_table(self, words: BlockMatrix) -> str:
        """Keep the table in 4 bits: it is most of the model, and one row a token is read."""
        signed = (words.nibbles.astype(np.int8) - NIBBLE_ZERO) & 15
        raw = pack_nibbles(signed.astype(np.uint8)).tobytes()
        self._graph.constants.append(
            helper.make_tensor(
                "word_embeddings", TensorProto.INT4, list(words.nibbles.shape), raw, raw=True
            )
        )
        scales = self._graph.constant(words.scales, "word_scales")
        return self._graph.runtime_op(
            "GatherBlockQuantized",
            ["word_embeddings", "input_ids", scales],
            block_size=Q4_BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )

    def _layer(self, x: str, mask: str, layer: int) -> str:
        graph, hidden, wide = self._graph, self._shape.hidden, self._shape.feed_forward
        qkv = graph.many(
            "Split",
            [self._linear(x, layer, "qkv", ("q", "k", "v"), (hidden, hidden))],
            3,
            "",
            axis=-1,
            num_outputs=3,
        )
        context = graph.runtime_op(
            "MultiHeadAttention", [*qkv, "", mask], num_heads=self._shape.heads
        )
        attended = self._linear(context, layer, "ao", ("ao",), (hidden, hidden))
        x = self._add_and_normalise(x, attended, f"l{layer}.aln")
        inner = self._linear(x, layer, "fi", ("fi",), (wide, hidden))
        outer = self._linear(
            graph.runtime_op("Gelu", [inner]), layer, "fo", ("fo",), (hidden, wide)
        )
        return self._add_and_normalise(x, outer, f"l{layer}.oln")

    def _add_and_normalise(self, x: str, y: str, name: str) -> str:
        scale, shift = self._constants(f"{name}.w", f"{name}.b")
        return self._graph.runtime_op(
            "SkipLayerNormalization", [x, y, scale, shift], epsilon=float(self._shape.epsilon)
        )

    def _linear(
        self, x: str, layer: int, key: str, parts: Sequence[str], size: tuple[int, int]
    ) -> str:
        """Add `x @ weights.T + bias`, the weights of `parts` stacked, each of `size`."""
        matrices = [self._container.matrix(f"l{layer}.{part}.w", *size) for part in parts]
        joined = BlockMatrix(
            np.concatenate([matrix.scales for matrix in matrices]),
            np.concatenate([matrix.nibbles for matrix in matrices]),
        )
        bias = self._graph.constant(
            np.concatenate([self._container.vector(f"l{layer}.{part}.b") for part in parts])
        )
        if self._kind == "q4" and not self._update:
            return self._blocks(x, pack_nibbles(joined.nibbles), joined.scales, bias, bits=4)
        weights = joined.weights()
        if self._update:
            weights = weights + np.concatenate([self._change(layer, part) for part in parts])
        if self._kind == "q8":
            return self._blocks(x, *quantise_blocks(weights), bias, bits=8)
        if self._kind == "int8":
            return self._channels(x, weights, bias, self._smooth[f"{layer}.{key}"])
        product = self._graph.op("MatMul", [x, self._graph.constant(weights.T)])
        return self._graph.op("Add", [product, bias])

    def _change(self, layer: int, part: str) -> NDArray[np.float32]:
        """What the update adds to the weights of one part."""
        inner, outer = (self._update[f"l{layer}.{part}.{name}"] for name in "AB")
        return outer.astype(np.float32) @ inner.astype(np.float32)

    def _blocks(
        self, x: str, codes: NDArray[np.uint8], scales: NDArray[np.float32], bias: str, *, bits: int
    ) -> str:
        graph, block = self._graph, Q4_BLOCK if bits == 4 else Q8_BLOCK
        inputs = [x, graph.constant(codes), graph.constant(scales.reshape(-1)), "", "", bias]
        return graph.runtime_op(
            "MatMulNBits",
            inputs,
            bits=bits,
            block_size=block,
            K=codes.shape[1] * block,
            N=codes.shape[0],
            accuracy_level=ACCURACY_LEVEL,
        )

    def _channels(
        self, x: str, weights: NDArray[np.float32], bias: str, steps: NDArray[np.int8]
    ) -> str:
        graph = self._graph
        factors = smoothing_factors(steps)
        x = graph.op("Mul", [x, graph.constant(1 / factors)])
        codes, scales = quantise_channels(weights * factors)
        zeros = np.zeros(len(weights), np.int8)
        inputs = [x, *(graph.constant(array) for array in (codes, scales, zeros)), bias]
        return graph.runtime_op("DynamicQuantizeMatMul", inputs)

    def _pool(self, x: str, output: str) -> None:
        """Sum over the real tokens and scale to length 1; the divisor of the mean cancels."""
        graph = self._graph
        real = graph.op("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        weights = graph.op("Unsqueeze", [real, graph.integers(1)])
        summed = graph.op("Squeeze", [graph.op("MatMul", [weights, x]), graph.integers(1)])
        length = graph.op("ReduceL2", [summed, graph.integers(-1)], keepdims=1)
        floor = graph.constant(np.array(LENGTH_FLOOR, np.float32))
        divisor = graph.op("Max", [length, floor])
        graph.nodes.append(helper.make_node("Div", [summed, divisor], [output]))

    def _model(self, shapes: Mapping[str, list[Any]]) -> onnx.ModelProto:
        info = helper.make_tensor_value_info
        tokens: list[str | int | None] = ["batch", "seq"]
        inputs = [info(n, TensorProto.INT64, tokens) for n in ("input_ids", "attention_mask")]
        outputs = [info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        name = f"multilingual-e5-small-{self._kind}"
        graph = helper.make_graph(self._graph.nodes, name, inputs, outputs, self._graph.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name=PRODUCER)
        model.ir_version = IR_VERSION
        return model

    def _constants(self, *names: str) -> list[str]:
        return [self._graph.constant(self._container.vector(name)) for name in names]
