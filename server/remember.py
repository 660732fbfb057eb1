"""Remember: validate -> embed -> place -> commit -> publish -> answer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np

from recalld.server import access, codec, validate
from recalld.server.call import Call
from recalld.server.change import Change, ModelChanged
from recalld.server.codec import Draft
from recalld.server.cue_vectors import embed_cues
from recalld.server.indexing import embedded_text
from recalld.server.limits import BATCH_COUNT_MAX, REQUEST_ID_BYTES_MAX
from recalld.server.metrics import Metrics
from recalld.server.models import Models
from recalld.server.partitions import Partitions
from recalld.server.purge import was_purged
from recalld.server.roles import Roles
from recalld.server.slots import Outcome, Placement, place
from recalld.server.writer import Writer
from recalld.storage.store import StoredRequest
from recalld.storage.tombstones import Tombstones
from recalld.v1 import memory_service_pb2 as pb

METHOD = "recalld.v1.MemoryService/Remember"
EMBED_SHARE_MAX = 0.5
"""Share of the time until the deadline that embedding may be expected to take: a write that is let
in and then misses its deadline has cost others their turn."""


@dataclass(frozen=True)
class Remember:
    """Handler of Remember."""

    partitions: Partitions
    writer: Writer
    models: Models
    metrics: Metrics
    tombstones: Tombstones
    roles: Roles | None = None

    async def __call__(self, request: pb.RememberRequest, call: Call) -> pb.RememberResponse:
        """Store up to 256 memories of one scope, all or nothing."""
        scope = codec.scope(request.scope, call.tenant)
        validate.name(request.request_id, "request_id", bytes_max=REQUEST_ID_BYTES_MAX)
        validate.count(request.memories, "memories", 1, BATCH_COUNT_MAX)
        current = self.models.current
        drafts, pieces = [], call.pieces()
        for i, item in enumerate(request.memories):
            at, dim, fingerprint = f"memories[{i}]", current.dim, current.fingerprint
            drafts.append(codec.draft(item, scope, call, at, dim, fingerprint))
            await pieces.pause()

        timed = [item.memory.HasField("event_time") for item in request.memories]

        async def run(row: StoredRequest | None) -> pb.RememberResponse:
            """The work behind the idempotency check."""
            partition = await self.partitions.open(scope.tenant, scope.user_id, call)
            while True:
                model = partition.index.fingerprint
                embedded = await self._embed(drafts, call, model)
                with contextlib.suppress(ModelChanged):
                    return await self.writer.write(
                        call,
                        partition,
                        lambda change, embedded=embedded, model=model: self._plan(  # type: ignore[misc]
                            change, embedded, timed, call, model
                        ),
                        row,
                    )

        return await self.writer.once(call, METHOD, request, pb.RememberResponse, run)

    async def _embed(self, drafts: list[Draft], call: Call, fingerprint: str) -> list[Draft]:
        """Drafts with whole vectors of the partition's model, also of their cues.

        A part of a vector that a caller did not give stays zero. Given vectors are of the
        configured model: where another one is still searched, the text is embedded instead.
        """
        embedder = self.models.find(fingerprint)
        if embedder is not self.models.current:
            drafts = [Draft(draft.record, None) for draft in drafts]
        if embedder is None:
            standing = self.models.stand_in_for([embedded_text(one.record) for one in drafts])
            return [Draft(one.record, row) for one, row in zip(drafts, standing, strict=True)]
        texts = [embedded_text(draft.record) for draft in drafts if draft.vector is None]
        started_s = call.clock.monotonic_s()
        pending = embedder.submit(
            texts,
            is_query=False,
            owner=call.tenant,
            within_s=EMBED_SHARE_MAX * call.remaining_s(),
        )
        embedded = await call.in_time(pending)
        vectors = iter(embedded)
        cues_of = [draft.record.relevant_when for draft in drafts]
        cues = await embed_cues(embedder, cues_of, call, EMBED_SHARE_MAX)
        self.metrics.stage.labels("embed_write").observe(call.clock.monotonic_s() - started_s)
        whole = np.zeros((len(drafts), embedder.width), np.float32)
        for row, draft in zip(whole, drafts, strict=True):
            vector = next(vectors) if draft.vector is None else draft.vector
            row[: len(vector)] = vector
        return [
            Draft(draft.record, row, own)
            for draft, row, own in zip(drafts, whole, cues, strict=True)
        ]

    async def _plan(
        self, change: Change, drafts: list[Draft], timed: list[bool], call: Call, model: str
    ) -> pb.RememberResponse:
        """Place every memory in turn; later ones see earlier ones.

        Others have their turn between two memories.

        Args:
            change: the plan.
            drafts: what is to be stored.
            timed: of each, whether its writer gave an event time.
            call: the call, which tells what was screened.
            model: fingerprint of the model that made their vectors.

        Raises:
            ModelChanged: the partition has vectors of another one by now.
        """
        change.require_model(model)
        pieces = call.pieces()
        placements: list[Placement | None] = []
        is_current = model == self.models.current.fingerprint
        values = self.roles.values if self.roles is not None and is_current else None
        for draft, has_event_time in zip(drafts, timed, strict=True):
            assert draft.vector is not None
            await pieces.pause()
            if was_purged(self.tombstones, draft.record, has_event_time=has_event_time):
                placements.append(None)
                continue
            placed = place(change, draft.record, draft.vector, values)
            if draft.record.relevant_when and draft.cues is not None:
                change.cues[placed.record.label] = draft.cues
            placements.append(_as_told(placed, change, call))
        response = pb.RememberResponse()
        for index, placement in enumerate(placements):
            await pieces.pause()
            if placement is None:
                response.results.add(outcome=Outcome.REMEMBER_OUTCOME_REJECTED_PURGED)
                self.metrics.outcomes.labels("REJECTED_PURGED").inc()
                continue
            record = change.rows.get(placement.record.label, placement.record)
            response.results.add(
                id=record.id,
                outcome=placement.outcome,
                superseded_ids=placement.superseded_ids,
                conflicting_ids=placement.conflicting_ids,
                etag=codec.etag(record),
                screened=call.screened.told(f"memories[{index}]."),
            )
            self.metrics.outcomes.labels(
                Outcome.Name(placement.outcome).removeprefix("REMEMBER_OUTCOME_")
            ).inc()
        return response


def _as_told(placement: Placement, change: Change, call: Call) -> Placement:
    """What became of a memory, without what its writer may not see."""
    if not (placement.superseded_ids or placement.conflicting_ids):
        return placement
    sees = access.view_of(placement.record.scope, call, placement.record.scope.user_id)

    def seen(ids: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the ids that the writer may see."""
        found = ((one, change.find(one)) for one in ids)
        return tuple(one for one, record in found if record is not None and sees(record))

    superseded, conflicting = seen(placement.superseded_ids), seen(placement.conflicting_ids)
    outcome = placement.outcome
    if outcome == Outcome.REMEMBER_OUTCOME_CONFLICT and not conflicting:
        outcome = Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS
    if outcome == Outcome.REMEMBER_OUTCOME_SUPERSEDED_PREVIOUS and not superseded:
        outcome = Outcome.REMEMBER_OUTCOME_CREATED
    return replace(
        placement, outcome=outcome, superseded_ids=superseded, conflicting_ids=conflicting
    )
