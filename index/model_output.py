"""What every command that builds a model shares: its finished folder, its steps and its exit codes.

Every file appears under its name only when it is complete, and `embedder.json`, written last, holds
the hashes of the others: a half-built folder is never mistaken for a model. Nothing outside the
output folder is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recalld.index.errors import IndexLayerError
from recalld.index.model_folder import hash_file
from recalld.index.onnx_embedder import OnnxEmbedder

FILES = {"model": "model.onnx", "tokenizer": "tokenizer.json"}
ABOUT = "embedder.json"
EXIT_CODES = "exit codes: 0 built or up to date, 1 failed, 2 wrong usage"
STEP_COUNT = 4


def say(step: int, name: str, detail: str) -> None:
    """Tell the user which of the four steps has begun."""
    sys.stderr.write(f"[{step}/{STEP_COUNT}] {name}: {detail}\n")
    sys.stderr.flush()


def is_whole(folder: Path, facts: Mapping[str, object]) -> bool:
    """Say whether a folder holds a model of which these facts hold, its files unchanged."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return all(about[name] == value for name, value in facts.items()) and all(
            about[f"{name}_sha256"] == hash_file(folder / file) for name, file in FILES.items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextlib.contextmanager
def publishing(folder: Path) -> Iterator[Path]:
    """A place to build in; what was built there takes its names when the block ends well."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as name:
        work = Path(name)
        yield work
        for file in (*FILES.values(), ABOUT):
            os.replace(work / file, folder / file)


def describe(work: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Load what was built, and write `embedder.json`: facts, hashes and background cosines.

    Raises:
        ModelInvalid, BadVector: it is no working model.
    """
    about = {**facts, **{f"{name}_sha256": hash_file(work / file) for name, file in FILES.items()}}
    path = work / ABOUT
    path.write_text(json.dumps(about), encoding="utf-8")
    embedder = OnnxEmbedder(work)
    measured = {
        "calibration": embedder.calibration,
        "relevance_calibration": embedder.relevance,
    }
    for name, scale in measured.items():
        if scale is not None:
            about[name] = {"mean": scale.mean, "spread": scale.spread}
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return about


def differences(about: Mapping[str, Any], expected: Mapping[str, str]) -> list[str]:
    """Warnings about files with other hashes than the published ones; usually none."""
    return [
        f"{FILES[name]} differs from the published build (sha256 {about[f'{name}_sha256']}); "
        "the model works, but its vectors do not mix with those of other hosts"
        for name, wanted in expected.items()
        if about[f"{name}_sha256"] != wanted
    ]


def run(out: Path, is_up_to_date: Callable[[], bool], build: Callable[[], Sequence[str]]) -> int:
    """Build a folder unless it is there, tell how that went, and return the exit code."""
    if is_up_to_date():
        sys.stdout.write(f"up to date: {out}\n")
        return 0
    try:
        warnings = build()
    except (IndexLayerError, OSError, ImportError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run it again to go on\n")
        return 1
    for warning in warnings:
        sys.stderr.write(f"warning: {warning}\n")
    sys.stdout.write(f"built: {out}\n")
    return 0
