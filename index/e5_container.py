"""Reads the "E5S1" weight container: vocabulary, float32 vectors and 4-bit matrices.

Layout, little-endian: magic `E5S1`; eight int32 (version, hidden, layers, heads, feed-forward,
vocabulary rows, positions, token types); float32 epsilon; int32 block length; the vocabulary
(piece count, four special ids, byte length, offsets, scores, bytes); a normalisation map, skipped
here; a directory of tensors (name, type, count, offset, bytes). A matrix is stored in blocks of
32 weights: float16 scale, then 16 bytes, where byte j holds weight j in its low half and
weight j + 16 in its high half; a weight is (nibble - 8) * scale.

It never writes and never trusts a number: whatever reads past the end is an error. Everything
is copied out or read-only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.errors import ModelInvalid

MAGIC = b"E5S1"
BLOCK = 32
NIBBLE_ZERO = 8
_SCALE_BYTES = 2
_BLOCK_BYTES = _SCALE_BYTES + BLOCK // 2
_FLOAT32, _BLOCK4 = 0, 1


@dataclass(frozen=True, slots=True)
class E5Shape:
    """Sizes of the encoder; all > 0, `hidden` is a multiple of 32 times `heads`."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class BlockMatrix:
    """A 4-bit matrix.

    Attributes:
        scales: float32[rows, columns / 32].
        nibbles: uint8[rows, columns], in [0, 15].
    """

    scales: NDArray[np.float32]
    nibbles: NDArray[np.uint8]

    def weights(self) -> NDArray[np.float32]:
        """Return float32[rows, columns]."""
        rows, columns = self.nibbles.shape
        centred = self.nibbles.astype(np.float32) - NIBBLE_ZERO
        blocks = centred.reshape(rows, columns // BLOCK, BLOCK) * self.scales[:, :, None]
        return blocks.reshape(rows, columns)

    def take(self, rows: NDArray[np.int64]) -> BlockMatrix:
        """Return the matrix of these rows, in this order."""
        return BlockMatrix(self.scales[rows], self.nibbles[rows])


@dataclass(frozen=True, slots=True)
class _Tensor:
    type: int
    count: int
    offset: int
    size_bytes: int


class E5Container:
    """One container in memory.

    Args:
        data: the whole file.

    Attributes:
        shape: sizes of the encoder.
        pieces: vocabulary texts; row i of `emb.word` belongs to piece i.
        scores: float32[len(pieces)], log-probabilities for the unigram tokenizer.

    Raises:
        ModelInvalid: it is not such a container, or it is cut short.
    """

    def __init__(self, data: bytes) -> None:
        """Parse everything but the tensors."""
        if data[: len(MAGIC)] != MAGIC:
            raise ModelInvalid("not an E5S1 container")
        self._data = data
        try:
            self._parse()
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise ModelInvalid(f"damaged E5S1 container: {error}") from error

    def _parse(self) -> None:
        data = self._data
        self.shape = shape = E5Shape(*struct.unpack_from("<7if", data, 8))
        if min(struct.unpack_from("<7i", data, 8)) <= 0 or shape.hidden % (shape.heads * BLOCK):
            raise ValueError(f"impossible sizes {shape}")
        at = 44
        (piece_count,) = struct.unpack_from("<i", data, at)
        (text_bytes,) = struct.unpack_from("<Q", data, at + 20)
        at += 28
        offsets = np.frombuffer(data, "<u4", piece_count + 1, at)
        at += offsets.nbytes
        self.scores: NDArray[np.float32] = np.frombuffer(data, "<f4", piece_count, at)
        at += self.scores.nbytes
        blob = data[at : at + text_bytes]
        self.pieces = [blob[offsets[i] : offsets[i + 1]].decode() for i in range(piece_count)]
        at += text_bytes
        (map_bytes,) = struct.unpack_from("<I", data, at + 4)
        at += 8 + map_bytes
        (tensor_count,) = struct.unpack_from("<i", data, at)
        at += 4
        self._tensors: dict[str, _Tensor] = {}
        for _ in range(tensor_count):
            (name_bytes,) = struct.unpack_from("<H", data, at)
            at += 2
            name = data[at : at + name_bytes].decode()
            at += name_bytes
            self._tensors[name] = _Tensor(*struct.unpack_from("<BIQQ", data, at))
            at += 21

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flat.

        Raises:
            ModelInvalid: there is no such tensor, or it lies outside the file.
        """
        tensor = self._find(name, _FLOAT32)
        return np.frombuffer(self._data, "<f4", tensor.count, tensor.offset).copy()

    def matrix(self, name: str, rows: int, columns: int) -> BlockMatrix:
        """Return a 4-bit tensor.

        Raises:
            ModelInvalid: there is no such tensor of this size, or it lies outside the file.
        """
        tensor = self._find(name, _BLOCK4)
        if tensor.count != rows * columns or tensor.size_bytes * BLOCK != (
            tensor.count * _BLOCK_BYTES
        ):
            raise ModelInvalid(f"tensor {name} has {tensor.count} weights, not {rows} x {columns}")
        raw = np.frombuffer(self._data, np.uint8, tensor.size_bytes, tensor.offset)
        blocks = raw.reshape(rows, columns // BLOCK, _BLOCK_BYTES)
        scales = np.ascontiguousarray(blocks[:, :, :_SCALE_BYTES]).view("<f2")[..., 0]
        packed = blocks[:, :, _SCALE_BYTES:]
        nibbles = np.concatenate([packed & 15, packed >> 4], axis=2).reshape(rows, columns)
        return BlockMatrix(scales.astype(np.float32), nibbles)

    def _find(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.type != kind:
            raise ModelInvalid(f"the container has no tensor {name} of type {kind}")
        size_bytes = tensor.count * 4 if kind == _FLOAT32 else tensor.size_bytes
        if tensor.offset + size_bytes > len(self._data):
            raise ModelInvalid(f"tensor {name} lies outside the container")
        return tensor
