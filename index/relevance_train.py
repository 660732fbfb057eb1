"""Trains the relevance vector: a low-rank update of the default encoder's last layers.

    python -m recalld.index.relevance_train --out index/relevance/update.npz

The runs of `RECIPE` are averaged: better on requests of new kinds than any one of them. A run that
is there already, made with the same settings, is not made again.

Each request is contrasted (InfoNCE, van den Oord et al. 2018, eq. 4) with its own distractors and
with everything the other requests of its batch need or do not need, and with a threshold that
requests which need no memory must stay below. The layers below run once for every text, in the
deployed 8-bit graph. One item in ten is kept out; what is reported comes from those, on candidates
of equal length, beside what a ranker by length gets.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from recalld.index.e5_container import E5Container
from recalld.index.embedder import cache_dir
from recalld.index.model_source import read_weights
from recalld.index.relevance_average import AVERAGE_RANK, Update, average
from recalld.index.relevance_encoder import RelevanceEncoder
from recalld.index.relevance_figures import make_pool, measure
from recalld.index.relevance_pairs import Example, Pair, make_examples, read_pairs, split
from recalld.index.relevance_states import States, passage, query, say

PAIRS = Path(__file__).with_name("relevance")
# The last ones of the encoder, which are updated.
LAYERS = 4
VARIANT_COUNT = 3
WARM_UP_STEPS = 20
LEARNING_RATE_FLOOR = 0.05
IDLE_DISTRACTORS = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made with; written beside its result.

    Attributes:
        rank: of the update.
        epochs: passes over the data.
        batch: requests contrasted with one another.
        learning_rate: peak, falling linearly.
        temperature: of the contrast.
        none_share: requests that need no memory, per request that needs one.
        without: files of pairs that are left out.
        seed: of every random choice.
    """

    rank: int = 16
    epochs: int = 3
    batch: int = 32
    learning_rate: float = 5e-4
    temperature: float = 0.04
    none_share: float = 0.25
    without: tuple[str, ...] = ()
    seed: int = 0


LIFE = ("pairs_life_en_more.jsonl", "pairs_life_zh_more.jsonl")
NEWER = (
    *LIFE,
    *("pairs_conversation.jsonl", "pairs_cross_states.jsonl", "pairs_life_en.jsonl"),
    *("pairs_life_zh.jsonl", "pairs_work_more.jsonl"),
)
# Runs on other data and of other length gain from being averaged; three on random halves of
# everything, alike otherwise, gained nothing (index/relevance/README.md).
RECIPE = (
    Settings(without=NEWER),
    Settings(rank=32, epochs=8, batch=48, without=NEWER),
    Settings(rank=32, epochs=4, batch=48, without=LIFE),
)


@dataclass(frozen=True)
class Lesson:
    """What is trained on.

    Attributes:
        variants: the examples, in several ways of joining them; one way an epoch, in turn.
        needless: items of requests that need no memory.
    """

    variants: Sequence[Sequence[Example]]
    needless: Sequence[Pair]

    def texts(self) -> list[str]:
        """Every text, as the encoder sees it."""
        found = [query(pair.request) for pair in self.needless]
        found += [passage(text) for pair in self.needless for text in pair.distractors]
        for example in (example for variant in self.variants for example in variant):
            found.append(query(example.request))
            found += [passage(text) for text in (example.relevant, *example.distractors)]
        return found


def train(
    model: RelevanceEncoder,
    states: States,
    lesson: Lesson,
    settings: Settings,
    after_epoch: Callable[[int], None],
) -> None:
    """Fit the update."""
    rng = random.Random(settings.seed)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.01)
    step_count = settings.epochs * (len(lesson.variants[0]) // settings.batch)

    def rate(step: int) -> float:
        """Warm up, then fall linearly."""
        warm = min(1.0, (step + 1) / WARM_UP_STEPS)
        return warm * max(LEARNING_RATE_FLOOR, 1 - step / step_count)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for epoch in range(settings.epochs):
        examples = list(lesson.variants[epoch % len(lesson.variants)])
        rng.shuffle(examples)
        losses = []
        for start in range(0, len(examples) - settings.batch + 1, settings.batch):
            batch = examples[start : start + settings.batch]
            count = min(len(lesson.needless), int(settings.none_share * len(batch)))
            idle = rng.sample(lesson.needless, count)
            loss = _loss(model, states, batch, idle, settings.temperature)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                say(f"epoch {epoch + 1} step {len(losses)} loss {np.mean(losses[-20:]):.3f}")
        after_epoch(epoch + 1)


def _loss(
    model: RelevanceEncoder,
    states: States,
    batch: Sequence[Example],
    idle: Sequence[Pair],
    temperature: float,
) -> Tensor:
    """Cross-entropy of finding each request's memory among all texts of the batch.

    The threshold is one more candidate, and the right one for requests that need no memory.
    """
    texts = [example.relevant for example in batch]
    texts += [text for example in batch for text in example.distractors]
    texts += [text for pair in idle for text in pair.distractors[:IDLE_DISTRACTORS]]
    requests = [example.request for example in batch] + [pair.request for pair in idle]
    # 16-bit products are three times faster where the processor has them, and exact enough.
    with torch.autocast("cpu", torch.bfloat16):
        asked = model([states[query(request)] for request in requests]).float()
        memories = model([states[passage(text)] for text in texts]).float()
    scores = asked @ memories.T
    nothing = model.threshold.expand(len(requests), 1)
    scores = torch.cat([scores, nothing], dim=1) / temperature
    for row, example in enumerate(batch):
        for column, text in enumerate(texts):
            if column != row and any(needed in text for needed in example.all_relevant):
                scores[row, column] = -1e4
    right = torch.full((len(requests),), len(texts))
    right[: len(batch)] = torch.arange(len(batch))
    return functional.cross_entropy(scores, right)


@dataclass(frozen=True)
class Course:
    """What all runs have in common: the encoder below, the data, and the questions at the end."""

    container: E5Container
    states: States
    pairs: Path
    kept_out: Sequence[Pair]
    pool: Sequence[str]

    def measure(self, model: RelevanceEncoder) -> dict[str, float]:
        """Figures of a model on the items kept out."""
        return measure(model, self.states, self.kept_out, self.pool)


def run(course: Course, settings: Settings, out: Path) -> None:
    """Train once, and after each epoch write the update to `out` and, beside it, the report."""
    torch.manual_seed(settings.seed)
    rng = random.Random(settings.seed)
    model = RelevanceEncoder(course.container, LAYERS, settings.rank)
    training, _ = split(read_pairs(course.pairs, settings.without))
    variants = [make_examples(training, rng) for _ in range(VARIANT_COUNT)]
    lesson = Lesson(variants, [pair for pair in training if not pair.relevant])
    say(f"{out.stem}: {len(training)} items")
    course.states.compute(lesson.texts())
    report: dict[str, Any] = {"settings": as_dict(settings), "items": len(training), "curve": []}
    started_s = time.monotonic()

    def keep(epoch: int) -> None:
        """Measure and write what there is: a run that is stopped has not run for nothing."""
        report["curve"].append(course.measure(model))
        report["threshold"] = round(model.threshold.item(), 4)
        report["train_s"] = round(time.monotonic() - started_s)
        say(f"{out.stem}, after epoch {epoch}: {report['curve'][-1]}")
        write(out, model.update(), report)

    train(model, course.states, lesson, settings, keep)


def finished(out: Path, settings: Settings) -> bool:
    """Whether a whole run with these settings is there."""
    try:
        report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    same: bool = report["settings"] == as_dict(settings)
    return same and len(report["curve"]) == settings.epochs


def as_dict(settings: Settings) -> dict[str, Any]:
    """Settings as a report holds them."""
    return {**asdict(settings), "without": list(settings.without)}


def write(out: Path, update: Update, report: Mapping[str, Any]) -> None:
    """Write an update and its report."""
    np.savez_compressed(out, allow_pickle=False, **update)
    out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def make(course: Course, work: Path, out: Path) -> None:
    """Make the runs that are missing, average all, measure the average and write it."""
    before = course.measure(RelevanceEncoder(course.container, LAYERS, 1))
    say(f"before: {before}")
    work.mkdir(parents=True, exist_ok=True)
    runs = [work / f"run{number}.npz" for number in range(1, len(RECIPE) + 1)]
    for path, settings in zip(runs, RECIPE, strict=True):
        if not finished(path, settings):
            run(course, settings, path)
    updates, reports = [], []
    for path in runs:
        with np.load(path, allow_pickle=False) as stored:
            updates.append(dict(stored))
        reports.append(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    factors, lost = average(updates, AVERAGE_RANK)
    model = RelevanceEncoder(course.container, LAYERS, AVERAGE_RANK)
    model.load(factors)
    after = course.measure(model)
    say(f"average: {after}; rank {AVERAGE_RANK} leaves out at most {lost:.1%} of a matrix")
    write(out, factors, {"before": before, "after": after, "average_of": reports})


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.index.relevance_train",
        description="Train the relevance update from the pair files.",
    )
    add = parser.add_argument
    add("--out", type=Path, default=PAIRS / "update.npz", help="result (default: %(default)s)")
    add("--pairs", type=Path, default=PAIRS, help="folder of pairs_*.jsonl (default: %(default)s)")
    add("--work", type=Path, default=Path("build/relevance"), help="runs (default: %(default)s)")
    add("--threads", type=int, default=2, help="threads (default: %(default)s)")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    container = E5Container(read_weights(None, cache_dir(environment)))
    states = States(container, container.shape.layers - LAYERS, given.threads)
    training, kept_out = split(read_pairs(given.pairs))
    course = Course(container, states, given.pairs, kept_out, make_pool(training))
    make(course, given.work, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
