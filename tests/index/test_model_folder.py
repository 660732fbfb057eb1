"""What a model folder says about itself."""

from pathlib import Path
from typing import Any

import pytest

from recalld.index.errors import ModelInvalid, ModelMissing
from recalld.index.model_folder import hash_file, read_model_folder
from tests.index.tiny_model import write_folder, write_json

LONG = 10**30


def test_missing_folder_and_files(tmp_path: Path) -> None:
    """A missing folder, graph or tokenizer is named, with what to do."""
    with pytest.raises(ModelMissing, match="make model"):
        read_model_folder(tmp_path / "nowhere")
    folder = write_folder(tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match=r"tokenizer\.json"):
        read_model_folder(folder)


@pytest.mark.parametrize("name", ["model", "tokenizer"])
def test_stated_hashes_are_checked(tmp_path: Path, name: str) -> None:
    """A file that differs from its stated hash is refused; the right hash is accepted."""
    file = {"model": "model.onnx", "tokenizer": "tokenizer.json"}[name]
    folder = write_folder(tmp_path)
    write_json(folder / "embedder.json", {f"{name}_sha256": hash_file(folder / file)})
    read_model_folder(folder)
    write_json(folder / "embedder.json", {f"{name}_sha256": "0" * 64})
    with pytest.raises(ModelInvalid, match=name):
        read_model_folder(folder)


def test_hash_is_sha256(tmp_path: Path) -> None:
    """The hash of a file is the published SHA-256 of its content."""
    (tmp_path / "abc").write_bytes(b"abc")
    assert hash_file(tmp_path / "abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"query_prefix": "q "},
        {"passage_prefix": "p "},
        {"pooling": "cls"},
        {"max_tokens": 9},
    ],
)
def test_fingerprint_changes_with_what_decides_a_vector(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Another prefix, pooling or limit gives another fingerprint."""
    before = read_model_folder(write_folder(tmp_path)).fingerprint
    assert read_model_folder(write_folder(tmp_path, **change)).fingerprint != before


def test_fingerprint_changes_with_the_files_only(tmp_path: Path) -> None:
    """Weights and tokenizer count for the fingerprint; calibration and the folder's name do not."""
    first = read_model_folder(write_folder(tmp_path / "a")).fingerprint
    other = {"calibration": {"mean": 0.5, "spread": 0.1}}
    folder = write_folder(tmp_path / "b", **other)
    assert read_model_folder(folder).fingerprint == first
    (folder / "model.onnx_data").write_bytes(b"weights")
    second = read_model_folder(folder).fingerprint
    (folder / "model.onnx_data").write_bytes(b"others!")
    third = read_model_folder(folder).fingerprint
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"red"', '"rot"'))
    assert len({first, second, third, read_model_folder(folder).fingerprint}) == 4


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({}, "mean"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "cls"}, "cls"),
    ],
)
def test_pooling_of_both_generations(tmp_path: Path, config: Any, pooling: str) -> None:
    """Pooling is read from the old switches and from the new name; without either it is mean."""
    folder = write_folder(tmp_path)
    write_json(folder / "1_Pooling/config.json", config)
    assert read_model_folder(folder).pooling == pooling


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
        (
            "1_Pooling/config.json",
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        ),
        ("1_Pooling/config.json", {"include_prompt": False}),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}]),
        ("modules.json", {"type": 1}),
        ("config.json", [1]),
        ("embedder.json", {"max_tokens": 4}),
        ("embedder.json", {"max_tokens": "512"}),
        ("embedder.json", {"query_prefix": 3}),
        ("embedder.json", {"calibration": {"mean": 0.5}}),
    ],
)
def test_what_is_not_supported_is_refused(tmp_path: Path, file: str, content: Any) -> None:
    """What would silently give other vectors than the model's own is refused."""
    folder = write_folder(tmp_path)
    write_json(folder / file, content)
    with pytest.raises(ModelInvalid):
        read_model_folder(folder)


def test_damaged_json_is_refused(tmp_path: Path) -> None:
    """A configuration file that is not JSON is named."""
    folder = write_folder(tmp_path)
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelInvalid, match=r"config\.json"):
        read_model_folder(folder)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, 512),
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        ({"tokenizer_config.json": {"model_max_length": 256}}, 256),
        ({"tokenizer_config.json": {"model_max_length": LONG}}, 8192),
        (
            {
                "config.json": {"model_type": "bert", "max_position_embeddings": 512},
                "tokenizer_config.json": {"model_max_length": LONG},
            },
            512,
        ),
        (
            {
                "config.json": {"model_type": "xlm-roberta", "max_position_embeddings": 514},
                "sentence_bert_config.json": {"max_seq_length": 514},
            },
            512,
        ),
    ],
)
def test_length_limit(tmp_path: Path, files: dict[str, Any], limit: int) -> None:
    """The limit is what the sentence model wants, as far as there are positions for it."""
    folder = write_folder(tmp_path)
    for name, content in files.items():
        write_json(folder / name, content)
    assert read_model_folder(folder).max_tokens == limit


@pytest.mark.parametrize(
    ("config", "prefixes"),
    [
        ({}, ("", "")),
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, ("query: ", "passage: ")),
        ({"prompts": {"query": "Find: "}, "default_prompt_name": None}, ("Find: ", "")),
        ({"prompts": {"sts": "S: "}, "default_prompt_name": "sts"}, ("S: ", "S: ")),
    ],
)
def test_prefixes(tmp_path: Path, config: Any, prefixes: tuple[str, str]) -> None:
    """Prompts are found under their usual names, else the default prompt serves both roles."""
    folder = write_folder(tmp_path)
    write_json(folder / "config_sentence_transformers.json", config)
    about = read_model_folder(folder)
    assert (about.query_prefix, about.passage_prefix) == prefixes


def test_own_file_wins(tmp_path: Path) -> None:
    """What embedder.json says goes before what the export says."""
    folder = write_folder(tmp_path, query_prefix="mine: ", max_tokens=64, pooling="mean, in graph")
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "theirs: "}})
    write_json(folder / "1_Pooling/config.json", {"pooling_mode": "cls"})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    about = read_model_folder(folder)
    assert (about.query_prefix, about.max_tokens, about.pooling) == ("mine: ", 64, "mean")
