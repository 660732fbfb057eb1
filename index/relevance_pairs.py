"""Training data of the relevance vector: requests, the memories that matter, and those that do not.

Reads and checks the pair files, and makes training texts whose length tells nothing: short
distractors are joined, and some relevant memories get an unrelated aside.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recalld.index.errors import PairsInvalid

KEPT_OUT_ONE_IN = 10
DISTRACTORS_PER_EXAMPLE = 3
ASIDE_SHARE = 0.25
# Distractors shorter than this, relative to the relevant memory, are joined with another one.
SHORT = 0.7
SEPARATORS = {
    "en": (", ", ". ", "; ", " and ", ", also "),
    "zh": ("，", "。", "；", "，另外", "、还有"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One item of the data.

    Attributes:
        id: unique over all files.
        request: what is asked, earlier utterances of the day first.
        relevant: memories that are needed; empty when none is.
        distractors: memories that look closer and change nothing.
        language: `en` or `zh`, of the memories.
    """

    id: str
    request: str
    relevant: tuple[str, ...]
    distractors: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Example:
    """One contrast: a request, one needed memory, and some that are not."""

    request: str
    relevant: str
    distractors: tuple[str, ...]
    all_relevant: tuple[str, ...]


def read_pairs(folder: Path, without: Container[str] = ()) -> list[Pair]:
    """Read every `pairs_*.jsonl` of a folder but some, in the order of file and line.

    Raises:
        PairsInvalid: a line is malformed or an id comes twice; names file and line.
    """
    pairs: list[Pair] = []
    seen: set[str] = set()
    for path in sorted(p for p in folder.glob("pairs_*.jsonl") if p.name not in without):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            pair = _read(line, f"{path.name}:{number}")
            if pair.id in seen:
                raise PairsInvalid(f"{path.name}:{number}: id {pair.id} comes twice")
            seen.add(pair.id)
            pairs.append(pair)
    if not pairs:
        raise PairsInvalid(f"{folder}: no pairs_*.jsonl with items")
    return pairs


def _read(line: str, where: str) -> Pair:
    """One line."""
    try:
        item = json.loads(line)
        relevant = tuple(item.get("relevant", ()))
        distractors = tuple(item["distractors"])
        request = " ".join([*item.get("context", ()), item["request"]])
        pair = Pair(item["id"], request, relevant, distractors, _language(relevant or distractors))
    except (ValueError, KeyError, TypeError) as error:
        raise PairsInvalid(f"{where}: {error}") from error
    texts = (pair.request, *relevant, *distractors)
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise PairsInvalid(f"{where}: every text must be a text with content")
    if bool(item.get("none")) == bool(relevant):
        raise PairsInvalid(f"{where}: `none` must be true exactly when `relevant` is empty")
    return pair


def _language(texts: Sequence[str]) -> str:
    """Language of memories, for the words that join them."""
    han = sum("\u4e00" <= char <= "\u9fff" for text in texts for char in text)
    return "zh" if han * 4 > sum(map(len, texts)) else "en"


def split(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Part the data into what is trained on and what is kept out, about one item in ten.

    An item's id decides alone, so that it stays on its side when files are added.
    """
    parts: tuple[list[Pair], list[Pair]] = ([], [])
    for pair in pairs:
        parts[zlib.crc32(pair.id.encode()) % KEPT_OUT_ONE_IN == 0].append(pair)
    return parts


def join_to_length(pair: Pair, length: int, count: int, rng: random.Random) -> tuple[str, ...]:
    """Distractors of a pair; short ones are joined with another, so that length tells nothing."""
    left = rng.sample(pair.distractors, len(pair.distractors))
    joined: list[str] = []
    while left and len(joined) < count:
        text = left.pop()
        if left and len(text) < SHORT * length:
            other = min(left, key=lambda one: abs(len(text) + len(one) - length))
            if abs(len(text) + len(other) - length) < length - len(text):
                left.remove(other)
                parts = [text, other] if rng.random() < 0.5 else [other, text]
                text = rng.choice(SEPARATORS[pair.language]).join(parts)
        joined.append(text)
    return tuple(joined)


def make_examples(pairs: Iterable[Pair], rng: random.Random) -> list[Example]:
    """One example for each pair that needs a memory, with fresh joins and asides."""
    usable = [pair for pair in pairs if pair.relevant]
    by_language = {
        language: [pair for pair in usable if pair.language == language] for language in SEPARATORS
    }
    examples = []
    for pair in usable:
        relevant = rng.choice(pair.relevant)
        if rng.random() < ASIDE_SHARE:
            aside = rng.choice(rng.choice(by_language[pair.language]).distractors)
            parts = [relevant, aside] if rng.random() < 0.5 else [aside, relevant]
            relevant = rng.choice(SEPARATORS[pair.language]).join(parts)
        distractors = join_to_length(pair, len(relevant), DISTRACTORS_PER_EXAMPLE, rng)
        examples.append(Example(pair.request, relevant, distractors, pair.relevant))
    return examples
