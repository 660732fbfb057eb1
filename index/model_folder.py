"""Reads what a model folder says about itself: files, prefixes, pooling, length limit.

Two kinds of folder are understood: those built by `recalld.index.model_build` or
`recalld.index.fast_build`, and any exported sentence-transformers folder. `embedder.json` wins over
every other file, so it may also be added to a foreign folder, for example to set the prefixes that
its export forgot. Nothing is loaded into a runtime here and nothing is written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recalld.index.embedder import Calibration, make_fingerprint
from recalld.index.errors import ModelInvalid, ModelMissing

MODEL_PLACES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
TOKENIZER_PLACES = ("tokenizer.json", "onnx/tokenizer.json")
POOLINGS = ("mean", "cls")
PROMPT_NAMES = {True: ("query",), False: ("document", "passage", "corpus")}
MAX_TOKENS_DEFAULT = 512
MAX_TOKENS_LIMIT = 8192
MAX_TOKENS_LEAST = 8
# These count positions from one past the padding id, so two table rows can never be used.
OFFSET_POSITION_MODELS = ("roberta", "xlm-roberta", "camembert", "mpnet")
OFFSET_POSITIONS = 2
_HASH_CHUNK_BYTES = 1 << 20

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What is needed to run a model, as its folder states it.

    Attributes:
        model: the ONNX graph.
        tokenizer: the tokenizer in Hugging Face `tokenizers` format.
        query_prefix, passage_prefix: put before every request and every memory.
        pooling: `mean` or `cls`; used only where the graph gives one vector a token.
        max_tokens: in [8, 8192], special tokens included.
        pad_id: token id for padding; it is masked, so it only has to exist.
        calibration: background cosine if the folder states it, else None.
        relevance: the same of the relevance vectors, if the folder states it, else None.
        base_model: what the model was made from, as the folder states it; "" = unknown.
        fingerprint: 32 hex digits over all of the above but the calibrations.
    """

    model: Path
    tokenizer: Path
    query_prefix: str
    passage_prefix: str
    pooling: str
    max_tokens: int
    pad_id: int
    calibration: Calibration | None
    relevance: Calibration | None
    base_model: str
    fingerprint: str


def read_model_folder(folder: Path) -> ModelFolder:
    """Read a model folder and check the hashes that it states.

    Raises:
        ModelMissing: the folder, its graph or its tokenizer is not there.
        ModelInvalid: a file is damaged, or asks for something that is not supported.
    """
    model = _first_existing(folder, MODEL_PLACES)
    tokenizer = _first_existing(folder, TOKENIZER_PLACES)
    own = _read_json(folder / "embedder.json")
    hashes = {"model": _hash_model(model), "tokenizer": hash_file(tokenizer)}
    for name, actual in hashes.items():
        stated = own.get(f"{name}_sha256", actual)
        if stated != actual:
            raise ModelInvalid(f"{folder}: {name} has sha256 {actual}, embedder.json says {stated}")
    prefixes = _prefixes(folder, own)
    config = _read_json(folder / "config.json")
    pooling = _pooling(folder, own)
    max_tokens = _max_tokens(folder, own, config)
    return ModelFolder(
        model=model,
        tokenizer=tokenizer,
        query_prefix=prefixes[True],
        passage_prefix=prefixes[False],
        pooling=pooling,
        max_tokens=max_tokens,
        pad_id=_integer(own.get("pad", config.get("pad_token_id")), 0),
        calibration=_calibration(own, "calibration"),
        relevance=_calibration(own, "relevance_calibration"),
        base_model=str(own.get("base_model", "")),
        fingerprint=make_fingerprint(
            {
                **hashes,
                "query_prefix": prefixes[True],
                "passage_prefix": prefixes[False],
                "pooling": pooling,
                "max_tokens": max_tokens,
            }
        ),
    )


def hash_file(path: Path) -> str:
    """Hash a file with SHA-256, 64 hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _hash_model(model: Path) -> str:
    # Large exports keep their weights beside the graph (model.onnx_data, model.onnx.data).
    parts = [model, *sorted(p for p in model.parent.glob(f"{model.name}?data*") if p.is_file())]
    hashes = [hash_file(part) for part in parts]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def _first_existing(folder: Path, places: tuple[str, ...]) -> Path:
    for place in places:
        if (folder / place).is_file():
            return folder / place
    raise ModelMissing(
        f"{folder} holds none of {', '.join(places)}; build the default model with `make model`, "
        "the fast one with `make model-fast`"
    )


def _read_json(path: Path) -> Json:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelInvalid(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ModelInvalid(f"{path} is not a JSON object")
    return content


def _integer(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _prefixes(folder: Path, own: Json) -> dict[bool, str]:
    config = _read_json(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts") or {}
    fallback = prompts.get(config.get("default_prompt_name") or "", "")
    prefixes = {}
    for is_query, names in PROMPT_NAMES.items():
        named = next((prompts[name] for name in names if name in prompts), fallback)
        prefix = own.get("query_prefix" if is_query else "passage_prefix", named)
        if not isinstance(prefix, str):
            raise ModelInvalid(f"{folder}: a prefix is not a text: {prefix!r}")
        prefixes[is_query] = prefix
    return prefixes


def _pooling(folder: Path, own: Json) -> str:
    for module in _module_types(folder):
        if module.rsplit(".", 1)[-1] not in ("Transformer", "Pooling", "Normalize"):
            raise ModelInvalid(f"{folder}: sentence-transformers module {module} is not supported")
    config = _read_json(folder / "1_Pooling" / "config.json")
    if config.get("include_prompt", True) is not True:
        raise ModelInvalid(f"{folder}: pooling without the prompt is not supported")
    modes = [
        name.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
        for name, on in config.items()
        if name.startswith("pooling_mode_") and on is True
    ]
    stated = own.get("pooling") or config.get("pooling_mode") or "+".join(modes) or "mean"
    # Folders of our own say "mean, in graph".
    pooling = str(stated).split(",", 1)[0]
    if pooling not in POOLINGS:
        raise ModelInvalid(f"{folder}: pooling {stated} is not supported, only mean and cls")
    return pooling


def _module_types(folder: Path) -> list[str]:
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        return [str(module["type"]) for module in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, KeyError) as error:
        raise ModelInvalid(f"{path} is not a list of modules: {error}") from error


def _max_tokens(folder: Path, own: Json, config: Json) -> int:
    if "max_tokens" in own:
        limit = _integer(own["max_tokens"], 0)
    else:
        positions = _integer(config.get("max_position_embeddings"), MAX_TOKENS_LIMIT)
        if config.get("model_type") in OFFSET_POSITION_MODELS:
            positions -= OFFSET_POSITIONS
        sentence = _read_json(folder / "sentence_bert_config.json")
        tokenizer = _read_json(folder / "tokenizer_config.json")
        wanted = sentence.get("max_seq_length") or tokenizer.get("model_max_length")
        limit = min(positions, _integer(wanted, MAX_TOKENS_DEFAULT), MAX_TOKENS_LIMIT)
    if not MAX_TOKENS_LEAST <= limit <= MAX_TOKENS_LIMIT:
        raise ModelInvalid(
            f"{folder}: max_tokens {limit} is not in [{MAX_TOKENS_LEAST}, {MAX_TOKENS_LIMIT}]"
        )
    return limit


def _calibration(own: Json, name: str) -> Calibration | None:
    stated = own.get(name)
    if stated is None:
        return None
    try:
        return Calibration(float(stated["mean"]), float(stated["spread"]))
    except (TypeError, KeyError, ValueError) as error:
        raise ModelInvalid(f"embedder.json: no {name} in {stated!r}") from error
