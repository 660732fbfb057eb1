"""Trains the relevance vector: a low-rank update of the default encoder's last layers.

    python -m recalld.index.relevance_train --out index/relevance/update.npz

Each request is contrasted (InfoNCE, van den Oord et al. 2018, eq. 4) with its own distractors and
with everything the other requests of its batch need or do not need. The layers below run once for
every text, in the deployed 8-bit graph. One item in ten is kept out; what is reported comes from
those, on candidates of equal length, beside what a ranker by length gets.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from recalld.index.e5_container import E5Container
from recalld.index.e5_graph import build_states_graph
from recalld.index.e5_tokenizer import build_tokenizer, kept_pieces
from recalld.index.embedder import cache_dir
from recalld.index.model_source import read_weights
from recalld.index.onnx_session import open_states_session
from recalld.index.relevance_encoder import RelevanceEncoder
from recalld.index.relevance_pairs import (
    Example,
    Pair,
    join_to_length,
    make_examples,
    read_pairs,
    split,
)

PAIRS = Path(__file__).with_name("relevance")
TOKENS_MAX = 96
VARIANT_COUNT = 3
POOL_COUNT = 300
WARM_UP_STEPS = 20
LEARNING_RATE_FLOOR = 0.05
STATES_BATCH_COUNT = 16
FIGURES = ("hit_at_5", "hit_at_1", "beats_own", "blind_at_5", "length_beats_own")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made with; written beside its result.

    Attributes:
        layers: last layers that are updated.
        rank: of the update.
        epochs: passes over the data.
        batch: requests contrasted with one another.
        learning_rate: peak, falling linearly.
        temperature: of the contrast.
        none_share: needless texts of requests that need no memory, per request of the batch.
        seed: of every random choice.
    """

    layers: int = 4
    rank: int = 16
    epochs: int = 3
    batch: int = 32
    learning_rate: float = 5e-4
    temperature: float = 0.04
    none_share: float = 0.25
    seed: int = 0


class States:
    """Hidden states below the trained layers, computed once a text and kept."""

    def __init__(self, container: E5Container, layer_count: int, threads: int) -> None:
        """Build and load the lower layers."""
        kept = kept_pieces(container.pieces, "zh-en")
        with np.load(Path(__file__).with_name("e5_smooth.npz")) as stored:
            graph = build_states_graph(container, kept, "int8", dict(stored), layer_count)
        self._session = open_states_session(graph.SerializeToString(), threads)
        self._tokenizer = build_tokenizer(container, kept, TOKENS_MAX)
        self._tokenizer.no_padding()
        self._kept: dict[str, NDArray[np.float16]] = {}

    def compute(self, texts: Sequence[str]) -> None:
        """Compute what is not there yet, with a line of progress every few seconds."""
        missing = sorted({text for text in texts if text not in self._kept}, key=len)
        told_s = time.monotonic()
        for start in range(0, len(missing), STATES_BATCH_COUNT):
            batch = missing[start : start + STATES_BATCH_COUNT]
            encodings = [self._tokenizer.encode(text) for text in batch]
            width = max(len(encoding) for encoding in encodings)
            ids = np.ones((len(batch), width), np.int64)
            mask = np.zeros((len(batch), width), np.int64)
            for row, encoding in enumerate(encodings):
                ids[row, : len(encoding)] = encoding.ids
                mask[row, : len(encoding)] = 1
            for row, states in enumerate(self._session.run(ids, mask)):
                self._kept[batch[row]] = states[: len(encodings[row])].astype(np.float16)
            if time.monotonic() - told_s > 10:
                told_s = time.monotonic()
                _say(f"states {start + len(batch)}/{len(missing)}")

    def __getitem__(self, text: str) -> NDArray[np.float16]:
        """float16[length, hidden] of a computed text."""
        return self._kept[text]


def query(text: str) -> str:
    """A request as the encoder sees it."""
    return f"query: {text}"


def passage(text: str) -> str:
    """A memory as the encoder sees it."""
    return f"passage: {text}"


def train(
    model: RelevanceEncoder,
    states: States,
    variants: Sequence[Sequence[Example]],
    needless: Sequence[str],
    settings: Settings,
    after_epoch: Callable[[int], None],
) -> None:
    """Fit the update; one variant of the examples an epoch, in turn."""
    rng = random.Random(settings.seed)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.01)
    step_count = settings.epochs * (len(variants[0]) // settings.batch)

    def rate(step: int) -> float:
        """Warm up, then fall linearly."""
        warm = min(1.0, (step + 1) / WARM_UP_STEPS)
        return warm * max(LEARNING_RATE_FLOOR, 1 - step / step_count)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for epoch in range(settings.epochs):
        examples = list(variants[epoch % len(variants)])
        rng.shuffle(examples)
        losses = []
        for start in range(0, len(examples) - settings.batch + 1, settings.batch):
            batch = examples[start : start + settings.batch]
            extra = rng.sample(needless, min(len(needless), int(settings.none_share * len(batch))))
            loss = _loss(model, states, batch, extra, settings.temperature)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                _say(f"epoch {epoch + 1} step {len(losses)} loss {np.mean(losses[-20:]):.3f}")
        after_epoch(epoch + 1)


def _loss(
    model: RelevanceEncoder,
    states: States,
    batch: Sequence[Example],
    extra: Sequence[str],
    temperature: float,
) -> Tensor:
    """Cross-entropy of finding each request's memory among all texts of the batch."""
    texts = [example.relevant for example in batch]
    texts += [text for example in batch for text in example.distractors]
    texts += extra
    # 16-bit products are three times faster where the processor has them, and exact enough.
    with torch.autocast("cpu", torch.bfloat16):
        requests = model([states[query(example.request)] for example in batch]).float()
        memories = model([states[passage(text)] for text in texts]).float()
    scores = requests @ memories.T / temperature
    for row, example in enumerate(batch):
        for column, text in enumerate(texts):
            if column != row and any(needed in text for needed in example.all_relevant):
                scores[row, column] = -1e4
    return functional.cross_entropy(scores, torch.arange(len(batch)))


def measure(
    model: RelevanceEncoder, states: States, pairs: Sequence[Pair], pool: Sequence[str], seed: int
) -> dict[str, float]:
    """Figures on kept-out pairs: among their own length-matched distractors and a common pool."""
    rng = random.Random(seed)
    usable = [pair for pair in pairs if pair.relevant]
    own = [join_to_length(pair, max(map(len, pair.relevant)), 6, rng) for pair in usable]
    needed_texts = [text for pair in usable for text in pair.relevant]
    texts = [*pool, *needed_texts, *(text for near in own for text in near)]
    states.compute([passage(text) for text in texts] + [query(pair.request) for pair in usable])
    memories = _encode(model, states, [passage(text) for text in texts])
    vectors = dict(zip(texts, memories, strict=True))
    requests = _encode(model, states, [query(pair.request) for pair in usable])
    blind = requests.mean(0)
    counts = dict.fromkeys(FIGURES, 0)
    for pair, distractors, vector in zip(usable, own, requests, strict=True):
        candidates = [*pair.relevant, *distractors, *pool]
        matrix = np.stack([vectors[text] for text in candidates])
        needed, near = len(pair.relevant), len(pair.relevant) + len(distractors)
        scores = matrix @ vector
        order = np.argsort(-scores, kind="stable")
        counts["hit_at_5"] += int((order[:5] < needed).any())
        counts["hit_at_1"] += int(order[0] < needed)
        counts["beats_own"] += int(scores[:needed].max() > scores[needed:near].max(initial=-1))
        counts["blind_at_5"] += int((np.argsort(-(matrix @ blind))[:5] < needed).any())
        longest = max(map(len, distractors), default=0)
        counts["length_beats_own"] += int(max(map(len, pair.relevant)) > longest)
    return {"n": len(usable), **{name: round(n / len(usable), 4) for name, n in counts.items()}}


def _encode(model: RelevanceEncoder, states: States, texts: Sequence[str]) -> NDArray[np.float32]:
    """float32[n, hidden] of computed texts."""
    out = []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(texts), 64):
            batch = [states[text] for text in texts[start : start + 64]]
            out.append(model(batch).float().numpy())
    return np.concatenate(out)


def run(
    settings: Settings, pairs_dir: Path, cache: Path, out: Path, threads: int
) -> dict[str, Any]:
    """Train, measure and write the update and, beside it, the report."""
    torch.manual_seed(settings.seed)
    torch.set_num_threads(threads)
    rng = random.Random(settings.seed)
    container = E5Container(read_weights(None, cache))
    model = RelevanceEncoder(container, settings.layers, settings.rank)
    states = States(container, container.shape.layers - settings.layers, threads)
    training, kept_out = split(read_pairs(pairs_dir))
    variants = [make_examples(training, rng) for _ in range(VARIANT_COUNT)]
    needless = [text for pair in training if not pair.relevant for text in pair.distractors]
    pool = rng.sample([text for pair in training for text in pair.relevant], POOL_COUNT // 2)
    pool += rng.sample([text for pair in training for text in pair.distractors], POOL_COUNT // 2)
    _say(f"{len(training)} items to train on, {len(kept_out)} kept out")
    texts = [passage(text) for text in needless]
    for example in (example for variant in variants for example in variant):
        texts.append(query(example.request))
        texts += [passage(text) for text in (example.relevant, *example.distractors)]
    states.compute(texts)
    report: dict[str, Any] = {"settings": {n: getattr(settings, n) for n in settings.__slots__}}
    report |= {"items": len(training) + len(kept_out), "curve": []}
    report["before"] = measure(model, states, kept_out, pool, settings.seed)
    _say(f"before: {report['before']}")
    started_s = time.monotonic()

    def keep(epoch: int) -> None:
        """Measure and write what there is: a run that is stopped has not run for nothing."""
        report["after"] = {"epochs": epoch, **measure(model, states, kept_out, pool, settings.seed)}
        report["train_s"] = round(time.monotonic() - started_s)
        report["curve"].append(report["after"])
        _say(f"after {epoch}: {report['after']}")
        np.savez_compressed(out, allow_pickle=False, **model.update())
        out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")

    train(model, states, variants, needless, settings, keep)
    return report


def _say(text: str) -> None:
    """A line of progress on standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.index.relevance_train",
        description="Train the relevance update from the pair files.",
    )
    add = parser.add_argument
    defaults = Settings()
    add("--out", type=Path, default=PAIRS / "update.npz", help="result (default: %(default)s)")
    add("--pairs", type=Path, default=PAIRS, help="folder of pairs_*.jsonl (default: %(default)s)")
    add("--threads", type=int, default=2, help="threads (default: %(default)s)")
    for name in ("layers", "rank", "epochs", "batch", "seed"):
        add(f"--{name}", type=int, default=getattr(defaults, name), help="default: %(default)s")
    for name in ("learning_rate", "temperature", "none_share"):
        flag = "--" + name.replace("_", "-")
        add(flag, type=float, default=getattr(defaults, name), help="default: %(default)s")
    given = parser.parse_args(arguments)
    settings = Settings(**{name: getattr(given, name) for name in Settings.__slots__})
    run(settings, given.pairs, cache_dir(environment), given.out, given.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
