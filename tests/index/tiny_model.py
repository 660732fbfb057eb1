"""Builds model folders a few bytes large: a table of token vectors behind a word tokenizer.

A token's vector is its row of `TABLE`, so every pooled vector can be worked out by hand. The row of
the padding is NaN: it must never reach a result.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = ("<pad>", "<unk>", "red", "green", "blue", "ask", "bad")
TABLE = np.array(
    [
        [np.nan] * 4,
        [1, 1, 1, 1],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [np.nan] * 4,
    ],
    np.float32,
)
CALIBRATION = {"calibration": {"mean": 0.25, "spread": 0.125}}


def write_model(
    path: Path,
    *,
    table: np.ndarray = TABLE,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    output: str = "last_hidden_state",
    id_type: int = TensorProto.INT64,
) -> None:
    """Write a graph that looks up token vectors and adds nothing to them."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["found"])]
    last = "found"
    for name in inputs[1:]:
        # Uses the input, at weight 0, so that the graph really needs it.
        nodes += [
            helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{name}_f", "zero"], [f"{name}_0"]),
            helper.make_node("Unsqueeze", [f"{name}_0", "axis"], [f"{name}_3"]),
            helper.make_node("Add", [last, f"{name}_3"], [f"{name}_sum"]),
        ]
        last = f"{name}_sum"
    nodes.append(helper.make_node("Identity", [last], [output]))
    shape = ["batch", "length"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, id_type, shape) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [*shape, table.shape[1]])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array(0, np.float32), "zero"),
            numpy_helper.from_array(np.array([2], np.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ir_version = 10
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def write_tokenizer(path: Path, words: tuple[str, ...] = WORDS, *, split: str = "words") -> None:
    """Write a tokenizer whose ids are the places in `words`; `split` is `words` or `letters`."""
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = (
        pre_tokenizers.WhitespaceSplit()
        if split == "words"
        else pre_tokenizers.Split("", "isolated")
    )
    # As exports do: a fixed padding and a short cut that a loader must not keep.
    tokenizer.enable_padding(length=7)
    tokenizer.enable_truncation(max_length=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


def write_json(path: Path, content: Any) -> None:
    """Write one of the configuration files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_folder(folder: Path, **about: Any) -> Path:
    """Write a whole folder; `about` is added to its embedder.json."""
    write_model(folder / "model.onnx")
    write_tokenizer(folder / "tokenizer.json")
    write_json(folder / "embedder.json", CALIBRATION | about)
    return folder
