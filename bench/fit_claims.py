"""Fits the weights with which the server judges pairs of statements, and says how good they are.

Even lines of the pairs teach, odd ones judge. Pairs of different lines, near by chance, teach and
judge as well: most statements near each other neither replace nor contradict. It prints and changes
nothing; the weights go into server/doubts.py by hand.

    python -m recalld.bench.fit_claims PAIRS.jsonl MODEL_DIR
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recalld.index.onnx_embedder import OnnxEmbedder
from recalld.server.claims import FEATURE_NAMES, Claim, features
from recalld.server.doubts import LIKELY, NEAR_SPREADS

STEPS = 6_000
STEP = 0.5
DECAY = 0.003
CHANCE_PER_LINE = 6

Floats = NDArray[np.float64]


def read(path: Path, model: Path) -> tuple[Floats, list[str], list[bool], list[tuple[str, str]]]:
    """Features, classes, whether a pair teaches, and texts, chance pairs of class `chance`."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    embedder = OnnxEmbedder(model)
    dim, scale = embedder.dim, embedder.calibration

    def vectors(side: str) -> Floats:
        """One text a run: a vector must not depend on its company."""
        found = [embedder.embed([row[side]], is_query=False)[0, :dim] for row in rows]
        return np.array(found, dtype=np.float64)

    near = (vectors("older") @ vectors("newer").T - scale.mean) / scale.spread / NEAR_SPREADS
    near = near.clip(0, 1)
    values, classes, teaches, texts = [], [], [], []
    for j, newer in enumerate(rows):
        order = [i for i in np.argsort(-near[:, j]) if i != j and i % 2 == j % 2]
        for i in (j, *order[:CHANCE_PER_LINE]):
            older = Claim(rows[i]["older"])
            values.append(features(older, Claim(newer["newer"]), float(near[i, j])))
            classes.append(newer["class"] if i == j else "chance")
            teaches.append(j % 2 == 0)
            texts.append((older.text, newer["newer"]))
    return np.array(values), classes, teaches, texts


def fit(values: Floats, truth: Floats) -> Floats:
    """Logistic weights, the bias last, by gradient descent with weight decay."""
    inputs = np.c_[values, np.ones(len(values))]
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-inputs @ weights))
        weights -= STEP * (inputs.T @ (guess - truth) / len(truth) + DECAY * weights)
    return weights


def main() -> None:
    """Fit both judgements and print weights, precision and recall."""
    values, classes, teaches, texts = read(Path(sys.argv[1]), Path(sys.argv[2]))
    taught = np.array(teaches)
    for name in ("update", "contradiction"):
        truth = np.array([float(c == name) for c in classes])
        weights = fit(values[taught], truth[taught])
        guess = 1 / (1 + np.exp(-np.c_[values, np.ones(len(values))] @ weights)) >= LIKELY
        print(name, dict(zip((*FEATURE_NAMES, "bias"), weights.round(2).tolist(), strict=True)))
        for half, chosen in (("taught", taught), ("judged", ~taught)):
            right = int((guess & (truth > 0) & chosen).sum())
            said, there = int((guess & chosen).sum()), int(truth[chosen].sum())
            print(f"  {half}: precision {right}/{said}, recall {right}/{there}")
        for i in np.flatnonzero((guess != (truth > 0)) & ~taught):
            print(f"  wrong: {classes[i]}: {' | '.join(texts[i])}")


if __name__ == "__main__":
    main()
