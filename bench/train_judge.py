"""Trains the judge of statement pairs, and says how often it is right on lines kept out.

    python -m recalld.bench.train_judge --model DIR

Each line of bench/data/claims.jsonl has an older statement and newer ones of four kinds; the
nearest statements of other lines, and some far ones, are pairs that say nothing of the older one.
Three folds by line give the figures; then all lines train what is written. The pairs that the word
rules were judged with (tests/data/claim_pairs.jsonl), which teach nothing here, are judged too.
PyTorch is needed here and nowhere in the server.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from recalld.index.judge import WEIGHTS, Judge, Stand, inputs
from recalld.index.model_folder import read_model_folder
from recalld.index.onnx_embedder import OnnxEmbedder

LINES = Path(__file__).parent / "data" / "claims.jsonl"
OTHERS = Path(__file__).resolve().parents[1] / "tests" / "data" / "claim_pairs.jsonl"
FOLDS = 3
CHANCE_PER_LINE = 3
FAR_PER_LINE = 2
HIDDEN = 256
EPOCHS = 20
BATCH = 128
RATE = 2e-3
EMBED_COUNT = 16
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
CLASSES = {"update": Stand.UPDATE, "contradiction": Stand.CONTRADICTION, "same": Stand.SAME}
OTHER_CLASSES = {**CLASSES, "duplicate": Stand.SAME}

Floats = NDArray[np.float32]
Pair = tuple[str, str, int]


def pairs_of(lines: Sequence[dict[str, Any]], vectors: dict[str, Floats]) -> list[Pair]:
    """Every pair of some lines, and the nearest pairs across them."""
    found: list[Pair] = []
    for line in lines:
        older = line["older"]
        found += [(older, line[name], stand) for name, stand in CLASSES.items()]
        found += [(older, text, Stand.APART) for text in line["compatible"]]
        # What an update says of the older statement it does not say of those beside it.
        found.append((line["compatible"][0], line["update"], Stand.APART))
    owners = [(i, text) for i, line in enumerate(lines) for text in texts_of(line)]
    rng = random.Random(len(lines))
    older = np.stack([vectors[line["older"]] for line in lines])
    nearness = older @ np.stack([vectors[text] for _, text in owners]).T
    for i, line in enumerate(lines):
        near = [owners[place] for place in np.argsort(-nearness[i])[: 16 * CHANCE_PER_LINE]]
        others = [text for owner, text in near if owner != i][:CHANCE_PER_LINE]
        others += [text for owner, text in rng.sample(owners, FAR_PER_LINE) if owner != i]
        found += [(line["older"], text, Stand.APART) for text in others]
    return found


def texts_of(line: dict[str, Any]) -> list[str]:
    """All statements of a line."""
    return [line["older"], *(line[name] for name in CLASSES), *line["compatible"]]


def network(width: int) -> nn.Sequential:
    """What is trained: the judge with dropout."""
    return nn.Sequential(
        nn.Dropout(0.3),
        nn.Linear(width, HIDDEN),
        nn.GELU(approximate="tanh"),
        nn.Dropout(0.4),
        nn.Linear(HIDDEN, len(Stand)),
    )


def fit(pairs: Sequence[Pair], vectors: dict[str, Floats], seed: int) -> Judge:
    """Train a judge on pairs."""
    torch.manual_seed(seed)
    x, y = torch.tensor(_inputs(pairs, vectors)), torch.tensor([stand for *_, stand in pairs])
    model = network(x.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
    steps = EPOCHS * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH):
            loss = functional.cross_entropy(model(x[rows]), y[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    state = [value.detach().numpy() for value in model.parameters()]
    return Judge(state[0].T.copy(), state[1], state[2].T.copy(), state[3])


def _inputs(pairs: Sequence[Pair], vectors: dict[str, Floats]) -> Floats:
    return inputs(*_sides(pairs, vectors))


def _sides(pairs: Sequence[Pair], vectors: dict[str, Floats]) -> tuple[Floats, Floats]:
    older = np.stack([vectors[one] for one, _, _ in pairs])
    return older, np.stack([vectors[other] for _, other, _ in pairs])


def judged(judge: Judge, pairs: Sequence[Pair], vectors: dict[str, Floats]) -> Floats:
    """Probabilities of pairs."""
    return judge.compare(*_sides(pairs, vectors))


def table(title: str, pairs: Sequence[Pair], shares: Floats) -> list[str]:
    """How often a mark is right, and how many of those due are set, by threshold."""
    truth = np.array([stand for *_, stand in pairs])
    rows = [f"{title}: {len(pairs)} pairs, {(shares.argmax(1) == truth).mean():.3f} right"]
    for stand in (Stand.UPDATE, Stand.CONTRADICTION):
        for threshold in THRESHOLDS:
            marked = shares[:, stand] > threshold
            right = (truth[marked] == stand).mean() if marked.any() else float("nan")
            set_ = marked[truth == stand].mean()
            row = f"  {stand.name.lower():13} above {threshold}: {marked.sum():5} marked"
            rows.append(f"{row}, {right:.3f} of them right, {set_:.3f} of those due")
    return rows


def embedded(model: Path, texts: Sequence[str]) -> dict[str, Floats]:
    """Similarity vectors of texts."""
    embedder = OnnxEmbedder(model)
    found: dict[str, Floats] = {}
    left = sorted(set(texts), key=len)
    for start in range(0, len(left), EMBED_COUNT):
        part = left[start : start + EMBED_COUNT]
        made = embedder.embed(part, is_query=False)[:, : embedder.dim]
        found.update(zip(part, made, strict=True))
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog="python -m recalld.bench.train_judge"
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of the default model")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="result (default: %(default)s)")
    given = parser.parse_args(arguments)
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    others = [json.loads(line) for line in OTHERS.read_text(encoding="utf-8").splitlines()]
    texts = [text for line in lines for text in texts_of(line)]
    vectors = embedded(
        given.model, texts + [o[side] for o in others for side in ("older", "newer")]
    )
    random.Random(0).shuffle(lines)
    kept: list[Pair] = []
    shares = []
    for fold in range(FOLDS):
        training = [line for i, line in enumerate(lines) if i % FOLDS != fold]
        test = pairs_of(lines[fold::FOLDS], vectors)
        judge = fit(pairs_of(training, vectors), vectors, fold)
        kept += test
        shares.append(judged(judge, test, vectors))
    report = table("lines kept out, three folds", kept, np.concatenate(shares))
    judge = fit(pairs_of(lines, vectors), vectors, 0)
    foreign = [(o["older"], o["newer"], OTHER_CLASSES.get(o["class"], Stand.APART)) for o in others]
    report += table("pairs of other writers", foreign, judged(judge, foreign, vectors))
    sys.stdout.write("\n".join(report) + "\n")
    np.savez_compressed(
        given.out,
        allow_pickle=False,
        base_model=np.array(read_model_folder(given.model).base_model),
        **{name: getattr(judge, name).astype(np.float16) for name in judge.__dataclass_fields__},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
