"""Recall: check -> embed -> search the partitions -> fetch the winners -> cut -> answer.

It touches no database.

The partitions are chosen from the credential and the scope before any channel runs, and every
record is checked against them again before it goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from recalld.index.conditions import Filter, LabelIn
from recalld.index.generation import Reading
from recalld.index.plan import QueryPlan, Ranking
from recalld.scoring.params import SERVED_CHANNELS, Channel
from recalld.server import access, ask, encoded, hits
from recalld.server.answer import bare_answer
from recalld.server.ask import Ask, Defaults
from recalld.server.call import Call
from recalld.server.encoded import EncodedMemories
from recalld.server.errors import RevisionNotReached
from recalld.server.filters import LabelOf, RecentFilters
from recalld.server.hits import RankedHit, make_hits
from recalld.server.limits import K_DEFAULT, RESPONSE_BYTES_MAX
from recalld.server.metrics import Metrics
from recalld.server.models import Models
from recalld.server.names import new_name
from recalld.server.partition import Partition
from recalld.server.partitions import Partitions
from recalld.server.partners import conflicts, with_partners
from recalld.server.query import INLINE_ROW_COUNT_MAX, Query, make_query, text_weights
from recalld.server.roles import Roles
from recalld.server.sections import RankingSection
from recalld.server.timings import spend
from recalld.server.traced import Traced, make_traced, pinned
from recalld.server.traces import Traces
from recalld.server.writer import Writer
from recalld.storage.record import MemoryRecord
from recalld.v1 import recall_service_pb2 as pb

Search = tuple[Partition, QueryPlan, Reading | None]
"""A partition, the question put to it, and what the words say of it already."""
HITS = pb.RecallResponse.HITS_FIELD_NUMBER


# Not frozen, though nobody changes one: that would triple the time to make it.
@dataclass(slots=True)
class Found:
    """The outcome of a recall.

    Attributes:
        response: complete but for its hits.
        hits: best first.
        own: memories of the own partition, ranked without a cut, up to the count asked for, and
            then those that bind whatever is asked.
        is_all: there are no others in it.
        text: of the request.
        now_us: clock of the recall.
        traced: what a trace is made of; None = this recall is not traced.
    """

    response: pb.RecallResponse
    hits: list[RankedHit]
    own: list[RankedHit]
    is_all: bool
    text: str
    now_us: int
    traced: Traced | None


@dataclass(frozen=True)
class Recall:
    """Handler of Recall, and what BuildContext and BatchRecall build on."""

    partitions: Partitions
    writer: Writer
    models: Models
    metrics: Metrics
    pool: ThreadPoolExecutor
    ranking: RankingSection
    roles: Roles | None
    traces: Traces
    defaults: Defaults = field(init=False)
    filters: RecentFilters = field(default_factory=RecentFilters, init=False)
    encoded: EncodedMemories = field(default_factory=EncodedMemories, init=False)

    def __post_init__(self) -> None:
        """Turn the configuration into the ranking's own terms."""
        absent = set() if self.roles is not None else {Channel.ROLE}
        if self.models.current.relevance is None:
            absent.add(Channel.RELEVANCE)
        defaults = ask.defaults(self.ranking, SERVED_CHANNELS - absent)
        object.__setattr__(self, "defaults", defaults)

    def __call__(self, request: pb.RecallRequest, call: Call) -> Awaitable[bytes]:
        """Recall."""
        return self.answer(request, call, "")

    async def answer(self, request: pb.RecallRequest, call: Call, where: str) -> bytes:
        """The encoded answer to a request that stands at the path `where` of a message."""
        found = await self.find(request, call, k_default=K_DEFAULT, field=where)
        response = found.response
        for reason in response.degraded:
            self.metrics.degraded.labels(reason).inc()
        sent: list[bytes] = []
        size = 0
        for hit in found.hits:
            memory = self.encoded.get(hit.record, found.now_us)
            body = hits.wire_hit(hit, memory, with_parts=request.explain)
            sent.append(encoded.field(HITS, body))
            size += len(sent[-1])
            if size > RESPONSE_BYTES_MAX:
                response.degraded.append("response_size")
                sent.pop()
                break
        if found.traced is not None:
            count = len(sent)
            self.traces.keep(found.traced, response, found.hits[:count], found.hits[count:])
        return b"".join((response.SerializeToString(), *sent))

    async def find(
        self,
        request: pb.RecallRequest,
        call: Call,
        *,
        k_default: int,
        field: str,
        own_max: int = 0,
    ) -> Found:
        """Everything but the encoding of the hits.

        Args:
            request: the request.
            call: the call.
            k_default: hits when the request does not say.
            field: path of the request in its message, for errors.
            own_max: rank so many memories of the own partition without a cut, too.
        """
        started_s = call.clock.monotonic_s()
        asked = ask.decode(request, call, field, k_default, self.defaults)
        held = self.writer.published(call.tenant)
        if request.min_revision > held:
            raise RevisionNotReached(
                f"revision {request.min_revision} is asked for, this server holds {held}"
            )
        chosen = await self.partitions.use_all(call.tenant, asked.users, call)
        # Checked for unknown users too: a filter that cannot be understood is always an error.
        labels_of: list[LabelOf] = [part.label_of for part in chosen] or [_no_label]
        compiled = [self.filters.of_recall(request, field, label_of) for label_of in labels_of]
        query = await make_query(self.models, self.roles, request, asked, chosen, call, field)
        embedded_s = call.clock.monotonic_s()
        call.check_deadline()
        is_traced = self.traces.wants(asked.explain)
        readings = query.readings or (None,) * len(chosen)
        searched = [
            (part, self._plan(asked, condition, query, part), reading or pinned(part, is_traced))
            # Of a user who has nothing there is a filter, and no partition.
            for part, condition, reading in zip(chosen, compiled, readings, strict=False)
        ]
        rankings = [await self._search(*part) for part in searched]
        ranked = self._collect(asked, chosen, rankings, call)[: asked.k]
        is_disputed = any(hit.record.conflict_group for hit in ranked)
        if is_disputed:
            ranked = await self._with_partners(ranked, asked, searched, call)
        own: list[RankedHit] = []
        is_all = False
        if own_max > 0 and chosen and chosen[0].user_id == asked.scope.user_id:
            own, is_all = await self._uncut(asked, chosen[0], compiled[0], query, own_max, call)
        response = bare_answer(new_name(), asked, chosen, rankings, ranked, query, held)
        if is_disputed:
            response.conflicts.extend(conflicts(ranked, chosen, asked, call))
        spend(response.timings, call, started_s, embedded_s)
        traced = make_traced(asked, call, searched, rankings) if is_traced else None
        return Found(response, ranked, own, is_all, asked.text, asked.view.now_us, traced)

    async def _with_partners(
        self, ranked: list[RankedHit], asked: Ask, searched: Sequence[Search], call: Call
    ) -> list[RankedHit]:
        """The hits, and what contradicts them, ranked by the same plans without a cut."""
        plans = {part.user_id: plan for part, plan, _ in searched}

        async def among(part: Partition, condition: Filter) -> list[RankedHit]:
            """Hits of the same request among some rows of a partition."""
            plan = plans[part.user_id]
            narrow = replace(plan, filter=Filter((plan.filter, condition)), min_score=0.0)
            return self._collect(asked, [part], [await self._search(part, narrow, None)], call)

        return await with_partners(ranked, [part for part, _, _ in searched], among, asked.k)

    async def _uncut(
        self,
        asked: Ask,
        part: Partition,
        condition: Filter,
        query: Query,
        most: int,
        call: Call,
    ) -> tuple[list[RankedHit], bool]:
        """The best of one partition, however low their scores, and what binds whatever is asked.

        Returns:
            Hits, best first, and whether there are no others.
        """
        await call.turn()  # A second whole search: others come in between.
        plan = self._plan(asked, condition, query, part, k=most, min_score=0.0)
        best = await self._search(part, plan, None)
        found = self._collect(asked, [part], [best], call)
        if best.matched <= most:
            return found, 0 < best.matched == len(found)
        left = part.binding - {hit.record.label for hit in found}
        if left:
            narrow = replace(plan, filter=Filter((condition, LabelIn(left))))
            found += self._collect(asked, [part], [await self._search(part, narrow, None)], call)
        return found, False

    def _plan(
        self,
        asked: Ask,
        condition: Filter,
        query: Query,
        part: Partition,
        *,
        k: int = 0,
        min_score: float | None = None,
    ) -> QueryPlan:
        """One partition's search, by vectors of its own model."""
        fingerprint = part.index.fingerprint
        vectors = query.vectors.get(fingerprint)
        return QueryPlan(
            view=asked.view,
            filter=condition,
            vectors=vectors,
            vector_weights=query.vector_weights,
            texts=query.texts,
            text_weights=text_weights(query.texts),
            k=k or asked.k,
            fusion=asked.fusion,
            min_score=asked.min_score if min_score is None else min_score,
            weights=asked.multipliers.weights,
            cue_weight=asked.multipliers.cue,
            exclude_labels=query.excluded,
            roles=query.roles if fingerprint == self.models.current.fingerprint else None,
            time=asked.time,
            fingerprint=fingerprint,
        )

    async def _search(self, part: Partition, plan: QueryPlan, reading: Reading | None) -> Ranking:
        """Search, on the loop when it is short, else on the pool."""
        vector_count = len(part.index) + part.index.generation.cues.count
        if plan.roles is None and vector_count <= INLINE_ROW_COUNT_MAX:
            return part.index.search(plan, reading)
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, partial(part.index.search, plan, reading)
        )

    def _collect(
        self, asked: Ask, chosen: list[Partition], rankings: list[Ranking], call: Call
    ) -> list[RankedHit]:
        """Hits of all partitions in one order: score, then newer, then stored later."""
        tenant, view = call.tenant, asked.view
        about_now = not (view.as_of_us or view.known_at_us)

        def record_of(part: Partition, label: int) -> MemoryRecord | None:
            """The record, unless it is not of this partition or was replaced since the search."""
            record = part.records.get(label)
            if record is None or (about_now and record.status not in view.statuses):
                return None
            where = record.scope
            if where.user_id != part.user_id or where.tenant != tenant:
                return None
            if record.superseded_by or record.conflict_group:
                sees = access.view_of(asked.scope, call, part.user_id)
                return access.as_seen(record, part, sees, view.as_of_us or view.now_us)
            return record

        collected: list[RankedHit] = []
        for part, ranking in zip(chosen, rankings, strict=True):
            collected += make_hits(ranking, partial(record_of, part))
        if len(chosen) > 1:
            collected.sort(key=hits.order_of)
        return collected


def _no_label(_: str) -> int | None:
    """Label of an id where no memory is."""
    return None
