"""The page of a context: sections of items under a hard budget of tokens.

It counts and files what it is given and chooses nothing. Its text never counts more than the
budget, and stands in an order that does not change with the ranking of a request, so that the
prompt around it can be cached; only what is possibly relevant stands as ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recalld.server.context_format import ORDER, Writing
from recalld.server.hits import RankedHit
from recalld.server.indexing import doubt_of
from recalld.server.standing import UNSURE_BELOW, standing_class
from recalld.server.tokens import Measure, Tokenizer
from recalld.storage.record import Importance, Kind, MemoryRecord, Status
from recalld.v1 import recall_service_pb2 as pb

Section = pb.ContextSection
Band = pb.ConfidenceBand

SECTION_OF_KIND: dict[int, int] = {
    Kind.FACT: Section.CONTEXT_SECTION_FACTS,
    Kind.STATE: Section.CONTEXT_SECTION_FACTS,
    Kind.PROGRESS: Section.CONTEXT_SECTION_PROGRESS,
    Kind.DECISION: Section.CONTEXT_SECTION_DECISIONS,
    Kind.PREFERENCE: Section.CONTEXT_SECTION_PREFERENCES,
    Kind.PROCEDURE: Section.CONTEXT_SECTION_PREFERENCES,
    Kind.EVENT: Section.CONTEXT_SECTION_BACKGROUND,
    Kind.DOCUMENT: Section.CONTEXT_SECTION_BACKGROUND,
}


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One memory as it would stand in the context.

    Attributes:
        hit: the memory and how sure the recall is of it.
        conflict: number of the conflict it is in; 0 = none.
        text: its line.
        measure: of the line and its end.
    """

    hit: RankedHit
    conflict: int
    text: str
    measure: Measure


Unit = tuple[Item, ...]
"""What goes in together: one memory, or all that contradict each other."""


@dataclass
class Page:
    """A context being filled.

    Attributes:
        writing: format, language and clock.
        tokenizer: what counts.
        budget: hard limit, tokens.
        by_band: file what the recall is not sure of under possibly relevant. Not where everything
            goes in: there the page must not depend on the request.
        taken: units in the order in which they were taken.
        spent: of all that is in, headings and frame included.
    """

    writing: Writing
    tokenizer: Tokenizer
    budget: int
    by_band: bool
    taken: dict[Unit, None] = field(default_factory=dict, init=False)
    spent: Measure = field(init=False)
    _open: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Spend what stands around everything."""
        self.spent = self.tokenizer.measure(self.writing.frame())

    def used(self) -> int:
        """Tokens of what is in, frame included."""
        return self.tokenizer.total(self.spent)

    def take(self, unit: Unit, limit: int) -> bool:
        """Take a unit whole if everything then stays within a limit and the budget."""
        spent = self.spent
        sections = set(map(self.section_of, unit))
        for section in sorted(sections - self._open):
            heading = self.writing.heading(section) + "\n"
            spent = spent.plus(self.tokenizer.measure(heading))
        for item in unit:
            spent = spent.plus(item.measure)
        if self.tokenizer.total(spent) > min(limit, self.budget):
            return False
        self.spent = spent
        self._open |= sections
        self.taken[unit] = None
        return True

    def fit(self) -> bool:
        """Give back what was taken last until the text as a whole keeps the budget.

        A tokenizer that joins words over a line break may count it higher than its lines.

        Returns:
            Whether nothing had to be given back.
        """
        before = len(self.taken)
        while self.taken and self.tokenizer.count(self.text()) > self.budget:
            self.taken.popitem()
        return len(self.taken) == before

    def section_of(self, item: Item) -> int:
        """Where an item stands; standing memories do whatever the recall thinks of them."""
        record = item.hit.record
        if is_contradicted(record):
            return Section.CONTEXT_SECTION_CONFLICTS
        is_low = item.hit.band == Band.CONFIDENCE_BAND_LOW and standing_class(record) is None
        if (self.by_band and is_low) or is_doubtful(item.hit):
            return Section.CONTEXT_SECTION_POSSIBLY_RELEVANT
        return SECTION_OF_KIND[record.kind]

    def sections(self) -> list[tuple[int, list[Item]]]:
        """What is in, as it stands."""
        filed: dict[int, list[Item]] = {section: [] for section in ORDER}
        for unit in self.taken:
            for item in unit:
                filed[self.section_of(item)].append(item)
        for section, items in filed.items():
            if not self.by_band or section != Section.CONTEXT_SECTION_POSSIBLY_RELEVANT:
                items.sort(key=_place)
        return [(section, items) for section, items in filed.items() if items]

    def text(self) -> str:
        """The context; "" when nothing is in."""
        if not self.taken:
            return ""
        return self.writing.render(
            [(section, [item.text for item in items]) for section, items in self.sections()]
        )


def _place(item: Item) -> tuple[int, int, str, int, int]:
    """Where an item stands in its section: by conflict, kind, key, then oldest first."""
    record = item.hit.record
    return item.conflict, record.kind, record.key, record.create_time_us, record.label


def is_contradicted(record: MemoryRecord) -> bool:
    """Whether another memory says otherwise and nothing has settled it."""
    return record.status == Status.CONFLICTED or bool(record.conflict_group)


def is_doubtful(hit: RankedHit) -> bool:
    """Whether it should not be told as a fact: an unsure guess, doubted, or past its time."""
    is_unsure = hit.record.confidence < UNSURE_BELOW
    return (
        hit.past
        or bool(doubt_of(hit.record))
        or (is_unsure and hit.record.importance != Importance.PINNED)
    )


def drafts(hits: Sequence[RankedHit], writing: Writing, tokenizer: Tokenizer) -> list[Item]:
    """Items of hits, in their order; conflicts are numbered by their oldest member."""
    groups: dict[str, int] = {}
    for hit in sorted(hits, key=lambda hit: hit.record.label):
        if hit.record.conflict_group:
            groups.setdefault(hit.record.conflict_group, len(groups) + 1)
    items = []
    for hit in hits:
        conflict = groups.get(hit.record.conflict_group, 0)
        text = writing.line(hit.record, conflict, past=hit.past)
        items.append(Item(hit, conflict, text, tokenizer.measure(text + "\n")))
    return items
