"""A new statement held against the nearest older ones: said again, outdated, or contradicted.

Vectors say which statements are near; how one stands to the other says a trained judge of pairs
(`recalld.index.judge`), then plain words, which `claim_pairs` reads; for models that have no judge,
words alone. It never deletes and never supersedes: words and vectors can mislead, so the older
statement only counts for less (`superseded_by` names the newer one) or both are marked as
contradicting. A few neighbours are looked at. What is decided is stored: a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.judge import Judge, Stand
from recalld.index.nearest import nearest
from recalld.server import conflicts
from recalld.server.change import Change
from recalld.server.claim_pairs import Features, features, is_denied, is_same, may_differ
from recalld.server.claims import DENIES, TELLS
from recalld.server.ended import is_ended
from recalld.server.partition import CURRENT, TOPIC_KINDS, slot_of
from recalld.server.pieces import Pieces
from recalld.server.precedence import holds_now, rank
from recalld.server.states import read, stand_of
from recalld.server.subjects import are_apart
from recalld.server.word_odds import (
    LIKELY,
    TOLD_MIN,
    TOLD_SHARE_MIN,
    contradicted,
    nearness,
    outdated,
)
from recalld.storage.record import Importance, Kind, MemoryRecord, Status

NEIGHBOUR_COUNT = 8
"""Statements that one is held against. What it replaces is nearly always its nearest neighbour."""
TWIN_COSINE_MIN = 0.85
TWIN_SPREADS_MIN = 4.0
"""Nearness of two wordings of one thing: above both, since models differ in their background."""
TOPIC_SPREADS_MIN = 1.5
"""Nearness below which two statements are not of one thing, whatever the judge makes of them: one
true update in fifty lies farther apart."""
NAMED_SPREADS_MIN = 2.25
"""Nearness from which homes and employers are compared: a name alone does not tell a town ("moved
to Kiel", 2.4) from what else one moves to ("moved to Kubernetes", 1.6)."""
OUTDATED_MIN, PROTECTED_MIN, CONTRADICTED_MIN = 0.5, 0.7, 0.7
"""Probabilities of the judge from which a mark is set; on lines kept out of its training 86, 93 and
89 of a hundred such marks are right. What is keyed or important needs the second."""
Neighbours = list[tuple[MemoryRecord, float]]


@dataclass(frozen=True, slots=True)
class Found:
    """Ids of what a statement contradicts, and of what it makes doubtful."""

    contradicted: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def twin_of(change: Change, record: MemoryRecord, near: Neighbours) -> MemoryRecord | None:
    """The current record that says the same in other words, or None.

    Occurrences are never folded: the same words at another time are another event.
    """
    if record.kind in TOPIC_KINDS:
        return None
    scale = change.partition.index.scale
    least = max(TWIN_COSINE_MIN, scale.mean + TWIN_SPREADS_MIN * scale.spread)
    for other, cosine in near:
        equal = (other.kind, other.key, other.value_json) == (
            record.kind,
            record.key,
            record.value_json,
        )
        if cosine > least and equal and is_same(change.claim(other), change.claim(record)):
            return other if other.status == Status.ACTIVE and not other.superseded_by else None
    return None


def weigh(change: Change, record: MemoryRecord, near: Neighbours) -> Found:
    """Hold a planned row against its neighbours, and plan the marks that follow.

    Args:
        change: the plan; `record` is in it.
        record: ACTIVE.
        near: its neighbours; those that the same call has replaced since are passed over.
    """
    held: Neighbours = []
    scale = change.partition.index.scale
    for found, cosine in near:
        if cosine < scale.mean + TOPIC_SPREADS_MIN * scale.spread:
            continue
        other = change.rows.get(found.label, found)
        is_event = _in_order(other, record)[0].kind in TOPIC_KINDS
        if holds_now(other, change.now_us) and not _is_rival(other, record) and not is_event:
            held.append((other, cosine))
    judge = change.partition.judge
    return (
        _by_words(change, record, held) if judge is None else _judged(change, record, held, judge)
    )


def _judged(change: Change, record: MemoryRecord, held: Neighbours, judge: Judge) -> Found:
    """Mark what the judge is sure of: all that is outdated, else the worst contradiction."""
    if not held:
        return Found()
    dim = change.partition.index.dim
    pairs = [_in_order(other, record) for other, _ in held]
    vectors = change.vectors_of(one.label for pair in pairs for one in pair)
    older, newer = (np.stack([vectors[pair[n].label][:dim] for pair in pairs]) for n in (0, 1))
    shares, mine = judge.compare(older, newer), change.claim(record)
    contradicted_ids: tuple[str, ...] = ()
    outdated_ids: tuple[str, ...] = ()
    for (other, _), (earlier, _), share in zip(held, pairs, shares, strict=True):
        least = PROTECTED_MIN if is_protected(earlier) else OUTDATED_MIN
        if share[Stand.UPDATE] >= least and not are_apart(change.claim(other), mine):
            marked = _doubt(change, record, other)
            contradicted_ids += marked.contradicted
            outdated_ids += marked.outdated
    if contradicted_ids or outdated_ids:
        return Found(contradicted_ids, outdated_ids)
    if (told := _told(change, record, held)) is not None:
        return _doubt(change, record, told)
    if (stated := _stated(change, record, held)) is not None:
        return stated
    if (denied := _denied(change, record, held)) is not None:
        return _oppose(change, record, denied)
    opposed = shares[:, Stand.CONTRADICTION]
    for place in np.argsort(-opposed, kind="stable")[: int((opposed >= CONTRADICTED_MIN).sum())]:
        if not are_apart(change.claim(held[place][0]), mine):
            return _oppose(change, record, held[place][0])
    return Found()


def _told(change: Change, record: MemoryRecord, held: Neighbours) -> MemoryRecord | None:
    """The nearest neighbour that a plain word of a change is about, or None."""
    for other, cosine in held:
        older, newer = _in_order(other, record)
        if is_protected(older) or not may_differ(change.signs(older), change.signs(newer)):
            continue
        earlier, later = change.claim(older), change.claim(newer)
        pair = features(earlier, later, nearness(cosine, change.partition.index.scale))
        is_told = pair.share >= TOLD_SHARE_MIN and outdated(pair) >= TOLD_MIN
        tells = change.signs(newer) & TELLS
        is_told = is_told or (tells > 0 and is_ended(earlier, later))
        if is_told and not are_apart(earlier, later):
            return other
    return None


def _stated(change: Change, record: MemoryRecord, held: Neighbours) -> Found | None:
    """Mark the nearest neighbour that names another state of a sort that has one at a time."""
    if (mine := read(change.claim(record))) is None:
        return None
    scale = change.partition.index.scale
    for other, cosine in held:
        older, newer = _in_order(other, record)
        its = None if is_protected(older) or newer.key else read(change.claim(other))
        if its is None:
            continue
        pair = (its, mine) if newer is record else (mine, its)
        is_near = cosine >= scale.mean + NAMED_SPREADS_MIN * scale.spread
        stand = stand_of(*pair, is_near=is_near)
        if stand is not Stand.APART:
            mark = _doubt if stand is Stand.UPDATE else _oppose
            return mark(change, record, other)
    return None


def _denied(change: Change, record: MemoryRecord, held: Neighbours) -> MemoryRecord | None:
    """The nearest neighbour that says the same but for a denial, or None."""
    for other, _ in held:
        denies = (change.signs(other) ^ change.signs(record)) & DENIES
        pair = change.claim(other), change.claim(record)
        if denies and is_denied(*pair) and not are_apart(*pair):
            return other
    return None


def _by_words(change: Change, record: MemoryRecord, held: Neighbours) -> Found:
    """Mark the likeliest pair by its words."""
    if (told := _told(change, record, held)) is not None:
        return _doubt(change, record, told)
    if (stated := _stated(change, record, held)) is not None:
        return stated
    best: dict[Callable[[Features], float], tuple[float, MemoryRecord]] = {}
    for other, cosine in held:
        older, newer = _in_order(other, record)
        if not may_differ(change.signs(older), change.signs(newer)):
            continue
        earlier, later = change.claim(older), change.claim(newer)
        if are_apart(earlier, later):
            continue
        pair = features(earlier, later, nearness(cosine, change.partition.index.scale))
        for judge in (contradicted,) if is_protected(older) else (outdated, contradicted):
            if judge(pair) > best.get(judge, (LIKELY, other))[0]:
                best[judge] = (judge(pair), other)
    if outdated in best and best[outdated][0] >= best.get(contradicted, (0.0,))[0]:
        return _doubt(change, record, best[outdated][1])
    if contradicted in best:
        return _oppose(change, record, best[contradicted][1])
    return Found()


def is_protected(record: MemoryRecord) -> bool:
    """Whether it takes more to call it outdated: its slot decides, or too much hangs on it."""
    return bool(record.key) or record.importance in (Importance.HIGH, Importance.PINNED)


def _in_order(other: MemoryRecord, record: MemoryRecord) -> tuple[MemoryRecord, MemoryRecord]:
    """The older and the newer of two records."""
    is_earlier = (record.event_time_us, record.label) < (other.event_time_us, other.label)
    return (record, other) if is_earlier else (other, record)


def _is_rival(other: MemoryRecord, record: MemoryRecord) -> bool:
    """Whether their slot decides between two records already."""
    if not record.key or record.key != other.key:
        return False
    slot = slot_of(record)
    return slot is not None and slot == slot_of(other)


def _doubt(change: Change, record: MemoryRecord, other: MemoryRecord) -> Found:
    """Mark the older one as possibly outdated; a weaker speaker's word only as contradicting."""
    older, newer = _in_order(other, record)
    if rank(newer) < rank(older):
        return _oppose(change, record, other)
    if older.superseded_by:
        return Found()
    change.edit(older, superseded_by=newer.id)
    return Found(outdated=(other.id,))


def _oppose(change: Change, record: MemoryRecord, other: MemoryRecord) -> Found:
    """Mark two statements as contradicting each other; events happened and contradict nothing."""
    pair = [change.rows.get(r.label, r) for r in (other, record)]
    if any(r.kind in TOPIC_KINDS or r.superseded_by for r in pair):
        return Found()
    conflicts.oppose(change, pair)
    return Found(contradicted=(other.id,))


async def release(change: Change, ids: set[str], pieces: Pieces) -> None:
    """Free what forgotten statements had outweighed."""
    for other in await change.replaced_by(ids, pieces):
        if other.status in CURRENT and not other.conflict_group:
            change.edit(other, superseded_by="")


async def lead_on(change: Change, gone: Sequence[MemoryRecord], pieces: Pieces) -> None:
    """What was replaced by memories that go for good names what replaced those, if that stays.

    So it keeps its heir (`recalld.index.heirs`): what stands for it today is not lost with a step
    in between. Where nothing followed it names nothing, and stays history.
    """
    next_of = {record.id: record.superseded_by for record in gone}
    for other in await change.replaced_by(next_of, pieces):
        heir, steps = other.superseded_by, len(next_of)
        while heir in next_of and steps:
            heir, steps = next_of[heir], steps - 1
        stays = heir not in next_of and change.partition.label_of(heir) is not None
        if other.id not in next_of:
            change.edit(other, superseded_by=heir if stays else "")


def neighbours(change: Change, record: MemoryRecord, vector: NDArray[np.float32]) -> Neighbours:
    """Current records near a vector with their cosines, nearest first, this call's own included.

    At most NEIGHBOUR_COUNT, and only such as the same readers see: of the same agent, namespace and
    visibility.
    """
    index = change.partition.index
    found = dict(nearest(index.generation, vector, NEIGHBOUR_COUNT)) | change.cosines(vector)
    where = _readers(record)
    near = []
    for cosine, label in sorted(zip(found.values(), found, strict=True), reverse=True):
        other = change.rows.get(label) or change.partition.records.get(label)
        if (
            other is not None
            and label != record.label
            and other.kind != Kind.DOCUMENT
            and _readers(other) == where
            and holds_now(other, change.now_us)
        ):
            near.append((other, cosine))
            if len(near) == NEIGHBOUR_COUNT:
                break
    return near


def _readers(record: MemoryRecord) -> tuple[object, ...]:
    """Who reads a record, and within what."""
    return (record.scope.agent_id, record.scope.namespace, record.visibility)
