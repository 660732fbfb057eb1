"""PrecisionMemBench scored: precision and recall of the relevant tier, and whether a case passed.

The definitions are those of the authors' harness. Never talks to a server.
Source: Flynt, arXiv 2605.11325, and its harness.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recalld.bench import baselines
from recalld.bench.metrics import mean
from recalld.bench.precision import Case, Fixture
from recalld.bench.report import Figure


@dataclass(frozen=True)
class Outcome:
    """The tiers of one context: ids of beliefs."""

    case: Case
    relevant: frozenset[str]
    pinned: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()

    @property
    def hits(self) -> int:
        """Wanted ones that came back; in a session pinned ones count too."""
        seen = self.relevant | self.pinned if self.case.in_session else self.relevant
        return len((self.case.relevant.only or frozenset()) & seen)


def precision(outcome: Outcome) -> float | None:
    """Share of the relevant tier that was wanted; nought where it is empty and should not be.

    None where nothing was wanted and nothing came back, in a session wherever nothing came back.
    """
    if outcome.relevant:
        return outcome.hits / len(outcome.relevant)
    return 0.0 if outcome.case.relevant.only and not outcome.case.in_session else None


def recall(outcome: Outcome) -> float | None:
    """Share of the wanted ones that came back; None where none was wanted."""
    only = outcome.case.relevant.only
    return outcome.hits / len(only) if only else None


def passed(outcome: Outcome) -> float:
    """All that the case says of its tiers holds."""
    case, either = outcome.case, outcome.relevant | outcome.pinned
    return float(
        case.relevant.only in (None, outcome.relevant)
        and case.relevant.includes <= either
        and case.relevant.excludes.isdisjoint(either)
        and case.pinned.includes <= outcome.pinned
        and case.pinned.excludes.isdisjoint(outcome.pinned)
        and case.questions.includes <= outcome.questions
        and case.questions.excludes.isdisjoint(outcome.questions)
    )


def active(outcome: Outcome) -> float:
    """It passed, and by finding something."""
    return passed(outcome) if precision(outcome) is not None else 0.0


MEASURES: Mapping[str, Callable[[Outcome], float | None]] = {
    "precision": precision,
    "recall": recall,
    "passed": passed,
    "active": active,
}


def figures_of(outcomes: Iterable[Outcome], session: Iterable[Outcome]) -> dict[str, Figure]:
    """Means over the single cases, and of the sessions' turns apart."""
    single = list(outcomes)
    turns = {f"session_{name}": value for name, value in means(list(session)).items()}
    return {"n": len(single), **means(single), **turns}


def means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Each measure over the cases that it is about."""
    return {
        name: mean([v for o in outcomes if (v := measure(o)) is not None])
        for name, measure in MEASURES.items()
    }


def trivial_outcomes(fixture: Fixture) -> dict[str, list[Outcome]]:
    """The relevant tier of trivial rankers on the single cases, pinned ones left out, by ranker."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for case in fixture.cases:
        mine = [b for b in fixture.beliefs if b.user == case.user]
        mine = [b for b in mine if not set(b.scopes).isdisjoint(case.scopes)]
        documents = [baselines.Document(b.text, b.created) for b in mine]
        k = case.beliefs_max if case.text.strip() else 0
        for name, rank in baselines.rankers(documents).items():
            hits = [mine[i].id for i in rank(case.text, k) if not mine[i].pinned]
            outcomes[name].append(Outcome(case, frozenset(hits)))
            if name == "BM25":  # what a measure of precision makes of saying little
                outcomes["BM25, its first alone"].append(Outcome(case, frozenset(hits[:1])))
    return dict(outcomes)
