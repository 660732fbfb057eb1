"""PrecisionMemBench: beliefs, and cases that say what must come back and what must not; loading.

A belief carries what its authors give every system: scope, other names, whether it is pinned,
resolved or replaced. Never talks to a server. Source: Flynt, arXiv 2605.11325.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from recalld.bench.datasets import DatasetError, files_in, read_json
from recalld.bench.target import parse_time

BELIEFS_MAX = 20  # of a context, pinned ones included, unless a case says otherwise
ASKER = "test-user"  # who asks where a case does not say
OPEN_QUESTION = "open_question"
SESSION = "sessions"  # the class of all turns of sessions


@dataclass(frozen=True)
class Belief:
    """One belief; a scope is `domain:code` and the like."""

    id: str
    user: str
    type: str
    name: str
    aliases: tuple[str, ...]
    content: str
    why: str
    scopes: tuple[str, ...]
    confidence: float
    pinned: bool
    inferred: bool
    slot: str  # shared with those it replaced and those that replaced it
    participants: tuple[str, ...]  # of a relation
    created: datetime
    resolved: datetime | None

    @property
    def text(self) -> str:
        """What the authors' adapters give a system to remember."""
        return " ".join(part for part in (self.name, *self.aliases, self.content, self.why) if part)

    def also_called(self, aliases: Sequence[str]) -> "Belief":
        """The belief under further names."""
        return replace(self, aliases=(*self.aliases, *aliases))


@dataclass(frozen=True)
class Expected:
    """What has to be in a tier, and what must not; `only`: all that may be there."""

    includes: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    only: frozenset[str] | None = None


@dataclass(frozen=True)
class Case:
    """One question; a turn of a session also tells what is learned after it."""

    id: str
    category: str
    user: str
    scopes: tuple[str, ...]
    text: str
    beliefs_max: int
    relevant: Expected
    pinned: Expected
    questions: Expected
    learned: Belief | None = None
    renamed: tuple[str, tuple[str, ...]] | None = None  # a belief and further names of it

    @property
    def in_session(self) -> bool:
        """Whether it is a turn of a session."""
        return self.category == SESSION


@dataclass
class Fixture:
    """The beliefs, the single cases, and the turns of all sessions in order."""

    beliefs: list[Belief] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    turns: list[Case] = field(default_factory=list)


def load(path: Path) -> Fixture:
    """The fixture of a folder, its files told by what they hold.

    Raises:
        DatasetError: there are no beliefs, or no cases.
    """
    fixture = Fixture()
    raw_beliefs: list[Mapping[str, Any]] = []
    for file in files_in(path):
        for entry in read_json(file):
            if "canonical_name" in entry:
                raw_beliefs.append(entry)
            elif "turns" in entry:
                fixture.turns += [_case(entry, turn) for turn in entry["turns"]]
            elif "query" in entry:
                fixture.cases.append(_case(entry, entry))
    fixture.beliefs = list(_beliefs(raw_beliefs))
    if not fixture.beliefs or not fixture.cases:
        raise DatasetError(f"{path}: no beliefs with cases beside them")
    return fixture


def _beliefs(raw: Sequence[Mapping[str, Any]]) -> Iterator[Belief]:
    """Oldest first; a chain of replacements shares the name of its last one as slot."""
    by_id = {b["_id"]: b for b in raw}
    for belief in sorted(raw, key=lambda b: parse_time(b["created_at"])):
        last = belief
        while last.get("superseded_by") in by_id:
            last = by_id[last["superseded_by"]]
        yield _belief(belief, last["canonical_name"])


def _belief(raw: Mapping[str, Any], slot: str) -> Belief:
    resolved = raw.get("resolved_at")
    return Belief(
        id=raw["_id"],
        user=raw["user_id"],
        type=raw["type"],
        name=raw["canonical_name"],
        aliases=tuple(raw.get("aliases") or ()),
        content=raw["content"],
        why=raw.get("why_it_matters") or "",
        scopes=tuple(raw["scope"]),
        confidence=float(raw.get("confidence", 1.0)),
        pinned=bool(raw.get("pinned")),
        inferred=raw.get("epistemic_status") == "inferred",
        slot=slot,
        participants=tuple(raw.get("participants") or ()),
        created=parse_time(raw["created_at"]),
        resolved=parse_time(resolved) if resolved else None,
    )


def _case(entry: Mapping[str, Any], asked: Mapping[str, Any]) -> Case:
    """A single case (`asked` is the entry itself), or one turn of a session."""
    expect = asked.get("expect", {})
    learned = asked.get("createBeliefAtTurn")
    renamed = asked.get("updateBeliefAtTurn")
    relevant = _expected(expect.get("relevantBeliefs", {}))
    noise = expect.get("noiseCheck", {}).get("mustNotSurface", ())
    in_session = asked is not entry
    return Case(
        id=f"{entry['caseId']}/{asked['turnIndex']}" if in_session else entry["caseId"],
        category=SESSION if in_session else entry["category"],
        user=entry.get("userId", ASKER),
        scopes=tuple(asked["scope"]),
        text=asked["userMessage"] if in_session else asked["query"],
        beliefs_max=entry.get("budget", {}).get("maxBeliefs", BELIEFS_MAX),
        relevant=replace(relevant, excludes=relevant.excludes.union(noise)),
        pinned=_expected(expect.get("pinnedFacts", {})),
        questions=_expected(expect.get("openQuestions", {})),
        learned=_belief(learned, learned["canonical_name"]) if learned else None,
        renamed=(renamed["beliefId"], tuple(renamed.get("addAliases", ()))) if renamed else None,
    )


def _expected(raw: Mapping[str, Any]) -> Expected:
    only = raw.get("shouldOnlyInclude")
    return Expected(
        includes=frozenset(raw.get("mustInclude", ())),
        excludes=frozenset(raw.get("mustExclude", ())),
        only=None if only is None else frozenset(only),
    )
