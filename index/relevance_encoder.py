"""The last layers of the default encoder with low-rank updates, for training on the CPU.

The first layers stay as they are and run once for every text, in the very graph that is deployed
(8-bit, onnxruntime); only their outputs are kept. PyTorch is imported by this file and the trainer
alone and is no dependency of the server.

Source: low-rank adaptation, Hu et al., ICLR 2022, section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from recalld.index.e5_container import E5Container

PARTS = ("q", "k", "v", "ao", "fi", "fo")
# Texts of like length run together, so many at once: padding costs as much as words.
GROUP_COUNT = 32
# Cosines of the encoder lie between 0.7 and 0.9 before training, and fall to lower ones soon.
THRESHOLD_START = 0.6


class LowRank(nn.Module):
    """`x @ (W + B A)^T + b`, of which A and B are trained; B starts at 0, so the start is W."""

    def __init__(self, weights: NDArray[np.float32], bias: NDArray[np.float32], rank: int) -> None:
        """Freeze the weights and make the factors."""
        super().__init__()
        rows, columns = weights.shape
        self.register_buffer("weights", torch.from_numpy(weights))
        self.register_buffer("bias", torch.from_numpy(bias))
        self.a = nn.Parameter(torch.randn(rank, columns) / math.sqrt(columns))
        self.b = nn.Parameter(torch.zeros(rows, rank))

    def forward(self, x: Tensor) -> Tensor:
        """float32[..., columns] -> float32[..., rows]."""
        plain = functional.linear(x, self.weights, self.bias)
        return plain + functional.linear(functional.linear(x, self.a), self.b)


class Layer(nn.Module):
    """One BERT layer, normalised after each block."""

    def __init__(self, container: E5Container, number: int, rank: int) -> None:
        """Read the layer's weights."""
        super().__init__()
        shape = container.shape
        self._heads = shape.heads
        self._epsilon = float(shape.epsilon)
        hidden, wide = shape.hidden, shape.feed_forward
        sizes = {"fi": (wide, hidden), "fo": (hidden, wide)}
        self.parts = nn.ModuleDict()
        for part in PARTS:
            rows, columns = sizes.get(part, (hidden, hidden))
            name = f"l{number}.{part}"
            weights = container.matrix(f"{name}.w", rows, columns).weights()
            self.parts[part] = LowRank(weights, container.vector(f"{name}.b").copy(), rank)
        for norm in ("aln", "oln"):
            for kind in ("w", "b"):
                values = torch.from_numpy(container.vector(f"l{number}.{norm}.{kind}").copy())
                self.register_buffer(f"{norm}_{kind}", values)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """float32[n, length, hidden] and bool[n, length] -> float32[n, length, hidden]."""
        n, length, hidden = x.shape
        heads = [
            self.parts[part](x).view(n, length, self._heads, -1).transpose(1, 2) for part in "qkv"
        ]
        attended = functional.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None, :])
        context = attended.transpose(1, 2).reshape(n, length, hidden)
        x = self._normalise(x + self.parts["ao"](context), "aln")
        inner = functional.gelu(self.parts["fi"](x))
        return self._normalise(x + self.parts["fo"](inner), "oln")

    def _normalise(self, x: Tensor, norm: str) -> Tensor:
        """Layer normalisation with the frozen scale and shift."""
        scale, shift = getattr(self, f"{norm}_w"), getattr(self, f"{norm}_b")
        return functional.layer_norm(x, (x.shape[-1],), scale, shift, self._epsilon)


class RelevanceEncoder(nn.Module):
    """The trained end of the encoder: hidden states in, unit vectors out."""

    def __init__(self, container: E5Container, layer_count: int, rank: int) -> None:
        """Take the last `layer_count` layers."""
        super().__init__()
        first = container.shape.layers - layer_count
        self.first = first
        self.layers = nn.ModuleList(
            Layer(container, number, rank) for number in range(first, container.shape.layers)
        )
        # Similarity above which a memory matters at all: what is trained against it keeps its
        # meaning from request to request.
        self.threshold = nn.Parameter(torch.tensor(THRESHOLD_START))

    def forward(self, states: Sequence[NDArray[np.float16]]) -> Tensor:
        """Encode texts given as hidden states float16[length, hidden]; float32[n, hidden]."""
        order = sorted(range(len(states)), key=lambda place: len(states[place]))
        groups = [order[at : at + GROUP_COUNT] for at in range(0, len(order), GROUP_COUNT)]
        vectors = torch.cat([self._group([states[place] for place in group]) for group in groups])
        return vectors[np.argsort(order)]

    def _group(self, states: Sequence[NDArray[np.float16]]) -> Tensor:
        """Encode a few texts at once; float32[n, hidden]."""
        length = max(len(state) for state in states)
        x = torch.zeros(len(states), length, states[0].shape[1])
        mask = torch.zeros(len(states), length, dtype=torch.bool)
        for row, state in enumerate(states):
            x[row, : len(state)] = torch.from_numpy(state.astype(np.float32))
            mask[row, : len(state)] = True
        for layer in self.layers:
            x = layer(x, mask)
        return functional.normalize((x * mask[:, :, None]).sum(1), dim=-1)

    def update(self) -> dict[str, NDArray[np.float16]]:
        """The trained factors: `l8.q.A` float16[rank, columns], `l8.q.B` float16[rows, rank]."""
        factors = {}
        for number, layer in enumerate(self.layers, self.first):
            for part in PARTS:
                module = layer.parts[part]
                for name, values in (("A", module.a), ("B", module.b)):
                    factors[f"l{number}.{part}.{name}"] = values.detach().numpy().astype(np.float16)
        return factors

    def load(self, factors: Mapping[str, NDArray[np.float16]]) -> None:
        """Take factors as `update` gives them, of this encoder's rank."""
        with torch.no_grad():
            for number, layer in enumerate(self.layers, self.first):
                for part in PARTS:
                    module = layer.parts[part]
                    for name, values in (("A", module.a), ("B", module.b)):
                        values.copy_(torch.from_numpy(factors[f"l{number}.{part}.{name}"]))
