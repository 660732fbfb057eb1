"""Plain-Python twins of the kernels and of a partition's search: slow, obvious, no NumPy tricks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

K1, B = 1.2, 0.75


def dot(a: Iterable[float], b: Iterable[float]) -> float:
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def decay(kind_table: Sequence[tuple[float, float]], kind: int, pinned: bool, age_us: int) -> float:
    half_life_s, floor = kind_table[kind]
    if pinned or age_us <= 0:
        return 1.0
    return float(floor + (1 - floor) * 2 ** (-(age_us / 1e6) / half_life_s))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def base(normalised: Sequence[float], weights: Sequence[float], bias: float) -> float:
    return logistic(bias + sum(w * x for w, x in zip(weights, normalised, strict=True)))


def top(scores: Sequence[float], create: Sequence[int], labels: Sequence[int], k: int) -> list[int]:
    order = [i for i in range(len(scores)) if not math.isnan(scores[i])]
    order.sort(key=lambda i: (-scores[i], -create[i], -labels[i]))
    return order[: max(k, 0)]


def rrf(values: Sequence[float], ranked: Sequence[bool], k: int = 60) -> list[float]:
    out = []
    for value, is_ranked in zip(values, ranked, strict=True):
        better = sum(1 for v, r in zip(values, ranked, strict=True) if r and v > value)
        out.append((k + 1) / (k + better + 1) if is_ranked else 0.0)
    return out


class BM25:
    """Textbook BM25 over the live ones of some documents."""

    def __init__(self, documents: Sequence[Sequence[str]], live: Sequence[bool], han_unit: float):
        self.documents = [Counter(d) for d in documents]
        self.lengths = [len(d) for d in documents]
        alive = [i for i, is_live in enumerate(live) if is_live]
        self.count = len(alive)
        total = sum(self.lengths[i] for i in alive)
        self.average = total / self.count if total else 1.0
        self.frequency: Counter[str] = Counter()
        for i in alive:
            self.frequency.update(self.documents[i].keys())
        self.han_unit = han_unit

    def unit(self, word: str) -> float:
        return self.han_unit if len(word) == 1 and "\u3400" <= word <= "\u9fff" else 1.0

    def idf(self, word: str) -> float:
        f = self.frequency[word]
        return math.log(1 + (self.count - f + 0.5) / (f + 0.5))

    def ceiling(self, words: Iterable[str]) -> float:
        return sum(self.unit(w) * self.idf(w) * (K1 + 1) for w in set(words))

    def score(self, words: Iterable[str], i: int) -> tuple[float, float]:
        """Return BM25 and evidence of document i."""
        bm25 = matched = squares = 0.0
        asked = sum(self.unit(word) for word in set(words))
        for word in set(words):
            weight = self.unit(word) * self.idf(word) * (K1 + 1)
            squares += weight**2
            tf = min(self.documents[i][word], 255)
            if tf:
                norm = K1 * (1 - B + B * self.lengths[i] / self.average)
                bm25 += weight * tf / (tf + norm)
                matched += self.unit(word)
        if not bm25:
            return 0.0, 0.0
        agreement = max(matched**2 / (matched**2 + 2), (matched / asked) ** 4)
        return bm25, bm25 / math.sqrt(squares) * agreement


def visible(row: Any, view: Any) -> str:
    """Return why a row is left out, or ""."""
    own = view.all_agents or (view.agent_id and row.agent_id == view.agent_id)
    if row.visibility == 2 and not own:
        return "VISIBILITY"
    if row.visibility == 3 and not view.admin:
        return "VISIBILITY"
    if view.known_at_us and row.create_time_us > view.known_at_us:
        return "NOT_YET_KNOWN"
    status, valid_to_us = row.status, row.valid_to_us
    if status == 2 and row.superseded_time_us:
        if view.known_at_us and row.superseded_time_us > view.known_at_us:
            status = 1  # Neither the successor nor the end that it set was known then.
        else:
            if view.as_of_us and row.superseded_from_us > view.as_of_us:
                status = 1
            valid_to_us = min(valid_to_us or row.superseded_from_us, row.superseded_from_us)
    elif status == 4 and view.as_of_us:
        if row.expire_time_us > view.as_of_us:
            status = 1
    elif status in (1, 3) and 0 < row.expire_time_us <= (view.as_of_us or view.now_us):
        status = 4
    if view.as_of_us:
        since = row.valid_from_us or row.event_time_us
        if since > view.as_of_us or (valid_to_us and valid_to_us <= view.as_of_us):
            return "NOT_VALID_THEN"
    elif status == 1 and valid_to_us and valid_to_us <= view.now_us:
        status = 4
    if status in view.statuses:
        return ""
    return {2: "SUPERSEDED", 4: "EXPIRED", 5: "ARCHIVED", 6: "FORGOTTEN"}.get(status, "FILTER")


def matches(row: Any, condition: Any) -> bool:
    """Evaluate a filter tree on one row."""
    kind = type(condition).__name__
    if kind == "Filter":
        return (
            all(matches(row, c) for c in condition.must)
            and (not condition.should or any(matches(row, c) for c in condition.should))
            and not any(matches(row, c) for c in condition.must_not)
        )
    if kind in ("NumberIn", "StringIn"):
        return getattr(row, condition.field) in condition.values
    if kind == "StringPrefix":
        value = getattr(row, condition.field)
        if condition.field != "namespace":
            return bool(value.startswith(condition.prefix))
        wanted = [step for step in condition.prefix.split("/") if step]
        return bool([step for step in value.split("/") if step][: len(wanted)] == wanted)
    if kind == "TimeIn":
        time = getattr(row, condition.field + "_us")
        low = condition.from_us is None or time >= condition.from_us
        return bool(time and low and (condition.to_us is None or time < condition.to_us))
    if kind == "LabelIn":
        return row.label in condition.labels
    if kind == "ConfidenceAtLeast":
        return bool(row.confidence >= condition.minimum)
    found, value = _walk(row.metadata, condition.path)
    if kind == "MetadataExists":
        return found == condition.exists
    if not found:
        return False
    if kind == "MetadataIn":
        return any(_typed(value) == _typed(wanted) for wanted in condition.values)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    within = number and condition.gte <= value <= condition.lte
    above = condition.gt == -math.inf or (number and value > condition.gt)
    below = condition.lt == math.inf or (number and value < condition.lt)
    return bool(within and above and below)


def _walk(value: Any, path: str) -> tuple[bool, Any]:
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _typed(value: Any) -> tuple[str, Any]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return ("number" if number else type(value).__name__, value)
