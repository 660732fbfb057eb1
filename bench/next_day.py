"""Next-day scenarios: a user's memories, and one question asked later; loading and pooling.

A scenario alone has one or two memories that sound important among chatter, so a ranker that never
sees the question finds many of them. Pooled, several scenarios share one user's store and each
question is asked against all of it: the figure that counts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from recalld.bench.datasets import DatasetError, read_objects
from recalld.bench.target import parse_time

POOLED_USER = "u1"  # the asker of every scenario; other owners stay apart


@dataclass(frozen=True)
class Item:
    """One memory, its age seconds before the question."""

    id: str  # unique in its store
    user: str
    kind: str
    key: str
    content: str
    age_s: float
    importance: str
    confidence: float
    stated_by: str


@dataclass(frozen=True)
class Case:
    """One question and its labels; the server sees none of the labels."""

    id: str
    language: str
    kind: str  # what the question turns on (`class` in the file)
    user: str
    text: str
    context: tuple[Mapping[str, str], ...]
    must: frozenset[str]
    best: str | None
    must_not: frozenset[str]
    conflicts: tuple[frozenset[str], ...]
    no_memory: bool


@dataclass(frozen=True)
class Store:
    """Memories, oldest first, and the questions asked against all of them at `now`."""

    name: str
    now: datetime
    items: Sequence[Item]
    cases: Sequence[Case]

    def time_of(self, item: Item) -> datetime:
        """When it was stored."""
        return self.now - timedelta(seconds=item.age_s)


def load(path: Path, pool: int = 0) -> list[Store]:
    """The scenarios of a file or folder, each in its own store, or `pool` of them to a store.

    Raises:
        DatasetError: there is no scenario.
    """
    raw = read_objects(path, "memories", "query")
    if not raw:
        raise DatasetError(f"{path}: no scenario")
    return [_store([line]) for line in raw] if pool < 2 else _pooled(raw, pool)


def _pooled(raw: Sequence[Mapping[str, Any]], size: int) -> list[Store]:
    """Within a language, scenarios in order of id, `size` at a time; the last may be smaller."""
    by_language: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in sorted(raw, key=lambda r: r["id"]):
        by_language[line["lang"]].append(line)
    return [
        _store(lines[start : start + size])
        for lines in by_language.values()
        for start in range(0, len(lines), size)
    ]


def _store(lines: Sequence[Mapping[str, Any]]) -> Store:
    """One store of some scenarios: ages kept, one common now (that of the first)."""
    items = [_item(line, memory) for line in lines for memory in line["memories"]]
    return Store(
        name=lines[0]["id"],
        now=parse_time(lines[0]["now"]),
        items=sorted(items, key=lambda i: -i.age_s),
        cases=[_case(line) for line in lines],
    )


def _name(line: Mapping[str, Any], memory_id: str) -> str:
    return f"{line['id']}/{memory_id}"


def _item(line: Mapping[str, Any], memory: Mapping[str, Any]) -> Item:
    asker = line["query"]["user"]
    owner = memory["user"]
    return Item(
        id=_name(line, memory["id"]),
        user=POOLED_USER if owner == asker else _name(line, owner),
        kind=memory["kind"],
        key=memory.get("key", ""),
        content=memory["content"],
        age_s=float(memory["age_s"]),
        importance=memory["importance"],
        confidence=float(memory["confidence"]),
        stated_by=memory["stated_by"],
    )


def _case(line: Mapping[str, Any]) -> Case:
    def names(ids: Sequence[str]) -> frozenset[str]:
        return frozenset(_name(line, i) for i in ids)

    best = line.get("best")
    return Case(
        id=line["id"],
        language=line["lang"],
        kind=line["class"],
        user=POOLED_USER,
        text=line["query"]["text"],
        context=tuple(line.get("context", ())),
        must=names(line.get("must", ())),
        best=_name(line, best) if best else None,
        must_not=names(line.get("must_not", ())),
        conflicts=tuple(names(pair) for pair in line.get("conflict", ())),
        no_memory=bool(line.get("no_memory")),
    )
