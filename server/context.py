"""BuildContext: a recall, written as a prompt under a hard token budget.

Whole items only. When everything current about the user fits, all of it goes in; otherwise the
hits, best first. The text never counts more tokens than the budget, by the tokenizer that the
answer names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from recalld.server import tokens, validate
from recalld.server.call import Call
from recalld.server.context_format import ORDER, Writing
from recalld.server.errors import InvalidRequest
from recalld.server.indexing import is_outweighed
from recalld.server.limits import (
    CONTEXT_K_DEFAULT,
    TOKEN_BUDGET_DEFAULT,
    TOKEN_BUDGET_MAX,
    TOKEN_BUDGET_MIN,
)
from recalld.server.recall import Found, RankedHit, Recall
from recalld.storage.record import Kind, Status
from recalld.v1 import recall_service_pb2 as pb

Section = pb.ContextSection
Band = pb.ConfidenceBand
WHOLE_STORE_MAX = 200
"""Stores up to this many current memories are tried as a whole.

Larger ones never fit a sensible budget.
"""

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


def section_of(hit: RankedHit, *, by_band: bool) -> int:
    """Where a hit stands; in a context that holds everything, how sure a hit is says little."""
    if hit.record.status == Status.CONFLICTED or hit.record.conflict_group:
        return Section.CONTEXT_SECTION_CONFLICTS
    if is_outweighed(hit.record):
        return Section.CONTEXT_SECTION_POSSIBLY_RELEVANT
    if by_band and hit.band == Band.CONFIDENCE_BAND_LOW:
        return Section.CONTEXT_SECTION_POSSIBLY_RELEVANT
    return SECTION_OF_KIND[hit.record.kind]


@dataclass
class Assembly:
    """A context being filled, best hit first.

    Attributes:
        writing: format and language.
        count: tokens of a text.
        budget: hard limit, tokens.
    """

    writing: Writing
    count: Callable[[str], int]
    budget: int
    lines: dict[int, list[tuple[RankedHit, str, int]]] = field(default_factory=dict, init=False)
    omitted: list[tuple[RankedHit, int]] = field(default_factory=list, init=False)
    spent: int = field(default=0, init=False)

    def fill(self, hits: Sequence[RankedHit], *, by_band: bool = True) -> None:
        """Take every hit that fits, in order."""
        self.spent = self.count(self.writing.frame())
        for hit in hits:
            section = section_of(hit, by_band=by_band)
            line = self.writing.line(hit.record, section)
            cost = self.count(line + "\n")
            heading = (
                0 if section in self.lines else self.count(self.writing.heading(section) + "\n")
            )
            if self.spent + cost + heading > self.budget:
                self.omitted.append((hit, cost))
                continue
            self.spent += cost + heading
            self.lines.setdefault(section, []).append((hit, line, cost))

    def text(self) -> str:
        """The context; "" when nothing is in."""
        if not self.lines:
            return ""
        return self.writing.render(
            [
                (section, [line for _, line, _ in self.lines[section]])
                for section in ORDER
                if section in self.lines
            ]
        )

    def drop_last(self) -> None:
        """Leave out the weakest item.

        The pieces counted less than their sum, which joining words can cause.
        """
        section = min(self.lines, key=lambda s: self.lines[s][-1][0].score)
        hit, _, cost = self.lines[section].pop()
        if not self.lines[section]:
            del self.lines[section]
        self.omitted.append((hit, cost))


@dataclass(frozen=True)
class BuildContext:
    """Handler of BuildContext."""

    recall: Recall
    count_tokens: Callable[[str], int]

    async def __call__(
        self, request: pb.BuildContextRequest, call: Call
    ) -> pb.BuildContextResponse:
        """Recall and write."""
        budget = request.token_budget or TOKEN_BUDGET_DEFAULT
        validate.whole(budget, "token_budget", TOKEN_BUDGET_MIN, TOKEN_BUDGET_MAX)
        count = tokens.counter(request.tokenizer, self.count_tokens)
        form = (
            validate.enum(request.format, pb.ContextFormat, "format")
            or pb.ContextFormat.CONTEXT_FORMAT_MARKDOWN
        )
        if request.language not in ("", "zh", "en"):
            raise InvalidRequest("language", "must be zh, en or empty")
        found = await self.recall.find(
            request.recall,
            call,
            k_default=CONTEXT_K_DEFAULT,
            field="recall",
            whole_max=WHOLE_STORE_MAX,
        )
        writing = Writing(form, request.language or ("zh" if found.language == "zh" else "en"))
        assembly, is_whole = self._assemble(found, writing, count, budget)
        complete = is_whole and not _is_narrowed(request.recall)
        return self._response(assembly, complete, found, request.tokenizer or tokens.CONSERVATIVE)

    def _assemble(
        self, found: Found, writing: Writing, count: Callable[[str], int], budget: int
    ) -> tuple[Assembly, bool]:
        """The whole store (what the request narrows it to) when it fits, else the hits."""
        if not found.response.abstained and 0 < len(found.everything) <= WHOLE_STORE_MAX:
            whole = Assembly(writing, count, budget)
            whole.fill(found.everything, by_band=False)
            if not whole.omitted and count(whole.text()) <= budget:
                return whole, True
        assembly = Assembly(writing, count, budget)
        assembly.fill(found.hits)
        while assembly.lines and count(assembly.text()) > budget:
            assembly.drop_last()
        # The hits may be everything there is, and take less room by fewer headings.
        held = sum(map(len, assembly.lines.values()))
        return assembly, 0 < held == len(found.everything) and not assembly.omitted

    def _response(
        self, assembly: Assembly, complete: bool, found: Found, tokenizer: str
    ) -> pb.BuildContextResponse:
        """The answer."""
        text = assembly.text()
        response = pb.BuildContextResponse(
            text=text,
            token_count=assembly.count(text) if text else 0,
            tokenizer=tokenizer,
            complete=complete,
            recall=found.response,
        )
        del response.recall.hits[:]
        for section in ORDER:
            for hit, line, cost in assembly.lines.get(section, ()):
                response.items.add(
                    memory_id=hit.record.id,
                    section=section,
                    text=line,
                    token_count=cost,
                    score=hit.score,
                    band=hit.band,
                )
        for hit, cost in sorted(assembly.omitted, key=lambda pair: -pair[0].score):
            response.omitted.add(
                memory_id=hit.record.id,
                reason=pb.DropReason.DROP_REASON_OVER_BUDGET,
                token_count=cost,
            )
        return response


def _is_narrowed(request: pb.RecallRequest) -> bool:
    """Whether a request asks about less than everything that holds now."""
    return bool(
        request.kinds
        or request.filter.ListFields()
        or request.HasField("as_of")
        or request.HasField("known_at")
    )
