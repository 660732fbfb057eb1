"""Forget with the mode PURGE: nothing of the memories stays, and they do not come back.

Commit -> withdraw from index, caches and traces -> erase bytes -> receipt. After the commit nothing
shows the memories any more; the answer is given when the bytes are gone, too. What a crash or a
full disk leaves undone is done at the next start, or when the call is repeated.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from recalld.server import conflicts, doubts, times
from recalld.server.call import Call
from recalld.server.change import Change
from recalld.server.encoded import EncodedMemories
from recalld.server.indexing import embedded_text
from recalld.server.keeping import Eraser
from recalld.server.limits import FORGET_ID_COUNT_MAX
from recalld.server.models import Models
from recalld.server.partition import Partition
from recalld.server.pieces import Pieces
from recalld.server.textless import TEXTLESS_METHODS
from recalld.server.traces import Traces
from recalld.server.writer import Writer
from recalld.storage.erase import Example, spread
from recalld.storage.errors import EraseFailed
from recalld.storage.purge import PurgeOrder, StoredPurge
from recalld.storage.record import MemoryRecord, StatedBy, Status
from recalld.storage.store import BATCH_ROW_COUNT_MAX, Store, StoredRequest
from recalld.storage.tombstones import Tombstones
from recalld.v1 import memory_service_pb2 as pb

PART_ROW_COUNT_MAX = BATCH_ROW_COUNT_MAX // 2
"""Memories purged in one commit, unless it is all of a user: each may free others."""
Check = Callable[[Sequence[MemoryRecord]], None]


@dataclass(frozen=True)
class Purge:
    """The part of Forget that purges.

    Attributes:
        examples: memories of purges whose bytes have not been erased yet, to search for.
        tasks: erasing that goes on though its caller may be gone.
    """

    store: Store
    writer: Writer
    models: Models
    traces: Traces
    encoded: EncodedMemories
    eraser: Eraser
    examples: list[Example] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def commit(
        self,
        partition: Partition,
        chosen: Sequence[MemoryRecord],
        is_whole_user: bool,
        check: Check,
        call: Call,
        row: StoredRequest | None,
    ) -> pb.ForgetResponse:
        """Remove the chosen memories from everything that answers; their bytes come later.

        Args:
            partition: of the user.
            chosen: what to purge.
            is_whole_user: everything of the user; also what is not here must not come back.
            check: refuses, under the partition's lock, what must not be purged.
            call: the call.
            row: of the request id; the last commit keeps the answer under it.

        Returns:
            The answer, its receipt with the id of the purge and the count only.
        """
        purge_id = uuid.uuid4().hex
        left = [record.label for record in chosen]
        step = len(left) if is_whole_user else PART_ROW_COUNT_MAX
        gone: list[MemoryRecord] = []
        pieces = call.pieces()

        async def plan(change: Change) -> pb.ForgetResponse:
            """The next part, answered with all parts so far."""
            if is_whole_user:  # Also what was stored since it was chosen.
                part = list(partition.records.values())
            else:
                part = [partition.records[n] for n in left[:step] if n in partition.records]
            check(part)
            order = PurgeOrder(
                id=purge_id,
                user_id=partition.user_id,
                time_us=change.now_us,
                records=tuple(part),
                is_whole_user=is_whole_user,
                textless_methods=TEXTLESS_METHODS,
            )
            if not is_whole_user:
                await _release(change, part, pieces)
            change.purge(order)
            self._note(partition, part, is_last=len(left) <= step)
            del left[:step]
            gone.extend(part)
            return pb.ForgetResponse(
                count=len(gone),
                ids=[record.id for record in gone[:FORGET_ID_COUNT_MAX]],
                receipt=pb.PurgeReceipt(id=purge_id, row_count=len(gone)),
            )

        while len(left) > step:
            await self.writer.write(call, partition, plan, None)
        response = await self.writer.write(call, partition, plan, row)
        await self._let_go(partition, gone, pieces)
        return response

    async def _let_go(
        self, partition: Partition, gone: Sequence[MemoryRecord], pieces: Pieces
    ) -> None:
        """Drop what caches and traces in memory hold of purged memories."""
        async for some in pieces.slices(gone):
            texts = [(embedded_text(one), one.content, *one.relevant_when) for one in some]
            self.models.discard(list(chain.from_iterable(texts)))
            self.encoded.discard([one.label for one in some])
        await self.traces.forget_user(partition.tenant, partition.user_id)

    async def receipt(self, tenant: str, purge_id: str) -> pb.PurgeReceipt:
        """The receipt of a committed purge, complete.

        The erasing goes on when the caller goes away.

        Raises:
            EraseFailed, CopyFailed, OSError: some bytes are not known to be gone.
        """
        purge = await asyncio.to_thread(self.store.purges.find, tenant, purge_id)
        if purge is not None and not purge.complete_time_us:
            examples = list(self.examples)
            task = asyncio.create_task(self.eraser.erase(examples))
            self.tasks.add(task)
            task.add_done_callback(self._settled)
            await asyncio.shield(task)
            # Those that came meanwhile are searched for by a later run.
            del self.examples[: len(examples)]
            purge = await asyncio.to_thread(self.store.purges.find, tenant, purge_id)
        if purge is None or not purge.complete_time_us:
            raise EraseFailed(f"purge {purge_id} is not complete; repeat the call")
        return _receipt(purge)

    def _settled(self, task: asyncio.Task[None]) -> None:
        """Let go of a task; its error is looked at, whoever still waits for it."""
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()

    def _note(self, partition: Partition, part: Sequence[MemoryRecord], *, is_last: bool) -> None:
        """Keep examples of what goes: of the parts of a large purge the last one's."""
        records = [part[place] for place in spread(len(part))] if is_last else []
        vectors = partition.index.vectors_of([record.label for record in records])
        self.examples.extend(
            Example(record.content, vector.tobytes())
            for record, vector in zip(records, vectors, strict=True)
        )


async def _release(change: Change, part: Sequence[MemoryRecord], pieces: Pieces) -> None:
    """Free what memories that go had outweighed, as for a soft forget."""
    for record in part:
        change.edit(record, status=Status.FORGOTTEN)
    for group in sorted({record.conflict_group for record in part} - {""}):
        conflicts.close_up(change, group)
    await doubts.release(change, {record.id for record in part}, pieces)
    await doubts.lead_on(change, part, pieces)


def was_purged(tombstones: Tombstones, record: MemoryRecord, *, has_event_time: bool) -> bool:
    """Whether a memory that is written says what was purged before it was said.

    What is said after the purge is new. What was said before, as its event time tells, or as an
    import whose time nobody knows, is the purged memory coming back.

    Args:
        tombstones: of the store.
        record: about to be stored, its event time filled in.
        has_event_time: whether the writer gave the event time.
    """
    value = tombstones.hasher.of_value(record.scope, record.key, record.content_hash)
    purge_us = tombstones.time_us(value)
    if purge_us is None:
        return False
    if has_event_time:
        return record.event_time_us <= purge_us
    return record.stated_by == StatedBy.IMPORT


def _receipt(purge: StoredPurge) -> pb.PurgeReceipt:
    return pb.PurgeReceipt(
        id=purge.id,
        time=times.to_wire(purge.complete_time_us),
        row_count=purge.row_count,
        snapshot_count=purge.snapshot_count,
        verified_file_count=purge.verified_file_count,
    )
