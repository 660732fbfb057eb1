"""BuildContext: a recall, written as a prompt under a hard token budget.

Whole items only. When everything current about the user fits, all of it goes in; otherwise what
`recalld.server.context_choice` takes. The text never counts more tokens than the budget, by the
tokenizer that the answer names, and is empty when nothing matters. Same store, same request, same
day: same bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from recalld.server import tokens, validate
from recalld.server.call import Call
from recalld.server.codec import shown_status
from recalld.server.context_choice import Choice, Choosing
from recalld.server.context_format import Writing
from recalld.server.errors import InvalidRequest
from recalld.server.hits import RankedHit, order_of
from recalld.server.language import detect_language
from recalld.server.limits import (
    CONTEXT_CANDIDATE_COUNT_MAX,
    TOKEN_BUDGET_DEFAULT,
    TOKEN_BUDGET_MAX,
    TOKEN_BUDGET_MIN,
)
from recalld.server.recall import Found, Recall
from recalld.server.standing import is_binding
from recalld.storage.record import Status
from recalld.v1 import recall_service_pb2 as pb

ITEM_TOKENS_MIN = 3
"""An age, a source and a word: a budget never holds more items than it has such threes."""
COMPACT_BELOW = 128
"""Tokens below which the words around memories would take as much as these."""
INLINE_CANDIDATE_COUNT_MAX = 256
"""Up to this many candidates are written on the event loop; counting more would hold it up."""
PAST: dict[int, int] = {
    Status.SUPERSEDED: pb.DropReason.DROP_REASON_SUPERSEDED,
    Status.EXPIRED: pb.DropReason.DROP_REASON_EXPIRED,
}


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
        tokenizer = tokens.tokenizer(request.tokenizer, self.count_tokens)
        form = (
            validate.enum(request.format, pb.ContextFormat, "format")
            or pb.ContextFormat.CONTEXT_FORMAT_MARKDOWN
        )
        if request.language not in ("", "zh", "en"):
            raise InvalidRequest("language", "must be zh, en or empty")
        most = min(budget // ITEM_TOKENS_MIN, CONTEXT_CANDIDATE_COUNT_MAX)
        found = await self.recall.find(
            request.recall, call, k_default=most, field="recall", own_max=most
        )
        language = request.language or ("zh" if detect_language(found.text) == "zh" else "en")
        writing = Writing(form, language, found.now_us, compact=budget < COMPACT_BELOW)
        choosing = Choosing(writing, tokenizer, budget)
        work = partial(_choose, request.recall, found, choosing)
        if len(found.own) + len(found.hits) <= INLINE_CANDIDATE_COUNT_MAX:
            choice = work()
        else:
            choice = await asyncio.get_running_loop().run_in_executor(self.recall.pool, work)
        if found.traced is not None:
            taken = [item.hit for _, items in choice.page.sections() for item in items]
            left = [item.hit for item, _ in choice.omitted]
            self.recall.traces.keep(found.traced, found.response, taken, left)
        return _response(choice, found, request.recall, tokenizer)


def _choose(request: pb.RecallRequest, found: Found, choosing: Choosing) -> Choice:
    """Everything where it fits, else the best; only what always binds when nothing matters."""
    if found.response.abstained:
        binding = [hit for hit in found.own if is_binding(hit.record)]
        return replace(choosing.best_of(_current(binding, request, found.now_us)), is_all=False)
    own = request.scope.user_id
    shared = [hit for hit in found.hits if hit.record.scope.user_id != own]
    everything = _current([*found.own, *shared], request, found.now_us)
    if found.is_all:
        whole = choosing.all_of(everything)
        if whole is not None:
            return whole
    if request.HasField("k"):
        hits = _current(found.hits, request, found.now_us)
    else:
        hits = sorted((h for h in everything if h.score >= request.min_score), key=order_of)
    considered = _with_opponents(hits, everything)
    choice = choosing.best_of(considered)
    return choice if len(considered) >= len(everything) else replace(choice, is_all=False)


def _is_about_now(request: pb.RecallRequest) -> bool:
    """Whether what was superseded since is out of place."""
    return not (request.HasField("as_of") or request.HasField("known_at"))


def _current(hits: Sequence[RankedHit], request: pb.RecallRequest, now_us: int) -> list[RankedHit]:
    """Hits that hold now, or then when the request is about another time."""
    if not (request.include_superseded and _is_about_now(request)):
        return list(hits)
    return [hit for hit in hits if shown_status(hit.record, now_us) not in PAST]


def _with_opponents(hits: Sequence[RankedHit], everything: Sequence[RankedHit]) -> list[RankedHit]:
    """Hits, and after them what contradicts one of them: a conflict is shown whole."""
    groups = {hit.record.conflict_group for hit in hits} - {""}
    known = {hit.record.label for hit in hits}
    opponents = [
        hit
        for hit in everything
        if hit.record.conflict_group in groups and hit.record.label not in known
    ]
    return [*hits, *opponents]


def _response(
    choice: Choice, found: Found, request: pb.RecallRequest, tokenizer: tokens.Tokenizer
) -> pb.BuildContextResponse:
    """The answer."""
    text = choice.page.text()
    is_complete = bool(text) and choice.is_all and found.is_all
    response = pb.BuildContextResponse(
        text=text,
        token_count=tokenizer.count(text) if text else 0,
        tokenizer=tokenizer.name,
        complete=is_complete and not _is_narrowed(request),
        recall=found.response,
    )
    for section, items in choice.page.sections():
        for item in items:
            response.items.add(
                memory_id=item.hit.record.id,
                section=section,
                text=item.text,
                token_count=tokenizer.total(item.measure),
                score=item.hit.score,
                band=item.hit.band,
            )
    for item, reason in choice.omitted:
        response.omitted.add(
            memory_id=item.hit.record.id,
            reason=reason,
            token_count=tokenizer.total(item.measure),
        )
    if request.include_superseded and _is_about_now(request):
        for hit in found.hits:
            status = shown_status(hit.record, found.now_us)
            if status in PAST:
                response.omitted.add(memory_id=hit.record.id, reason=PAST[status])
    return response


def _is_narrowed(request: pb.RecallRequest) -> bool:
    """Whether a request asks about less than everything that holds now."""
    return bool(request.kinds or request.filter.ListFields() or not _is_about_now(request))
