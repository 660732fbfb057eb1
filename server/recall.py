"""Recall: check -> embed -> search the partitions -> fetch the winners -> cut -> answer.

It touches no database.

The partitions are chosen from the credential and the scope before any channel runs, and every
record is checked against them again before it goes out.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count, zip_longest

from recalld.index.batching import BatchingEmbedder
from recalld.index.conditions import Filter, NumberIn
from recalld.index.plan import QueryPlan, Ranking
from recalld.index.search import Reading
from recalld.scoring.params import (
    CUT_ALONE,
    CUT_BESIDE_RELEVANCE,
    SERVED_CHANNELS,
    Channel,
    Fusion,
)
from recalld.server import ask, filters, hits, times
from recalld.server.ask import Ask, Defaults
from recalld.server.call import Call
from recalld.server.config import RankingSection
from recalld.server.encoded import EncodedMemories
from recalld.server.errors import RevisionNotReached
from recalld.server.hits import RankedHit, make_hits
from recalld.server.language import detect_language
from recalld.server.limits import K_DEFAULT, RESPONSE_BYTES_MAX
from recalld.server.metrics import Metrics
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.partners import with_partners
from recalld.server.query import (
    CONTEXT_WEIGHT,
    INLINE_ROW_COUNT_MAX,
    Query,
    make_query,
    text_weights,
)
from recalld.server.writer import Writer
from recalld.storage.record import MemoryRecord
from recalld.v1 import recall_service_pb2 as pb

WORDS_ALONE_CUT = 0.02
"""The cut when there is no vector: what shares a word passes, what shares none does not."""


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a recall.

    Attributes:
        response: complete but for its hits.
        hits: best first.
        everything: every current memory of the own partition, ranked, when there are few; else
            empty.
        language: of the request.
        now_us: clock of the recall.
    """

    response: pb.RecallResponse
    hits: list[RankedHit]
    everything: list[RankedHit]
    language: str
    now_us: int


def recall_names() -> Iterator[str]:
    """Names of recalls: unique over restarts, and cheaper than a random one for each."""
    prefix = uuid.uuid4().hex[:16]
    return (f"{prefix}{number:016x}" for number in count(1))


@dataclass(frozen=True)
class Recall:
    """Handler of Recall, and what BuildContext and BatchRecall build on."""

    partitions: Partitions
    writer: Writer
    embedder: BatchingEmbedder
    metrics: Metrics
    pool: ThreadPoolExecutor
    ranking: RankingSection
    defaults: Defaults = field(init=False)
    names: Iterator[str] = field(default_factory=recall_names, init=False)
    encoded: EncodedMemories = field(default_factory=EncodedMemories, init=False)

    def __post_init__(self) -> None:
        """Turn the configuration into the ranking's own terms."""
        fusion = Fusion.RRF if self.ranking.fusion == "rrf" else Fusion.WEIGHTED
        has_relevance = self.embedder.relevance is not None
        own = CUT_BESIDE_RELEVANCE if has_relevance else CUT_ALONE
        cut = own if self.ranking.min_score is None else self.ranking.min_score
        channels = SERVED_CHANNELS if has_relevance else SERVED_CHANNELS - {Channel.RELEVANCE}
        object.__setattr__(self, "defaults", Defaults(cut, fusion, channels))

    async def __call__(self, request: pb.RecallRequest, call: Call) -> pb.RecallResponse:
        """Recall."""
        return await self.answer(request, call, "")

    async def answer(self, request: pb.RecallRequest, call: Call, where: str) -> pb.RecallResponse:
        """Recall, for a request that stands at the path `where` of a message."""
        found = await self.find(request, call, k_default=K_DEFAULT, field=where)
        response = found.response
        size = 0
        for hit in found.hits:
            memory = self.encoded.get(hit.record, found.now_us)
            message = hits.wire_hit(hit, memory, with_parts=request.explain)
            size += message.ByteSize() + 8
            if size > RESPONSE_BYTES_MAX:
                response.degraded.append("response_size")
                break
            response.hits.append(message)
        return response

    async def find(
        self,
        request: pb.RecallRequest,
        call: Call,
        *,
        k_default: int,
        field: str,
        whole_max: int = 0,
    ) -> Found:
        """Everything but the encoding of the hits.

        Args:
            request: the request.
            call: the call.
            k_default: hits when the request does not say.
            field: path of the request in its message, for errors.
            whole_max: rank every current memory too when the own partition has at most so many.
        """
        started_s = call.clock.monotonic_s()
        asked = ask.decode(request, call, field, k_default, self.defaults)
        held = self.writer.published(call.tenant)
        if request.min_revision > held:
            raise RevisionNotReached(
                f"revision {request.min_revision} is asked for, this server holds {held}"
            )
        chosen = [
            part
            for user in asked.users
            if (part := self.partitions.find(call.tenant, user)) is not None
        ]
        # Checked for unknown users too: a filter that cannot be understood is always an error.
        labels_of: list[filters.LabelOf] = [part.label_of for part in chosen] or [_no_label]
        compiled = [_filter(request, asked, label_of, field) for label_of in labels_of]
        query = await make_query(self.embedder, request, asked, chosen, call, field)
        embedded_s = call.clock.monotonic_s()
        call.check_deadline()
        rankings = [
            await self._search(part, self._plan(asked, condition, query), reading)
            for part, condition, reading in zip_longest(
                chosen, compiled[: len(chosen)], query.readings
            )
        ]

        async def among(part: Partition, condition: Filter) -> list[RankedHit]:
            """Hits of the same request among some rows of a partition."""
            whole = Filter(must=(compiled[chosen.index(part)], condition))
            plan = self._plan(asked, whole, query, min_score=0.0)
            return self._collect(asked, [part], [await self._search(part, plan, None)], call)

        ranked = self._collect(asked, chosen, rankings, call)[: asked.k]
        ranked = await with_partners(ranked, chosen, among, asked.k)
        everything = []
        if whole_max > 0 and chosen and len(chosen) == 1 and len(chosen[0].index) <= whole_max * 2:
            plan = self._plan(asked, compiled[0], query, k=whole_max + 1, min_score=0.0)
            everything = self._collect(
                asked, chosen, [await self._search(chosen[0], plan, None)], call
            )
        response = self._response(asked, chosen, rankings, ranked, query, held)
        times.set_spent(response.timings, call.clock.monotonic_s(), started_s, embedded_s)
        return Found(response, ranked, everything, detect_language(asked.text), asked.view.now_us)

    def _plan(
        self,
        asked: Ask,
        condition: Filter,
        query: Query,
        *,
        k: int = 0,
        min_score: float | None = None,
    ) -> QueryPlan:
        """One partition's search."""
        vector_count = 0 if query.vectors is None else len(query.vectors)
        return QueryPlan(
            view=asked.view,
            filter=condition,
            vectors=query.vectors,
            vector_weights=(1.0, *[CONTEXT_WEIGHT] * (vector_count - 1)),
            texts=query.texts,
            text_weights=text_weights(query.texts),
            k=k or asked.k,
            fusion=asked.fusion,
            min_score=self._cut(asked, query) if min_score is None else min_score,
            weights=asked.weights,
            exclude_labels=query.excluded,
        )

    def _cut(self, asked: Ask, query: Query) -> float:
        """Lowest score to return."""
        if asked.min_score is not None:
            return asked.min_score
        return WORDS_ALONE_CUT if query.degraded else self.defaults.min_score

    async def _search(self, part: Partition, plan: QueryPlan, reading: Reading | None) -> Ranking:
        """Search, on the loop when it is short, else on the pool."""
        if len(part.index) <= INLINE_ROW_COUNT_MAX:
            return part.index.search(plan, reading)
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, partial(part.index.search, plan, reading)
        )

    def _collect(
        self, asked: Ask, chosen: list[Partition], rankings: list[Ranking], call: Call
    ) -> list[RankedHit]:
        """Hits of all partitions in one order: score, then newer, then stored later."""
        about_now = not (asked.view.as_of_us or asked.view.known_at_us)

        def record_of(part: Partition, label: int) -> MemoryRecord | None:
            """The record, unless it is not of this partition or was replaced since the search."""
            record = part.records.get(label)
            if (
                record is None
                or record.scope.user_id != part.user_id
                or record.scope.tenant != call.tenant
            ):
                return None
            return None if about_now and record.status not in asked.view.statuses else record

        collected: list[RankedHit] = []
        for part, ranking in zip(chosen, rankings, strict=True):
            collected += make_hits(ranking, partial(record_of, part))
        if len(chosen) > 1:
            collected.sort(
                key=lambda hit: (-hit.score, -hit.record.create_time_us, -hit.record.label)
            )
        return collected

    def _response(
        self,
        asked: Ask,
        chosen: list[Partition],
        rankings: list[Ranking],
        ranked: list[RankedHit],
        query: Query,
        held: int,
    ) -> pb.RecallResponse:
        """Everything of the answer but the hits."""
        response = pb.RecallResponse(
            recall_id=next(self.names),
            abstained=not ranked,
            conflicts=hits.conflicts(ranked),
            revision=held,
            degraded=(*asked.degraded, *query.degraded),
            excluded=hits.excluded(rankings, asked.k, len(ranked)),
        )
        if not ranked:
            if not any(len(part) for part in chosen):
                response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_NO_MEMORIES
            elif not any(ranking.matched for ranking in rankings):
                response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_NO_MATCH
            else:
                response.abstain_reason = pb.AbstainReason.ABSTAIN_REASON_BELOW_CUT
        return response


def _no_label(_: str) -> int | None:
    """Label of an id where no memory is."""
    return None


def _filter(request: pb.RecallRequest, asked: Ask, label_of: filters.LabelOf, field: str) -> Filter:
    """The request's filter and kinds, for one partition."""
    path = f"{field}.filter" if field else "filter"
    compiled = filters.decode(request.filter, path, label_of)
    if not asked.kinds:
        return compiled
    kinds = NumberIn("kind", asked.kinds)
    return Filter((*compiled.must, kinds), compiled.should, compiled.must_not)
