"""Bad requests to a real server: refused by field, and nothing is stored."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct, Value

from recalld.v1 import admin_service_pb2, recall_service_pb2, types_pb2
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import (
    NOW_US,
    condition,
    memory,
    must,
    remember_request,
    scope,
    timestamp,
)
from tests.server.stubs import Refusal, Stubs, refusal_of

DIM = 256
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def require_refused(refusal: Refusal, field: str, limit: str) -> None:
    """The refusal names the field, and the limit or what is wrong."""
    assert refusal.code == INVALID, refusal
    assert refusal.fields == [field], refusal
    assert limit in refusal.problems[0], refusal
    assert refusal.domain == "recalld"


def deep(levels: int) -> Struct:
    """An object nested so deep."""
    value = Value(bool_value=True)
    for _ in range(levels - 1):
        value = Value(struct_value=Struct(fields={"k": value}))
    return Struct(fields={"k": value})


def nan_object() -> Struct:
    """An object with a number that JSON does not have."""
    return Struct(fields={"n": Value(number_value=math.nan)})


def big_object() -> Struct:
    """An object one byte over the limit."""
    return Struct(fields={"k": Value(string_value="v" * (16384 - len('{"k":""}') + 1))})


AT = "memories[0].memory"
BAD_MEMORIES: list[tuple[dict[str, Any], str, str]] = [
    ({"content": ""}, f"{AT}.content", "blank"),
    ({"content": " \u3000\u200b"}, f"{AT}.content", "blank"),
    ({"content": "字" * 2731}, f"{AT}.content", "8192"),
    ({"content": "a\x00b"}, f"{AT}.content", "U+0000"),
    ({"content": "a\x1b[2Jb"}, f"{AT}.content", "U+001B"),
    ({"key": "a\nb"}, f"{AT}.key", "control"),
    ({"key": "k" * 257}, f"{AT}.key", "256"),
    ({"confidence": math.nan}, f"{AT}.confidence", "0 to 1"),
    ({"confidence": math.inf}, f"{AT}.confidence", "0 to 1"),
    ({"event_time": -2_208_988_800_000_001}, f"{AT}.event_time", "1900 to 2200"),
    ({"expire_time": 7_258_118_400_000_001}, f"{AT}.expire_time", "1900 to 2200"),
    ({"valid_from": 5, "valid_to": 5}, f"{AT}.valid_to", "after"),
    ({"relevant_when": ["c"] * 9}, f"{AT}.relevant_when", "8"),
    ({"source": types_pb2.Source(turn=-1)}, f"{AT}.source.turn", "0"),
]
BAD_OBJECTS = [
    (big_object(), "", "16384"),
    (deep(9), "." + ".".join("k" * 9), "8 levels"),
    (nan_object(), ".n", "finite"),
]


@pytest.fixture
def unchanged(stubs: Stubs, user: str) -> Iterator[None]:
    """Whatever a test sends, the user's memories and the revision stay as they were."""
    stubs.memory.Remember(remember_request(user, memory("likes tea", key="drink")))
    before = stubs.state(user)
    yield
    assert stubs.state(user) == before


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("fields", "field", "limit"), BAD_MEMORIES)
def test_bad_memories(
    stubs: Stubs, user: str, fields: dict[str, Any], field: str, limit: str
) -> None:
    """A bad field of a memory is refused by its path and limit, with all the rest of its batch."""
    request = remember_request(user, memory(**{"content": "x", **fields}), memory("fine"))
    require_refused(refusal_of(stubs.memory.Remember, request), field, limit)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("given", "tail", "limit"), BAD_OBJECTS)
@pytest.mark.parametrize("name", ["metadata", "value"])
def test_bad_objects(
    stubs: Stubs, user: str, given: Struct, tail: str, limit: str, name: str
) -> None:
    """Metadata and values that are too big, too deep or not JSON are refused."""
    made = memory("x")
    getattr(made, name).CopyFrom(given)
    refusal = refusal_of(stubs.memory.Remember, remember_request(user, made))
    require_refused(refusal, f"{AT}.{name}{tail}", limit)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("count", [0, 257])
def test_batch_sizes(stubs: Stubs, user: str, count: int) -> None:
    """A batch holds 1 to 256 memories."""
    request = remember_request(user, *[memory(f"m{n}") for n in range(count)])
    require_refused(refusal_of(stubs.memory.Remember, request), "memories", "1 to 256")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("user_id", ["", " ", "\u200b", "a\x00", "u" * 257])
def test_bad_users(stubs: Stubs, user_id: str) -> None:
    """Every call that needs a user refuses one that is empty, blank, controlled or too long."""
    where = types_pb2.Scope(user_id=user_id)
    recall = recall_service_pb2.RecallRequest(scope=where, text="x")
    calls = [
        (stubs.memory.Remember, pb.RememberRequest(scope=where), "scope"),
        (stubs.memory.GetMemory, pb.GetMemoryRequest(scope=where, id="x"), "scope"),
        (stubs.memory.ListMemories, pb.ListMemoriesRequest(scope=where), "scope"),
        (stubs.memory.ListKeys, pb.ListKeysRequest(scope=where), "scope"),
        (
            stubs.memory.UpdateMemory,
            pb.UpdateMemoryRequest(memory=types_pb2.Memory(scope=where)),
            "memory.scope",
        ),
        (stubs.memory.Forget, pb.ForgetRequest(scope=where, all=True), "scope"),
        (stubs.recall.Recall, recall, "scope"),
        (
            stubs.recall.BatchRecall,
            recall_service_pb2.BatchRecallRequest(requests=[recall]),
            "requests[0].scope",
        ),
        (
            stubs.recall.BuildContext,
            recall_service_pb2.BuildContextRequest(recall=recall),
            "recall.scope",
        ),
        (stubs.admin.GetStats, admin_service_pb2.GetStatsRequest(scope=where), "scope"),
    ]
    for call, request, path in calls:
        refusal = refusal_of(call, request)
        assert (refusal.code, refusal.fields) == (INVALID, [f"{path}.user_id"])
    export = pb.ExportMemoriesRequest(scope=where)
    refusal = refusal_of(lambda r, **kw: [*stubs.memory.ExportMemories(r, **kw)], export)
    assert (refusal.code, refusal.fields) == (INVALID, ["scope.user_id"])


BAD_VECTORS: list[tuple[list[float], str]] = [
    ([math.nan] + [1.0] * (DIM - 1), "finite"),
    ([math.inf] + [1.0] * (DIM - 1), "finite"),
    ([0.0] * DIM, "zero"),
    ([1.0] * (DIM - 1), str(DIM)),
    ([1.0] * (DIM + 1), str(DIM)),
    ([], str(DIM)),
]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("values", "limit"), BAD_VECTORS)
@pytest.mark.parametrize("form", ["floats", "bytes"])
def test_bad_vectors(stubs: Stubs, user: str, values: list[float], limit: str, form: str) -> None:
    """NaN, infinite, zero and wrong-width vectors are refused, in reads and writes."""
    if form == "floats":
        vector = types_pb2.Vector(floats=types_pb2.FloatVector(values=values))
    else:
        vector = types_pb2.Vector(float32_le=struct.pack(f"<{len(values)}f", *values))
    asked = recall_service_pb2.RecallRequest(scope=scope(user), vector=vector)
    require_refused(refusal_of(stubs.recall.Recall, asked), "vector", limit)
    request = remember_request(user, memory("x"))
    info = stubs.admin.GetServerInfo(admin_service_pb2.GetServerInfoRequest())
    assert info.embedder.dimension == DIM
    request.memories[0].vector.CopyFrom(vector)
    request.memories[0].vector_fingerprint = info.embedder.fingerprint
    require_refused(refusal_of(stubs.memory.Remember, request), "memories[0].vector", limit)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("k", [0, -1, 1_000_000_000])
def test_bad_k(stubs: Stubs, user: str, k: int) -> None:
    """A number of hits outside 1 to 200 is refused."""
    request = recall_service_pb2.RecallRequest(scope=scope(user), text="tea", k=k)
    require_refused(refusal_of(stubs.recall.Recall, request), "k", "1 to 200")


def span(start: int, end: int) -> types_pb2.TimeRange:
    """A time range."""
    return types_pb2.TimeRange(**{"from": timestamp(start), "to": timestamp(end)})


BAD_FILTERS = [
    (must(*[condition(min_confidence=0)] * 33), "filter", "32"),
    (must(condition(kind={})), "filter.must[0].kind.values", "1 to 256"),
    (must(condition(key={})), "filter.must[0].key.values", "1 to 256"),
    (must(condition(event_time=span(NOW_US, NOW_US))), "filter.must[0].event_time", "after"),
    (must(condition(event_time=span(NOW_US, 1))), "filter.must[0].event_time", "after"),
]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(("given", "field", "limit"), BAD_FILTERS)
def test_bad_filters(
    stubs: Stubs, user: str, given: types_pb2.Filter, field: str, limit: str
) -> None:
    """A filter that is too long, empty or contradictory is refused by every call that takes one."""
    recall = recall_service_pb2.RecallRequest(scope=scope(user), filter=given)
    listing = pb.ListMemoriesRequest(scope=scope(user), filter=given)
    forget = pb.ForgetRequest(scope=scope(user), filter=given)
    export = pb.ExportMemoriesRequest(scope=scope(user), filter=given)
    for call, request in (
        (stubs.recall.Recall, recall),
        (stubs.memory.ListMemories, listing),
        (stubs.memory.Forget, forget),
        (lambda r, **kw: [*stubs.memory.ExportMemories(r, **kw)], export),
    ):
        require_refused(refusal_of(call, request), field, limit)


def test_bad_pages(stubs: Stubs, user: str) -> None:
    """An unknown token, another request's token and a negative size are refused."""
    stubs.memory.Remember(remember_request(user, memory("a"), memory("b")))
    listing = pb.ListMemoriesRequest(scope=scope(user), page_size=1)
    token = stubs.memory.ListMemories(listing).next_page_token
    assert token
    for bad in (
        pb.ListMemoriesRequest(scope=scope(user), page_token="unknown"),
        pb.ListMemoriesRequest(scope=scope(f"{user}-b"), page_token=token),
    ):
        refusal = refusal_of(stubs.memory.ListMemories, bad)
        require_refused(refusal, "page_token", "is")
        assert refusal.reason == "INVALID_PAGE_TOKEN"
    negative = pb.ListMemoriesRequest(scope=scope(user), page_size=-1)
    require_refused(refusal_of(stubs.memory.ListMemories, negative), "page_size", "negative")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("method", "body", "field"),
    [
        ("MemoryService/Remember", b"\x0a\x04\x0a\x02\xc3\x28", "scope.user_id"),
        ("MemoryService/Remember", b"\x1a\x02\xc3\x28", "request_id"),
        ("MemoryService/Forget", b"\x1a\x02\xff\xfe", "key"),
        ("RecallService/Recall", b"\x12\x01\x80", "text"),
        ("RecallService/Recall", b"\x72\x01\x80", "shared_user_ids[0]"),
        ("RecallService/Recall", b"\x12\x7f", "request"),
    ],
)
def test_bytes(stubs: Stubs, method: str, body: bytes, field: str) -> None:
    """Text that is not UTF-8 is refused by its field, and bytes that are no message as such."""
    refusal = refusal_of(stubs.raw, method, body)
    assert (refusal.code, refusal.fields) == (INVALID, [field])


def test_unknown_user(stubs: Stubs, user: str) -> None:
    """A user of whom nothing is known has an empty answer, not an error."""
    before = stubs.state(user)
    recall = recall_service_pb2.RecallRequest(scope=scope(user), text="tea")
    answer = stubs.recall.Recall(recall)
    assert (answer.abstained, list(answer.hits)) == (True, [])
    asked = recall_service_pb2.BuildContextRequest(recall=recall)
    assert stubs.recall.BuildContext(asked).text == ""
    assert not stubs.memory.ListMemories(pb.ListMemoriesRequest(scope=scope(user))).memories
    assert not stubs.memory.ListKeys(pb.ListKeysRequest(scope=scope(user))).keys
    assert [*stubs.memory.ExportMemories(pb.ExportMemoriesRequest(scope=scope(user)))] == []
    assert stubs.state(user) == before == (0, before[1])
