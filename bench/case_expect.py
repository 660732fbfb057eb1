"""Judges what a server answered in a reported case; pure, knows no wire message.

Every key of an expectation has one judge, which returns why it does not hold, or nothing. A call
that failed satisfies only an expectation that names the error: an empty answer is no proof of
absence if there was no answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

CHARACTERS_PER_TOKEN = 4  # rough count: one token per Han character, one per four others

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class Seen:
    """One memory in an answer."""

    id: str
    labels: frozenset[str]  # names the case gives it; several if steps were folded into it
    marks: frozenset[str] = frozenset()  # superseded, conflict, expired, duplicate
    fields: Mapping[str, Any] = field(default_factory=dict)
    score: float = 0.0
    live: bool = True  # current: recalled by default


@dataclass(frozen=True)
class Result:
    """Answer to one operation."""

    error: str = ""  # gRPC status name; empty: it succeeded
    detail: str = ""  # of the error
    memories: Sequence[Seen] = ()
    text: str = ""
    token_count: int = 0
    abstained: bool = False
    pages: Sequence[Sequence[str]] = ()  # memory ids


@dataclass(frozen=True)
class Situation:
    """What a judge may look at: the result, those before it, and the store."""

    result: Result
    earlier: Sequence[Result]
    look_up: Callable[[str], Seen | None]  # label to memory of any status; None: gone
    should: list[str]  # softer goals that do not hold are added here

    def place(self, label: str) -> int | None:
        """Rank of a label from 0; None: not in the result."""
        places = (i for i, m in enumerate(self.result.memories) if label in m.labels)
        return next(places, None)

    def seen(self, label: str) -> Seen | None:
        """The memory from the result, or from the store."""
        place = self.place(label)
        return self.look_up(label) if place is None else self.result.memories[place]

    def shown(self) -> str:
        """The labels of the result in order, for messages."""
        names = ("+".join(sorted(m.labels)) or "?" for m in self.result.memories)
        return "[" + " ".join(names) + "]"


Judge = Callable[[Any, Situation], list[str]]


def failures(expect: Mapping[str, Any], situation: Situation) -> list[str]:
    """Why an expectation does not hold; empty: it does.

    Raises:
        ValueError: it has a key that no judge knows.
    """
    unknown = expect.keys() - JUDGES.keys()
    if unknown:
        raise ValueError(f"unknown expectation: {', '.join(sorted(unknown))}")
    result = situation.result
    if result.error and not expect.keys() & {"error", "any_of"}:
        return [f"call failed with {result.error}: {result.detail}"]
    return [why for key, value in expect.items() for why in JUDGES[key](value, situation)]


def _ok(_: Any, s: Situation) -> list[str]:
    return [f"error {s.result.error}: {s.result.detail}"] if s.result.error else []


def _error(names: Sequence[str], s: Situation) -> list[str]:
    if s.result.error in names:
        return []
    return [f"error is {s.result.error or 'none'}, expected {' or '.join(names)}"]


def _top1(label: str, s: Situation) -> list[str]:
    return [] if s.place(label) == 0 else [f"top1 is not {label}: {s.shown()}"]


def _top3_contains(labels: Sequence[str], s: Situation) -> list[str]:
    late = [x for x in labels if (p := s.place(x)) is None or p > 2]
    return [f"top3 lacks {' '.join(late)}: {s.shown()}"] if late else []


def _contains(labels: Sequence[str], s: Situation) -> list[str]:
    missing = [x for x in labels if s.place(x) is None]
    return [f"lacks {' '.join(missing)}: {s.shown()}"] if missing else []


def _absent(labels: Sequence[str], s: Situation) -> list[str]:
    present = [x for x in labels if s.place(x) is not None]
    return [f"holds {' '.join(present)}: {s.shown()}"] if present else []


def _absent_prefix(prefixes: Sequence[str], s: Situation) -> list[str]:
    labels = {x for m in s.result.memories for x in m.labels}
    numbered = [re.compile(re.escape(p) + r"\d+") for p in prefixes]
    present = sorted(x for x in labels if any(n.fullmatch(x) for n in numbered))
    return [f"holds {' '.join(present)}"] if present else []


def _order(pairs: Sequence[Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for first, second in pairs:
        before, after = s.place(first), s.place(second)
        if before is None or (after is not None and after <= before):
            wrong.append(f"{first} is not before {second}: {s.shown()}")
    return wrong


def _count(bounds: Mapping[str, int], s: Situation) -> list[str]:
    count = len(s.result.memories)
    low = bounds.get("eq", bounds.get("min", 0))
    high = bounds.get("eq", bounds.get("max", count))
    if low <= count <= high:
        return []
    return [f"count is {count}, expected {dict(bounds)}: {s.shown()}"]


def _distinct(pairs: Sequence[Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for pair in pairs:
        kept = [s.look_up(label) for label in pair]
        if None in kept or len({m.id for m in kept if m}) < len(pair):
            wrong.append(f"{' '.join(pair)} are not kept apart")
    return wrong


def _same_record(pairs: Sequence[Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for pair in pairs:
        kept = [s.look_up(label) for label in pair]
        ids = {m.id for m in kept if m and m.live}
        if None in kept or len(ids) != 1 or not all(m.live for m in kept if m):
            wrong.append(f"{' '.join(pair)} are not one live memory")
    return wrong


def _at_most_one_of(groups: Sequence[Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for group in groups:
        count = sum(1 for m in s.result.memories if m.labels & set(group))
        if count > 1:
            wrong.append(f"{count} of {' '.join(group)}: {s.shown()}")
    return wrong


def _flags(wanted: Mapping[str, Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for label, marks in wanted.items():
        seen = s.seen(label)
        carried = seen.marks if seen else frozenset()
        if not carried & set(marks):
            wrong.append(f"{label} is not marked {' or '.join(marks)} but {_words(carried)}")
    return wrong


def _not_flags(unwanted: Mapping[str, Sequence[str]], s: Situation) -> list[str]:
    wrong = []
    for label, marks in unwanted.items():
        seen = s.seen(label)
        carried = seen.marks & set(marks) if seen else frozenset()
        if carried or seen is None:
            wrong.append(f"{label} is {_words(carried) if seen else 'gone'}")
    return wrong


def _fields(wanted: Mapping[str, Mapping[str, Any]], s: Situation) -> list[str]:
    wrong = []
    for label, values in wanted.items():
        seen = s.seen(label)
        for name, value in values.items():
            stored = seen.fields.get(name) if seen else None
            if stored != value:
                wrong.append(f"{label}.{name} is {stored!r}, expected {value!r}")
    return wrong


def _same_as(index: int, s: Situation) -> list[str]:
    other = s.earlier[index]
    if [m.id for m in s.result.memories] == [m.id for m in other.memories] and not other.error:
        return []
    return [f"differs from query {index}: {s.shown()}"]


def _abstain(rule: Mapping[str, int], s: Situation) -> list[str]:
    memories = s.result.memories
    if not memories or s.result.abstained:
        return []
    control = s.earlier[rule["control"]].memories if "control" in rule else ()
    best = max(m.score for m in memories)
    if control and best < max(m.score for m in control):
        return []
    return [f"does not abstain: best score {best:.3f}, {s.shown()}"]


def _text_has(parts: Sequence[str], s: Situation) -> list[str]:
    missing = [p for p in parts if p not in s.result.text]
    return [f"text lacks {missing}"] if missing else []


def _text_lacks(parts: Sequence[str], s: Situation) -> list[str]:
    present = [p for p in parts if p in s.result.text]
    return [f"text has {present}"] if present else []


def _tokens_max(limit: int, s: Situation) -> list[str]:
    rough = rough_token_count(s.result.text)
    if max(rough, s.result.token_count) <= limit:
        return []
    return [f"tokens: server counts {s.result.token_count}, rough count {rough}, limit {limit}"]


def _pages(wanted: Mapping[str, int], s: Situation) -> list[str]:
    ids = [i for page in s.result.pages for i in page]
    found = {"unique": len(set(ids)), "repeated": len({i for i in ids if ids.count(i) > 1})}
    wrong = {name: count for name, count in found.items() if wanted.get(name, count) != count}
    return [f"pages: {wrong}, expected {dict(wanted)}"] if wrong else []


def _any_of(choices: Sequence[Mapping[str, Any]], s: Situation) -> list[str]:
    reasons = []
    for choice in choices:
        why = failures(choice, s)
        if not why:
            return []
        reasons.append("; ".join(why))
    return [" | ".join(reasons)]


def _should(goal: Mapping[str, Any], s: Situation) -> list[str]:
    s.should.extend(failures(goal, s))
    return []


def rough_token_count(text: str) -> int:
    """One per Han character and one per four others, rounded up."""
    han_count = len(_HAN.findall(text))
    return han_count - (han_count - len(text)) // CHARACTERS_PER_TOKEN


def _words(marks: frozenset[str]) -> str:
    return " ".join(sorted(marks)) or "unmarked"


JUDGES: Final[Mapping[str, Judge]] = MappingProxyType(
    {
        "ok": _ok,
        "error": _error,
        "top1": _top1,
        "top3_contains": _top3_contains,
        "contains": _contains,
        "absent": _absent,
        "absent_prefix": _absent_prefix,
        "order": _order,
        "count": _count,
        "distinct": _distinct,
        "same_record": _same_record,
        "at_most_one_of": _at_most_one_of,
        "flags": _flags,
        "not_flags": _not_flags,
        "fields": _fields,
        "same_as": _same_as,
        "abstain": _abstain,
        "text_has": _text_has,
        "text_lacks": _text_lacks,
        "tokens_max": _tokens_max,
        "pages": _pages,
        "any_of": _any_of,
        "should": _should,
    }
)
