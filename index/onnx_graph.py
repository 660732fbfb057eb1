"""Writes ONNX graphs node by node; names are counted, so the same calls give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper

RUNTIME_DOMAIN = "com.microsoft"


class GraphWriter:
    """Nodes and constants of one graph, in the order in which they are added."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def name(self, stem: str) -> str:
        """Return a name that no other node or constant has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, array: NDArray[Any], name: str = "") -> str:
        """Add a constant and return its name."""
        name = name or self.name("c")
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def integers(self, *values: int) -> str:
        """Add int64 values and return their name."""
        return self.constant(np.array(values, np.int64))

    def many(
        self, operator: str, inputs: Sequence[str], count: int, domain: str, **attributes: Any
    ) -> list[str]:
        """Add an operator with several outputs and return their names."""
        outputs = [self.name(operator.lower()) for _ in range(count)]
        name = self.name("n")
        self.nodes.append(
            helper.make_node(operator, inputs, outputs, domain=domain, name=name, **attributes)
        )
        return outputs

    def op(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a standard operator with one output."""
        return self.many(operator, inputs, 1, "", **attributes)[0]

    def runtime_op(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add an operator of onnxruntime with one output."""
        return self.many(operator, inputs, 1, RUNTIME_DOMAIN, **attributes)[0]
