"""Enum numbers that no enum has, in every enum field of every request, to a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import recall_service_pb2, types_pb2
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs, refusal_of

INVALID = grpc.StatusCode.INVALID_ARGUMENT
IGNORED_ENUMS = {"status"}
"""Output only in what a caller sends."""


def enum_paths(message: Message, descriptor: Descriptor, path: str = "") -> Iterator[str]:
    """Path of every enum field that a request can hold, list items at place 0."""
    for field in descriptor.fields:
        here = f"{path}{field.name}" + ("[0]" if field.is_repeated else "")
        if field.type == FieldDescriptor.TYPE_ENUM and field.name not in IGNORED_ENUMS:
            yield here
        inner = field.message_type
        if inner is not None and inner.full_name.startswith("recalld."):
            yield from enum_paths(message, inner, f"{here}.")


def with_bad_enum(base: Message, path: str) -> Message:
    """A copy of a request whose enum at a path has a number that the enum does not have."""
    made = type(base)()
    made.CopyFrom(base)
    target: Any = made
    *steps, last = path.split(".")
    for step in steps:
        name, _, place = step.partition("[")
        value = getattr(target, name)
        if place:
            target = value[0] if len(value) else value.add()
        else:
            value.SetInParent()
            target = value
    name, _, place = last.partition("[")
    if place:
        del getattr(target, name)[:]
        getattr(target, name).append(99)
    else:
        setattr(target, name, 99)
    return made


def enum_cases() -> list[tuple[str, Message, str]]:
    """Method, valid request and enum path, for every request that is offered."""
    where = scope("somebody")
    recall = recall_service_pb2.RecallRequest(scope=where, text="x")
    updated = types_pb2.Memory(scope=where, id="x", content="y")
    bases = {
        "MemoryService/Remember": remember_request("somebody", memory("x")),
        "MemoryService/ListMemories": pb.ListMemoriesRequest(scope=where),
        "MemoryService/ExportMemories": pb.ExportMemoriesRequest(scope=where),
        "MemoryService/UpdateMemory": pb.UpdateMemoryRequest(memory=updated),
        "MemoryService/Forget": pb.ForgetRequest(scope=where, all=True),
        "RecallService/Recall": recall,
        "RecallService/BatchRecall": recall_service_pb2.BatchRecallRequest(requests=[recall]),
        "RecallService/BuildContext": recall_service_pb2.BuildContextRequest(recall=recall),
    }
    return [
        (method, base, path)
        for method, base in bases.items()
        for path in enum_paths(base, base.DESCRIPTOR)
    ]


def test_every_enum_field(stubs: Stubs) -> None:
    """An unknown number in any enum field of any request is refused by the field."""
    owner = remember_request("somebody", memory("x"))
    memory_id = stubs.memory.Remember(owner).results[0].id
    before = stubs.state("somebody")
    cases = enum_cases()
    assert len(cases) > 40
    for method, base, path in cases:
        request: Any = with_bad_enum(base, path)
        if method.endswith("UpdateMemory"):
            request.memory.id = memory_id
        call = stubs.channel.unary_stream if "Export" in method else stubs.channel.unary_unary
        multi = call(f"/recalld.v1.{method}", request_serializer=type(base).SerializeToString)
        if "Export" in method:
            refusal = refusal_of(lambda r, m=multi, **kw: [*m(r, **kw)], request)
        else:
            refusal = refusal_of(multi, request)
        assert refusal.code == INVALID, (method, path, refusal)
        name = path.removesuffix("[0]").removesuffix(".values")
        assert refusal.fields[0].startswith(name.rpartition("[0]")[0]), (method, path, refusal)
        assert name.split(".")[-1] in refusal.fields[0], (method, path, refusal)
    assert stubs.state("somebody") == before
