"""The table of fields, held against the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from recalld.server.limits import STRUCT_BYTES_MAX
from recalld.server.screened_places import FIELDS, Role, is_screened, places_of, user_of
from recalld.server.services import SERVICES
from recalld.v1 import admin_service_pb2, memory_service_pb2, session_service_pb2, types_pb2

# Texts that are not screened, and why.
IDENTITIES = {"user_id", "agent_id", "session_id", "namespace", "alias_user_ids"}
CHOSEN_BY_THE_SERVER = {"id", "ids", "etag", "superseded_by", "conflict_group", "winner_id"}
CHECKED_BY_FORM = {"language", "role", "vector_fingerprint", "recall_id", "used", "corrected"}
NOT_KEPT = {"key", "filter", "paths"}
"""Of a request itself: what it is compared with. The key of a memory is screened."""

WRITES = [
    method.input_type
    for service, _ in SERVICES
    for method in service.methods
    if "request_id" in method.input_type.fields_by_name
]


def texts(message: Descriptor) -> Iterator[FieldDescriptor]:
    """Fields of a message that may hold text."""
    for field in message.fields:
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
            yield field


def undecided(message: Descriptor, seen: set[str]) -> Iterator[str]:
    """Text fields of a write that are neither screened nor known to need no screening."""
    if message.name in seen:
        return
    seen.add(message.name)
    known = IDENTITIES | CHOSEN_BY_THE_SERVER | CHECKED_BY_FORM | NOT_KEPT
    for field in texts(message):
        role = FIELDS.get(message.name, {}).get(field.name)
        inner = field.message_type
        if inner is not None and inner.file.package == "recalld.v1":
            if inner.name not in ("Scope", "Filter", "Vector", "IdSet"):
                if role is not Role.MESSAGES:
                    yield f"{message.name}.{field.name}"
                yield from undecided(inner, seen)
        elif inner is not None and inner.name != "Struct":
            continue
        elif role is None and field.name not in known:
            yield f"{message.name}.{field.name}"


@pytest.mark.parametrize("request_type", WRITES, ids=lambda each: each.name)
def test_every_text_of_a_write_is_decided(request_type: Descriptor) -> None:
    """Each text that a write may leave behind is screened, or is known to need no screening."""
    assert list(undecided(request_type, set())) == []
    assert is_screened(GetMessageClass(request_type)())


def test_the_table_names_fields_of_the_contract() -> None:
    """Every entry is a field, and of a kind that its role can treat."""
    files = (memory_service_pb2, session_service_pb2, admin_service_pb2, types_pb2)
    known = {n: m for file in files for n, m in file.DESCRIPTOR.message_types_by_name.items()}
    known["ReportUsageRequest"] = next(m for m in WRITES if m.name == "ReportUsageRequest")
    for name, fields in FIELDS.items():
        for field, role in fields.items():
            kind = known[name].fields_by_name[field].type
            is_message = kind == FieldDescriptor.TYPE_MESSAGE
            assert is_message == (role in (Role.STRUCT, Role.MESSAGES)), (name, field)


def test_every_text_of_a_memory_is_a_place() -> None:
    """Content, key, value, metadata, cues and source come with their paths and what names them."""
    request = memory_service_pb2.RememberRequest(request_id="r")
    memory = request.memories.add().memory
    memory.key, memory.content = "contact", "c"
    memory.relevant_when.extend(["w0", "w1"])
    memory.source.uri = "u"
    memory.value.update({"phone": 13800138000, "deep": {"list": ["x", 1.5, True]}})
    at = "memories[0].memory"
    found = sorted((place.path, place.text, place.name) for place in places_of(request))
    assert found == sorted(
        [
            ("request_id", "r", ""),
            (f"{at}.key", "contact", ""),
            (f"{at}.content", "c", "contact"),
            (f"{at}.relevant_when[0]", "w0", "contact"),
            (f"{at}.relevant_when[1]", "w1", "contact"),
            (f"{at}.source.uri", "u", ""),
            (f"{at}.value key", "phone", ""),
            (f"{at}.value.phone", "13800138000", "phone"),
            (f"{at}.value key", "deep", ""),
            (f"{at}.value.deep key", "list", ""),
            (f"{at}.value.deep.list[0]", "x", "list"),
        ]
    )


def test_every_place_can_be_changed() -> None:
    """What is put into a place stands in the message, a number as text."""
    request = memory_service_pb2.UpdateMemoryRequest()
    request.memory.content = "c"
    request.memory.relevant_when.append("w")
    request.memory.metadata.update({"a": 1, "b": ["t"]})
    for place in places_of(request):
        if place.role is Role.TEXT:
            place.put("new")
    assert request.memory.content == request.memory.relevant_when[0] == "new"
    assert dict(request.memory.metadata)["a"] == "new"
    assert list(request.memory.metadata["b"]) == ["new"]


def test_texts_over_every_limit_are_left_out() -> None:
    """A text that is refused for its length anyway is not looked through."""
    request = memory_service_pb2.UpdateMemoryRequest()
    request.memory.content = "x" * (STRUCT_BYTES_MAX + 1)
    assert list(places_of(request)) == []


def test_the_user_of_a_request() -> None:
    """It stands in the scope, or in the scope of the memory, or nowhere."""
    scope = types_pb2.Scope(user_id="ann")
    assert user_of(memory_service_pb2.RememberRequest(scope=scope)) == "ann"
    memory = types_pb2.Memory(scope=scope)
    assert user_of(memory_service_pb2.UpdateMemoryRequest(memory=memory)) == "ann"
    assert user_of(admin_service_pb2.LinkIdentityRequest(user_id="ann")) == ""
