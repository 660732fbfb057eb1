"""Requests, compared with hand-written wire messages."""

from datetime import UTC, datetime

import pytest
from google.protobuf import field_mask_pb2, struct_pb2, timestamp_pb2

from recalld.client import F, NewMemory, Query, Source, Turn, requests
from recalld.v1 import memory_service_pb2 as memory_pb2
from recalld.v1 import recall_service_pb2 as recall_pb2
from recalld.v1 import types_pb2

SCOPE = types_pb2.Scope(user_id="u")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOON_WIRE = timestamp_pb2.Timestamp(seconds=1796040000)


def test_memory_with_content_only_sets_nothing_else() -> None:
    """What the caller left out is unset on the wire, so that the server's default holds."""
    request = requests.remember(SCOPE, [NewMemory(content="text")])
    expected = memory_pb2.RememberRequest(
        scope=SCOPE, memories=[memory_pb2.MemoryInput(memory=types_pb2.Memory(content="text"))]
    )
    assert request == expected
    assert not request.memories[0].memory.HasField("confidence")


def test_all_fields_of_a_memory() -> None:
    """Each field of a new memory lands in the wire field of the same name."""
    memory = NewMemory(
        content="text",
        kind="preference",
        key="reply_style",
        value={"form": "short"},
        relevant_when=["writing"],
        importance="pinned",
        confidence=0.0,
        stated_by="tool",
        source=Source("s", 3, "m", "uri"),
        visibility="private",
        event_time=NOON,
        valid_from=NOON,
        valid_to=NOON,
        expire_time=NOON,
        language="en",
        metadata={"a": 1},
        key_cardinality="many",
        vector=[1.0],
        vector_fingerprint="f",
    )
    value, metadata = struct_pb2.Struct(), struct_pb2.Struct()
    value["form"] = "short"
    metadata["a"] = 1
    expected = types_pb2.Memory(
        content="text",
        kind=types_pb2.MEMORY_KIND_PREFERENCE,
        key="reply_style",
        value=value,
        relevant_when=["writing"],
        importance=types_pb2.IMPORTANCE_PINNED,
        confidence=0.0,
        stated_by=types_pb2.STATED_BY_TOOL,
        source=types_pb2.Source(session_id="s", turn=3, message_id="m", uri="uri"),
        visibility=types_pb2.VISIBILITY_PRIVATE,
        event_time=NOON_WIRE,
        valid_from=NOON_WIRE,
        valid_to=NOON_WIRE,
        expire_time=NOON_WIRE,
        language="en",
        metadata=metadata,
        key_cardinality=types_pb2.KEY_CARDINALITY_MANY,
    )
    (written,) = requests.remember(SCOPE, [memory]).memories
    assert written.memory == expected
    assert written.memory.HasField("confidence")
    assert (written.vector.float32_le, written.vector_fingerprint) == (b"\x00\x00\x80?", "f")


def test_update_masks_what_was_given() -> None:
    """The mask names the given fields; None is masked and unset, which clears the field."""
    request = requests.update(SCOPE, "m", {"key": "k", "valid_to": None}, "e")
    expected = memory_pb2.UpdateMemoryRequest(
        memory=types_pb2.Memory(id="m", scope=SCOPE, key="k"),
        update_mask=field_mask_pb2.FieldMask(paths=["key", "valid_to"]),
        etag="e",
    )
    assert request == expected


def test_update_needs_known_fields() -> None:
    """An update without a field, or with an unknown one, raises."""
    with pytest.raises(ValueError, match="no field to change"):
        requests.update(SCOPE, "m", {}, "")
    with pytest.raises(TypeError, match="'colour'"):
        requests.update(SCOPE, "m", {"colour": "red"}, "")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ids": ["a"]}, {"ids": memory_pb2.IdSet(ids=["a"])}),
        ({"key": "k"}, {"key": "k"}),
        ({"content": "c"}, {"content": "c"}),
        ({"all_memories": True}, {"all": True}),
    ],
)
def test_forget_selectors(given: dict, expected: dict) -> None:
    """Each selector fills its own member of the oneof."""
    request = requests.forget(SCOPE, mode="purge", dry_run=True, **given)
    assert request == memory_pb2.ForgetRequest(
        scope=SCOPE, mode=memory_pb2.FORGET_MODE_PURGE, dry_run=True, **expected
    )


@pytest.mark.parametrize("given", [{}, {"ids": ["a"], "key": "k"}, {"all_memories": False}])
def test_forget_needs_exactly_one_selector(given: dict) -> None:
    """No selector, two, or `all_memories=False` raise: nothing is ever forgotten by accident."""
    with pytest.raises(ValueError, match="exactly one of"):
        requests.forget(SCOPE, **given)


def test_lone_string_is_no_list() -> None:
    """A string where a list is meant raises instead of counting as letters."""
    with pytest.raises(ValueError, match="ids: give a list"):
        requests.forget(SCOPE, ids="abc")
    with pytest.raises(ValueError, match="kinds: give a list"):
        requests.recall(SCOPE, Query(text="x", kinds="fact"))


def test_recall_with_everything() -> None:
    """Each field of a query lands in the wire field of the same name."""
    query = Query(
        text="snack",
        context=["hello", Turn("hi", role="assistant", time=NOON)],
        k=7,
        filter=F.key("allergy"),
        kinds=["fact"],
        as_of=NOON,
        known_at=NOON,
        include_superseded=True,
        min_score=0.0,
        min_revision=9,
        shared_user_ids=["team"],
        channels=["vector"],
        weights={"keyword": 0.5},
        fusion="rrf",
        explain=True,
        now=NOON,
    )
    condition = types_pb2.Condition(key=types_pb2.StringSet(values=["allergy"]))
    expected = recall_pb2.RecallRequest(
        scope=SCOPE,
        text="snack",
        context=[
            types_pb2.Turn(role="user", text="hello"),
            types_pb2.Turn(role="assistant", text="hi", time=NOON_WIRE),
        ],
        k=7,
        filter=types_pb2.Filter(must=[condition]),
        kinds=[types_pb2.MEMORY_KIND_FACT],
        as_of=NOON_WIRE,
        known_at=NOON_WIRE,
        include_superseded=True,
        min_score=0.0,
        min_revision=9,
        shared_user_ids=["team"],
        channels=[recall_pb2.CHANNEL_VECTOR],
        weights=[recall_pb2.ChannelWeight(channel=recall_pb2.CHANNEL_KEYWORD, weight=0.5)],
        fusion=recall_pb2.FUSION_RRF,
        explain=True,
        now=NOON_WIRE,
    )
    assert requests.recall(SCOPE, query) == expected


def test_recall_takes_one_query() -> None:
    """Text and memory_id together raise."""
    with pytest.raises(ValueError, match="only one of text and memory_id"):
        requests.recall(SCOPE, Query(text="x", memory_id="m"))


def test_get_takes_id_or_key() -> None:
    """Neither or both raise."""
    with pytest.raises(ValueError, match="either id or key"):
        requests.get(SCOPE, None, None)
    with pytest.raises(ValueError, match="either id or key"):
        requests.get(SCOPE, "a", "b")
