"""Which memories go into a context when not all fit, and in which order they claim its tokens.

When everything fits, everything goes in. When not, memories are taken one after the other, each
whole or not at all, until the budget is full:

1. the one that matters most to the request; when the recall is not sure of it, the first standing
   one goes before it;
2. standing memories (see `recalld.server.standing`): the first of them, and more in at most
   RESERVED_SHARE of what the frame leaves, so that no stream of trifles pushes an allergy out, and
   no heap of them the request;
3. all others: HIGH band before LOW, then in the order of the ranking.

One that does not fit is passed over, for a shorter one may. Memories that contradict each other are
one unit: all of them go in or none does. Near-duplicates are folded into one before anything else.

It never ranks, never reads a clock or a store, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recalld.server.context_format import Writing
from recalld.server.context_page import Item, Page, Unit, drafts
from recalld.server.hits import RankedHit
from recalld.server.near_duplicates import fold
from recalld.server.standing import standing_class
from recalld.server.tokens import Tokenizer
from recalld.v1 import recall_service_pb2 as pb

Drop = pb.DropReason
SURE = pb.ConfidenceBand.CONFIDENCE_BAND_HIGH

RESERVED_SHARE = 0.25
"""Standing memories are few and short: a quarter of the default budget holds five or six."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome.

    Attributes:
        page: what is in.
        omitted: what is not, with its DropReason, best first.
        is_all: nothing was left out but near-duplicates.
    """

    page: Page
    omitted: list[tuple[Item, int]]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Choosing:
    """What a context is written with.

    Attributes:
        writing: format, language and clock.
        tokenizer: what counts.
        budget: hard limit, tokens.
    """

    writing: Writing
    tokenizer: Tokenizer
    budget: int

    def all_of(self, hits: Sequence[RankedHit]) -> Choice | None:
        """Every hit, on a page that does not depend on their order; None when not all fit."""
        kept, folded = fold(hits)
        units = units_of(drafts(kept, self.writing, self.tokenizer))
        page = Page(self.writing, self.tokenizer, self.budget, by_band=False)
        if not (all(page.take(unit, self.budget) for unit in units) and page.fit()):
            return None
        return self._choice(page, units, folded)

    def best_of(self, hits: Sequence[RankedHit]) -> Choice:
        """What the rule above takes from hits, best first."""
        kept, folded = fold(hits)
        units = units_of(drafts(kept, self.writing, self.tokenizer))
        page = Page(self.writing, self.tokenizer, self.budget, by_band=True)
        fill(page, units)
        return self._choice(page, units, folded)

    def _choice(self, page: Page, units: Sequence[Unit], folded: Sequence[RankedHit]) -> Choice:
        """The page, and what became of everything else."""
        over = [item for unit in units if unit not in page.taken for item in unit]
        omitted: list[tuple[Item, int]] = [(item, Drop.DROP_REASON_OVER_BUDGET) for item in over]
        same = drafts(folded, self.writing, self.tokenizer)
        omitted += [(item, Drop.DROP_REASON_DUPLICATE) for item in same]
        omitted.sort(key=lambda pair: (-pair[0].hit.score, -pair[0].hit.record.label))
        return Choice(page, omitted, not over)


def fill(page: Page, units: Sequence[Unit]) -> None:
    """Take units by the rule above."""
    reserve = int(RESERVED_SHARE * (page.budget - page.used()))
    best = list(units[:1])
    if best and all(item.hit.band != SURE for item in best[0]):
        best = [*standing_first(units)[:1], *best]
    for unit in dict.fromkeys(best):
        page.take(unit, page.budget)
    limit = page.used() + reserve
    for place, unit in enumerate(standing_first(units)):
        if unit not in page.taken:
            page.take(unit, limit if place else page.budget)
    for unit in units:
        if unit not in page.taken:
            page.take(unit, page.budget)
    page.fit()


def units_of(items: Sequence[Item]) -> list[Unit]:
    """Units in the order of their claim: HIGH before LOW, then as ranked."""
    groups: dict[str | int, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.hit.band != SURE):
        record = item.hit.record
        groups.setdefault(record.conflict_group or record.label, []).append(item)
    return [tuple(group) for group in groups.values()]


def standing_first(units: Sequence[Unit]) -> list[Unit]:
    """The standing units among some: by the class of their strongest member, then by claim."""
    standing: list[tuple[int, Unit]] = []
    for unit in units:
        classes = [c for item in unit if (c := standing_class(item.hit.record)) is not None]
        if classes:
            standing.append((min(classes), unit))
    return [unit for _, unit in sorted(standing, key=lambda pair: pair[0])]
