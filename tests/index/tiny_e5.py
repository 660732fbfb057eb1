"""Builds a small E5S1 container byte by byte, and computes its encoder the slow, plain way."""

import math
import struct
from collections.abc import Sequence

import numpy as np

HIDDEN, LAYERS, HEADS, WIDE, POSITIONS, TYPES = 128, 2, 2, 256, 64, 2
EPSILON = 1e-5
PIECES = ("<s>", "<pad>", "</s>", "<unk>", *"▁abcdefghijklmnopqrstuvwxyz你好", "か", "<mask>")
VECTOR, MATRIX = 0, 1


def pack_matrix(nibbles: np.ndarray, scales: np.ndarray) -> bytes:
    """Pack codes row by row: a block is a float16 scale and 16 bytes of codes j and j + 16."""
    out = bytearray()
    for row, row_scales in zip(nibbles, scales, strict=True):
        for block, scale in enumerate(row_scales):
            codes = [int(code) for code in row[32 * block : 32 * block + 32]]
            out += struct.pack("<e", float(scale))
            out += bytes(codes[j] | codes[j + 16] << 4 for j in range(16))
    return bytes(out)


def matrix_sizes() -> dict[str, tuple[int, int]]:
    """Name and size of every matrix."""
    sizes = {"emb.word": (len(PIECES), HIDDEN)}
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao"):
            sizes[f"l{layer}.{part}.w"] = (HIDDEN, HIDDEN)
        sizes[f"l{layer}.fi.w"] = (WIDE, HIDDEN)
        sizes[f"l{layer}.fo.w"] = (HIDDEN, WIDE)
    return sizes


def vector_sizes() -> dict[str, int]:
    """Name and length of every vector."""
    sizes = {"emb.pos": POSITIONS * HIDDEN, "emb.type": TYPES * HIDDEN}
    sizes |= {"emb.ln.w": HIDDEN, "emb.ln.b": HIDDEN}
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao", "fo"):
            sizes[f"l{layer}.{part}.b"] = HIDDEN
        sizes[f"l{layer}.fi.b"] = WIDE
        for norm in ("aln", "oln"):
            sizes |= {f"l{layer}.{norm}.w": HIDDEN, f"l{layer}.{norm}.b": HIDDEN}
    return sizes


class TinyE5:
    """Random weights from a fixed seed, as plain arrays and as container bytes."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self.nibbles, self.scales, self.weights = {}, {}, {}
        for name, (rows, columns) in matrix_sizes().items():
            codes = random.integers(0, 16, (rows, columns)).astype(np.uint8)
            scales = random.uniform(0.01, 0.03, (rows, columns // 32)).astype(np.float16)
            self.nibbles[name], self.scales[name] = codes, scales
            wide = np.repeat(scales.astype(np.float64), 32, axis=1)
            self.weights[name] = (codes.astype(np.float64) - 8) * wide
        self.vectors = {
            name: (random.normal(size=size) * 0.1 + name.endswith("ln.w")).astype(np.float32)
            for name, size in vector_sizes().items()
        }

    def data(self) -> bytes:
        """The container."""
        texts = [piece.encode() for piece in PIECES]
        offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
        head = struct.pack(
            "<4s8ifi",
            *(b"E5S1", 1, HIDDEN, LAYERS, HEADS, WIDE, len(PIECES), POSITIONS, TYPES),
            *(EPSILON, 32),
        )
        head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(offsets[-1])) + offsets.tobytes()
        scores = -np.arange(len(PIECES), dtype="<f4")
        head += scores.tobytes() + b"".join(texts)
        head += struct.pack("<iI", 0, 5) + b"xxxxx"
        tensors = [(name, VECTOR, v.size, v.tobytes()) for name, v in self.vectors.items()]
        tensors += [
            (name, MATRIX, codes.size, pack_matrix(codes, self.scales[name]))
            for name, codes in self.nibbles.items()
        ]
        directory_bytes = 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
        offset = len(head) + directory_bytes
        directory = struct.pack("<i", len(tensors))
        for name, kind, count, blob in tensors:
            directory += struct.pack("<H", len(name)) + name.encode()
            directory += struct.pack("<BIQQ", kind, count, offset, len(blob))
            offset += len(blob)
        return head + directory + b"".join(blob for *_, blob in tensors)

    def encode(self, ids: Sequence[int]) -> np.ndarray:
        """The unit vector of one text, in float64."""
        x = np.stack([self.weights["emb.word"][i] for i in ids])
        x = x + self.vectors["emb.pos"].reshape(POSITIONS, HIDDEN)[: len(ids)]
        x = self._normalise(x + self.vectors["emb.type"][:HIDDEN], "emb.ln")
        for layer in range(LAYERS):
            q, k, v = (self._linear(x, f"l{layer}.{part}") for part in "qkv")
            x = self._normalise(
                x + self._linear(self._attend(q, k, v), f"l{layer}.ao"), f"l{layer}.aln"
            )
            inner = self._linear(x, f"l{layer}.fi")
            erf = np.vectorize(math.erf)(inner / math.sqrt(2))
            outer = self._linear(inner * (1 + erf) / 2, f"l{layer}.fo")
            x = self._normalise(x + outer, f"l{layer}.oln")
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.w"].T + self.vectors[f"{name}.b"]

    def _normalise(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)
        return x * self.vectors[f"{name}.w"] + self.vectors[f"{name}.b"]

    @staticmethod
    def _attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        size = HIDDEN // HEADS
        out = np.empty_like(q)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            weights = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size))
            out[:, part] = weights / weights.sum(axis=1, keepdims=True) @ v[:, part]
        return out
