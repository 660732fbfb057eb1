"""Opens ONNX graphs for onnxruntime on the CPU; the only file that imports onnxruntime.

onnxruntime reports usage over the network by default: as soon as it is imported it writes a
device id and an event database into the user's cache folder and starts an uploader. This file
turns that off before the import, which is why the import happens at the first session and not at
the top. Nothing here ever opens a connection or lets a waiting thread spin.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.errors import ModelInvalid

if TYPE_CHECKING:
    import onnxruntime

NO_REPORTS = {"ORT_DISABLE_TELEMETRY": "1"}
INPUT_NAMES = frozenset({"input_ids", "attention_mask", "token_type_ids"})
SENTENCE_OUTPUT = "sentence_embedding"
RELEVANCE_OUTPUT = "relevance_embedding"
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
LOG_ERRORS_ONLY = 3
_INTEGER_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(int64)": np.dtype(np.int64),
    "tensor(int32)": np.dtype(np.int32),
}


@dataclass(frozen=True, slots=True)
class OnnxSession:
    """A loaded text encoder.

    Attributes:
        session: the onnxruntime session; its `run` may be called from several threads.
        inputs: name and dtype of each input.
        outputs: the outputs that are read, one behind the other: the sentence's vector, and its
            relevance vector where the graph makes one; or a single one of tokens.
        is_pooled: True where the output holds one vector a text, False where one a token.
    """

    session: onnxruntime.InferenceSession
    inputs: dict[str, np.dtype[Any]]
    outputs: tuple[str, ...]
    is_pooled: bool

    @property
    def has_relevance(self) -> bool:
        """Whether each text gets a relevance vector too."""
        return RELEVANCE_OUTPUT in self.outputs

    def run(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Run the graph.

        Args:
            ids: int64[n, length], token ids.
            mask: int64[n, length], 1 for tokens and 0 for padding.

        Returns:
            float32[n, dim], twice as wide with relevance vectors, or, where not pooled,
            float32[n, length, dim].

        Raises:
            ModelInvalid: the graph fails, for example because it has no position that far.
        """
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed: dict[str, NDArray[Any]] = {
            name: values[name].astype(dtype) for name, dtype in self.inputs.items()
        }
        try:
            results = self.session.run(list(self.outputs), feed)
        except Exception as error:  # one class for each C++ status, with no common base
            raise ModelInvalid(f"the model fails on input of shape {ids.shape}: {error}") from error
        return np.concatenate([np.asarray(result, np.float32) for result in results], axis=-1)


def open_states_session(graph: bytes, threads: int) -> OnnxSession:
    """Load a graph in memory whose only output is one hidden state a token."""
    session = _load(graph, threads)
    return OnnxSession(
        session, _input_types(session, "graph"), (session.get_outputs()[0].name,), False
    )


def open_session(path: Path, threads: int) -> OnnxSession:
    """Load a graph.

    Args:
        path: the ONNX file.
        threads: threads of one run, >= 1.

    Raises:
        ModelInvalid: it does not load, or has inputs or outputs we cannot serve.
    """
    session = _load(str(path), threads)
    outputs, is_pooled = _pick_outputs(session, path)
    return OnnxSession(session, _input_types(session, path), outputs, is_pooled)


def _load(graph: str | bytes, threads: int) -> onnxruntime.InferenceSession:
    """Load a graph from a file or from memory."""
    # The switch counts only if it is set before the library loads.
    os.environ.update(NO_REPORTS)
    import onnxruntime

    # For a process in which somebody else imported the library first.
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        name = "the graph" if isinstance(graph, bytes) else graph
        raise ModelInvalid(f"{name} does not load: {error}") from error


def _input_types(session: onnxruntime.InferenceSession, path: object) -> dict[str, np.dtype[Any]]:
    types: dict[str, str] = {item.name: item.type for item in session.get_inputs()}
    is_known = types.keys() <= INPUT_NAMES and set(types.values()) <= _INTEGER_TYPES.keys()
    if not is_known or "input_ids" not in types:
        raise ModelInvalid(f"{path} has inputs {types}; known: {sorted(INPUT_NAMES)}, integer")
    return {name: _INTEGER_TYPES[kind] for name, kind in types.items()}


def _pick_outputs(
    session: onnxruntime.InferenceSession, path: Path
) -> tuple[tuple[str, ...], bool]:
    ranks = {item.name: len(item.shape) for item in session.get_outputs()}
    if ranks.get(SENTENCE_OUTPUT) == 2:
        relevance = (RELEVANCE_OUTPUT,) if ranks.get(RELEVANCE_OUTPUT) == 2 else ()
        return (SENTENCE_OUTPUT, *relevance), True
    for name in TOKEN_OUTPUTS:
        if ranks.get(name) == 3:
            return (name,), False
    if len(ranks) == 1 and set(ranks.values()) <= {2, 3}:
        ((name, rank),) = ranks.items()
        return (name,), rank == 2
    raise ModelInvalid(f"{path} has outputs {ranks}; none is a sentence or token embedding")
