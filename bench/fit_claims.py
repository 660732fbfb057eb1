"""Fits the weights with which the server judges pairs of statements, and says how good they are.

Even lines of the pairs teach, odd ones judge. Pairs of different lines, near by chance, teach and
judge as well: most statements near each other neither replace nor contradict. It changes nothing;
the weights go into server/word_odds.py by hand.

    python -m recalld.bench.fit_claims --model DIR [--pairs FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.index.onnx_embedder import OnnxEmbedder
from recalld.scoring.params import Scale
from recalld.server.claim_pairs import Features, features
from recalld.server.claims import Claim
from recalld.server.word_odds import LIKELY, contradicted, nearness, outdated

STEPS = 6_000
STEP = 0.5
DECAY = 0.0005
CHANCE_PER_LINE = 6
PAIR_WEIGHT = 2.0
"""What a pair of the judged class counts, so that the many others do not drown it."""

Floats = NDArray[np.float64]


def read(path: Path, model: Path) -> tuple[list[Features], list[str]]:
    """Features and classes: each pair, and after it CHANCE_PER_LINE of class `chance`."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    embedder = OnnxEmbedder(model)
    dim = embedder.dim
    scale = Scale(embedder.calibration.mean, embedder.calibration.spread)

    def vectors(side: str) -> Floats:
        """One text a run: a vector must not depend on its company."""
        found = [embedder.embed([row[side]], is_query=False)[0, :dim] for row in rows]
        return np.array(found, dtype=np.float64)

    cosines = vectors("older") @ vectors("newer").T
    pairs, classes = [], []
    for j, newer in enumerate(rows):
        others = [i for i in np.argsort(-cosines[:, j]) if i != j and i % 2 == j % 2]
        for i in (j, *others[:CHANCE_PER_LINE]):
            near = nearness(float(cosines[i, j]), scale)
            pairs.append(features(Claim(rows[i]["older"]), Claim(newer["newer"]), near))
            classes.append(newer["class"] if i == j else "chance")
    return pairs, classes


def fit(values: Floats, truth: Floats) -> Floats:
    """Logistic weights, the bias last, by gradient descent with weight decay."""
    inputs = np.c_[values, np.ones(len(values))]
    counts = np.where(truth > 0, PAIR_WEIGHT, 1.0)
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        wrong = (1 / (1 + np.exp(-inputs @ weights)) - truth) * counts
        weights -= STEP * (inputs.T @ wrong / counts.sum() + DECAY * weights)
    return weights


def main() -> None:
    """Fit both judgements; write the weights, and how the server's own ones do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, default=Path("tests/data/claim_pairs.jsonl"))
    parser.add_argument("--model", type=Path, required=True, help="folder of the embedding model")
    given = parser.parse_args()
    pairs, classes = read(given.pairs, given.model)
    values = np.array(pairs, dtype=np.float64)
    teaches = np.arange(len(pairs)) // (CHANCE_PER_LINE + 1) % 2 == 0
    for name, judge in (("update", outdated), ("contradiction", contradicted)):
        truth = np.array([float(c == name) for c in classes])
        weights = fit(values[teaches], truth[teaches]).round(2).tolist()
        named = dict(zip((*Features._fields, "bias"), weights, strict=True))
        sys.stdout.write(f"{name}: {named}\n")
        guess = np.array([judge(pair) > LIKELY for pair in pairs])
        for half, chosen in (("taught", teaches), ("judged", ~teaches)):
            right = int((guess & (truth > 0) & chosen).sum())
            said, there = int((guess & chosen).sum()), int(truth[chosen].sum())
            sys.stdout.write(f"  {half}: precision {right}/{said}, recall {right}/{there}\n")


if __name__ == "__main__":
    main()
