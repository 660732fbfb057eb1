"""Makes the result dataclasses of models.py from wire responses; knows no channel.

Invariants: an unset message is None, a set but unknown enum number is UNSPECIFIED; nothing here
raises on what a newer server may add.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from recalld.client import models, sensitive, values, wiretypes
from recalld.client.inputs import Source
from recalld.v1 import admin_service_pb2 as admin_pb2
from recalld.v1 import memory_service_pb2 as memory_pb2
from recalld.v1 import recall_service_pb2 as recall_pb2
from recalld.v1 import types_pb2

_TIME_FIELDS = (
    "event_time",
    "valid_from",
    "valid_to",
    "create_time",
    "update_time",
    "confirm_time",
    "last_used_time",
    "expire_time",
)


def memory(message: types_pb2.Memory) -> models.Memory:
    """A stored memory."""
    scope = message.scope
    times = {field: wiretypes.to_datetime(message, field) for field in _TIME_FIELDS}
    return models.Memory(
        id=message.id,
        content=message.content,
        kind=values.decode(values.Kind, message.kind),
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=scope.session_id,
        namespace=scope.namespace,
        key=message.key,
        value=wiretypes.to_dict(message, "value"),
        relevant_when=tuple(message.relevant_when),
        importance=values.decode(values.Importance, message.importance),
        confidence=message.confidence if message.HasField("confidence") else 1.0,
        stated_by=values.decode(values.StatedBy, message.stated_by),
        source=_source(message),
        visibility=values.decode(values.Visibility, message.visibility),
        status=values.decode(values.Status, message.status),
        superseded_by=message.superseded_by,
        conflict_group=message.conflict_group,
        access_count=message.access_count,
        language=message.language,
        metadata=wiretypes.to_dict(message, "metadata"),
        key_cardinality=values.decode(values.KeyCardinality, message.key_cardinality),
        etag=message.etag,
        revision=message.revision,
        **times,
    )


def _source(message: types_pb2.Memory) -> Source | None:
    if not message.HasField("source"):
        return None
    source = message.source
    return Source(source.session_id, source.turn, source.message_id, source.uri)


def memory_of(response: Any) -> models.Memory:
    """The memory of a response that holds one."""
    return memory(response.memory)


def remembered(response: memory_pb2.RememberResponse) -> models.Remembered:
    """Answer of Remember."""
    results = tuple(
        models.RememberResult(
            id=result.id,
            outcome=values.decode(values.Outcome, result.outcome),
            superseded_ids=tuple(result.superseded_ids),
            conflicting_ids=tuple(result.conflicting_ids),
            etag=result.etag,
            screened=sensitive.screened(result.screened),
        )
        for result in response.results
    )
    return models.Remembered(results, response.revision)


def resolved(response: memory_pb2.ResolveConflictResponse) -> tuple[models.Memory, ...]:
    """Answer of ResolveConflict."""
    return tuple(memory(message) for message in response.memories)


def page(response: memory_pb2.ListMemoriesResponse) -> models.Page:
    """Answer of ListMemories."""
    memories = tuple(memory(message) for message in response.memories)
    return models.Page(memories, response.next_page_token, response.total_size)


def key_entry(entry: memory_pb2.KeyEntry) -> models.KeyEntry:
    """One key in use."""
    kind = values.decode(values.Kind, entry.kind)
    newest = wiretypes.to_datetime(entry, "newest_time")
    return models.KeyEntry(entry.key, kind, entry.count, newest)


def forgotten(response: memory_pb2.ForgetResponse) -> models.Forgotten:
    """Answer of Forget."""
    receipt = None
    if response.HasField("receipt"):
        receipt = models.PurgeReceipt(
            id=response.receipt.id,
            time=wiretypes.to_datetime(response.receipt, "time"),
            row_count=response.receipt.row_count,
            snapshot_count=response.receipt.snapshot_count,
            verified_file_count=response.receipt.verified_file_count,
        )
    return models.Forgotten(response.count, tuple(response.ids), response.revision, receipt)


def revision(response: Any) -> int:
    """The revision of a write."""
    return int(response.revision)


def score_parts(message: recall_pb2.ScoreParts) -> models.ScoreParts:
    """The parts of a score."""
    return models.ScoreParts(
        channels=tuple(
            models.ChannelScore(
                values.decode(values.Channel, score.channel),
                score.raw,
                score.normalised,
                score.weight,
            )
            for score in message.channels
        ),
        fusion=values.decode(values.Fusion, message.fusion),
        bias=message.bias,
        base=message.base,
        decay=message.decay,
        importance=message.importance,
        confidence=message.confidence,
    )


def hit(message: recall_pb2.Hit) -> models.Hit:
    """One recalled memory."""
    parts = score_parts(message.parts) if message.HasField("parts") else None
    band = values.decode(values.Band, message.band)
    return models.Hit(memory(message.memory), message.score, band, tuple(message.reasons), parts)


def excluded(counts: Iterable[recall_pb2.ExcludedCount]) -> dict[values.DropReason, int]:
    """What was left out, by reason."""
    return {values.decode(values.DropReason, entry.reason): entry.count for entry in counts}


def recall(response: recall_pb2.RecallResponse) -> models.RecallResult:
    """Answer of Recall."""
    return models.RecallResult(
        recall_id=response.recall_id,
        hits=tuple(hit(message) for message in response.hits),
        abstained=response.abstained,
        abstain_reason=values.decode(values.AbstainReason, response.abstain_reason),
        conflicts=tuple(
            models.Conflict(conflict.conflict_group, tuple(conflict.memory_ids))
            for conflict in response.conflicts
        ),
        revision=response.revision,
        degraded=tuple(response.degraded),
        situation=response.situation,
        excluded=excluded(response.excluded),
        timings_ms={
            part.name: spent.ToTimedelta().total_seconds() * 1000.0
            for part, spent in response.timings.ListFields()
        },
    )


def batch_recall(response: recall_pb2.BatchRecallResponse) -> tuple[models.RecallResult, ...]:
    """Answer of BatchRecall."""
    return tuple(recall(part) for part in response.responses)


def context(response: recall_pb2.BuildContextResponse) -> models.Context:
    """Answer of BuildContext."""
    items = tuple(
        models.ContextItem(
            memory_id=item.memory_id,
            section=values.decode(values.ContextSection, item.section),
            text=item.text,
            token_count=item.token_count,
            score=item.score,
            band=values.decode(values.Band, item.band),
        )
        for item in response.items
    )
    omitted = tuple(
        models.OmittedItem(
            item.memory_id, values.decode(values.DropReason, item.reason), item.token_count
        )
        for item in response.omitted
    )
    return models.Context(
        text=response.text,
        token_count=response.token_count,
        tokenizer=response.tokenizer,
        items=items,
        omitted=omitted,
        complete=response.complete,
        recall=recall(response.recall),
    )


def server_info(response: admin_pb2.GetServerInfoResponse) -> models.ServerInfo:
    """Answer of GetServerInfo."""
    return models.ServerInfo(
        version=response.version,
        api_revision=response.api_revision,
        capabilities=frozenset(response.capabilities),
        limits={limit.name: limit.value for limit in response.limits},
        embedder_name=response.embedder.name,
        embedder_fingerprint=response.embedder.fingerprint,
        dimension=response.embedder.dimension,
        tokenizers=tuple(response.tokenizers),
        start_time=wiretypes.to_datetime(response, "start_time"),
        test_clock=response.test_clock,
        reembedding=_reembedding(response),
    )


def _reembedding(response: admin_pb2.GetServerInfoResponse) -> models.Reembedding | None:
    if not response.HasField("reembedding"):
        return None
    told = response.reembedding
    return models.Reembedding(
        memory_count=told.memory_count,
        memories_left=told.memories_left,
        users_left=told.users_left,
        users_held_back=told.users_held_back,
    )


def stats(response: admin_pb2.GetStatsResponse) -> models.Stats:
    """Answer of GetStats."""
    return models.Stats(
        memory_count=response.memory_count,
        statuses={
            values.decode(values.Status, entry.status): entry.count for entry in response.statuses
        },
        kinds={values.decode(values.Kind, entry.kind): entry.count for entry in response.kinds},
        user_count=response.user_count,
        revision=response.revision,
        data_bytes=response.data_bytes,
        rss_bytes=response.rss_bytes,
        uptime_s=response.uptime.ToTimedelta().total_seconds(),
    )
