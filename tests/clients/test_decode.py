"""Results, compared with hand-written wire responses."""

from datetime import UTC, datetime

import pytest
from google.protobuf import duration_pb2, timestamp_pb2

from recalld.client import Band, Kind, Source, Status, decode
from recalld.client.values import AbstainReason, Channel, DropReason, Fusion, Outcome
from recalld.v1 import memory_service_pb2 as memory_pb2
from recalld.v1 import recall_service_pb2 as recall_pb2
from recalld.v1 import types_pb2

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_memory() -> None:
    """Scope is flattened, enums become names, unset times become None, confidence defaults to 1."""
    memory = decode.memory(
        types_pb2.Memory(
            id="m",
            scope=types_pb2.Scope(user_id="u", namespace="n"),
            kind=types_pb2.MEMORY_KIND_STATE,
            content="text",
            source=types_pb2.Source(turn=2),
            event_time=timestamp_pb2.Timestamp(seconds=1796040000),
            status=types_pb2.MEMORY_STATUS_CONFLICTED,
        )
    )
    assert (memory.user_id, memory.namespace, memory.content) == ("u", "n", "text")
    assert (memory.kind, memory.status) == (Kind.STATE, Status.CONFLICTED)
    assert (memory.event_time, memory.expire_time) == (NOON, None)
    assert memory.confidence == 1.0
    assert memory.source == Source(turn=2)
    assert (memory.value, memory.metadata) == (None, None)


def test_confidence_zero_is_not_unset() -> None:
    """A confidence of 0 that was set stays 0."""
    assert decode.memory(types_pb2.Memory(confidence=0.0)).confidence == 0.0


def test_recall() -> None:
    """Hits keep order, score, band and parts; timings are in milliseconds."""
    parts = recall_pb2.ScoreParts(
        channels=[recall_pb2.ChannelScore(channel=3, raw=4.0, normalised=0.5, weight=2.0)],  # type: ignore[arg-type]
        fusion=recall_pb2.FUSION_WEIGHTED,
        bias=-1.0,
        base=0.5,
        decay=0.8,
        importance=1.0,
        confidence=1.0,
    )
    hit = recall_pb2.Hit(
        memory=types_pb2.Memory(id="m"),
        score=0.4,
        band=recall_pb2.CONFIDENCE_BAND_HIGH,
        reasons=["keyword: x"],
        parts=parts,
    )
    result = decode.recall(
        recall_pb2.RecallResponse(
            recall_id="r",
            hits=[hit],
            conflicts=[recall_pb2.Conflict(conflict_group="g", memory_ids=["m", "n"])],
            excluded=[recall_pb2.ExcludedCount(reason=recall_pb2.DROP_REASON_OVER_K, count=3)],
            timings=recall_pb2.Timings(total=duration_pb2.Duration(nanos=1_500_000)),
        )
    )
    (decoded,) = result
    assert (decoded.memory.id, decoded.score, decoded.band) == ("m", 0.4, Band.HIGH)
    assert decoded.parts is not None
    assert decoded.parts.fusion is Fusion.WEIGHTED
    assert (decoded.parts.bias, decoded.parts.base, decoded.parts.decay) == (-1.0, 0.5, 0.8)
    assert decoded.parts.channels[0].channel is Channel.KEYWORD
    assert result.conflicts[0].memory_ids == ("m", "n")
    assert result.excluded == {DropReason.OVER_K: 3}
    assert result.timings_ms == {"total": 1.5}
    assert len(result) == 1


def test_abstained_recall() -> None:
    """An honest nothing has no hits and says why."""
    response = recall_pb2.RecallResponse(abstained=True, abstain_reason=3)  # type: ignore[arg-type]
    result = decode.recall(response)
    assert result.abstained
    assert result.abstain_reason is AbstainReason.BELOW_CUT
    assert list(result) == []


def test_remembered_shortcuts_need_one_result() -> None:
    """`.id` and `.outcome` are those of the only memory; with two they raise."""
    one = memory_pb2.RememberResult(id="m", outcome=memory_pb2.REMEMBER_OUTCOME_REFRESHED)
    written = decode.remembered(memory_pb2.RememberResponse(results=[one], revision=2))
    assert (written.id, written.outcome, written.revision) == ("m", Outcome.REFRESHED, 2)
    both = decode.remembered(memory_pb2.RememberResponse(results=[one, one]))
    with pytest.raises(ValueError, match="2 memories"):
        _ = both.id


def test_context_holds_items_omissions_and_recall() -> None:
    """A context keeps its items in order and says what did not fit."""
    context = decode.context(
        recall_pb2.BuildContextResponse(
            text="t",
            token_count=9,
            items=[recall_pb2.ContextItem(memory_id="m", section=1, text="line", score=0.5)],  # type: ignore[arg-type]
            omitted=[recall_pb2.OmittedItem(memory_id="n", reason=12, token_count=80)],  # type: ignore[arg-type]
            recall=recall_pb2.RecallResponse(recall_id="r"),
        )
    )
    assert [(item.memory_id, item.section) for item in context.items] == [("m", "facts")]
    assert context.omitted[0].reason is DropReason.OVER_BUDGET
    assert context.recall.recall_id == "r"


def test_purge_receipt() -> None:
    """A purge's receipt is decoded; a soft forget has none."""
    receipt = memory_pb2.PurgeReceipt(id="p", row_count=3)
    assert decode.forgotten(memory_pb2.ForgetResponse(count=3, receipt=receipt)).receipt is not None
    assert decode.forgotten(memory_pb2.ForgetResponse(count=3)).receipt is None
