"""Where the texts of a request are: one table of fields, and the walk through a message.

A request that the table does not name holds no text that is kept. Identities (the scope) are not in
it: they are the caller's own names, and replacing them would join strangers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value

from recalld.server.limits import STRUCT_BYTES_MAX

WHOLE_NUMBER_MAX = 2**53
"""Whole numbers below are exact; above they are not the digits that were sent."""


class Role(Enum):
    """What a field of a message is."""

    TEXT = "what somebody said; sensitive parts are replaced"
    NAME = "compared with others; refused instead, since a replaced name would be another's"
    SELECTOR = "chooses memories by their text; replaced as theirs was"
    STRUCT = "free data: its values are TEXT, its names NAME"
    MESSAGES = "messages of this table"


FIELDS: dict[str, dict[str, Role]] = {
    "RememberRequest": {"memories": Role.MESSAGES, "request_id": Role.NAME},
    "IngestRequest": {"memories": Role.MESSAGES, "request_id": Role.NAME},
    "UpdateMemoryRequest": {"memory": Role.MESSAGES, "request_id": Role.NAME},
    "ForgetRequest": {"content": Role.SELECTOR, "request_id": Role.NAME},
    "ResolveConflictRequest": {"request_id": Role.NAME},
    "ReportUsageRequest": {"request_id": Role.NAME},
    "AppendTurnsRequest": {"turns": Role.MESSAGES, "request_id": Role.NAME},
    "PutWorkingItemRequest": {"item": Role.MESSAGES, "request_id": Role.NAME},
    "CloseSessionRequest": {"request_id": Role.NAME},
    "LinkIdentityRequest": {"request_id": Role.NAME},
    "MemoryInput": {"memory": Role.MESSAGES},
    "Memory": {
        "key": Role.NAME,
        "content": Role.TEXT,
        "value": Role.STRUCT,
        "metadata": Role.STRUCT,
        "relevant_when": Role.TEXT,
        "source": Role.MESSAGES,
    },
    "Source": {"session_id": Role.TEXT, "message_id": Role.TEXT, "uri": Role.TEXT},
    "Turn": {"text": Role.TEXT, "message_id": Role.TEXT},
    "WorkingItem": {"name": Role.NAME, "content": Role.TEXT, "value": Role.STRUCT},
}
"""Every field of a write whose text is kept, by message of `recalld.v1`."""

NAMED_BY = {"Memory": "key", "WorkingItem": "name"}
"""The field that says what the texts of a message are about."""


@dataclass(frozen=True, slots=True)
class Place:
    """One text of a request.

    Attributes:
        path: in the request.
        text: what it holds.
        role: TEXT, NAME or SELECTOR.
        name: what the text is the value of, such as a key; "" = nothing in particular.
        owner, at: the message and its field, a repeated field and an index, or a Value and None.
        free_path: of the free data that it stands in; "" = in none.
    """

    path: str
    text: str
    role: Role
    name: str
    owner: Any
    at: str | int | None = None
    free_path: str = ""

    @property
    def told_path(self) -> str:
        """The path without names of free data: they are text, and an answer may be kept."""
        return self.free_path or self.path

    def put(self, text: str) -> None:
        """Put another text here."""
        if self.at is None:
            self.owner.string_value = text
        elif isinstance(self.at, int):
            self.owner[self.at] = text
        else:
            setattr(self.owner, self.at, text)


def is_screened(request: Message) -> bool:
    """Whether a request holds text that is kept."""
    return request.DESCRIPTOR.name in FIELDS


def user_of(request: Any) -> str:
    """Whose request it is: UpdateMemory says it in its memory; "" where only names are screened."""
    known = request.DESCRIPTOR.fields_by_name
    held = request.memory if "memory" in known else request
    return str(held.scope.user_id) if "scope" in held.DESCRIPTOR.fields_by_name else ""


def places_of(request: Message) -> Iterator[Place]:
    """Every text of a request; those over every limit are left out, since they are refused."""
    for place in _places(request, ""):
        if 0 < len(place.text) <= STRUCT_BYTES_MAX:
            yield place


def _places(message: Message, prefix: str) -> Iterator[Place]:
    """Texts of a message that stands at a path."""
    name = message.DESCRIPTOR.name
    about = getattr(message, NAMED_BY[name]) if name in NAMED_BY else ""
    for field, role in FIELDS[name].items():
        value = getattr(message, field)
        path = f"{prefix}{field}"
        if isinstance(value, str):
            is_named = role is Role.TEXT
            yield Place(path, value, role, about if is_named else "", message, field)
        elif role is Role.STRUCT:
            if message.HasField(field):
                yield from (replace(place, free_path=path) for place in _struct(value, path, about))
        elif isinstance(value, Message):
            if message.HasField(field):
                yield from _places(value, f"{path}.")
        elif role is Role.MESSAGES:
            for index, item in enumerate(value):
                yield from _places(item, f"{path}[{index}].")
        else:
            for index, text in enumerate(value):
                yield Place(f"{path}[{index}]", text, role, about, value, index)


def _struct(struct: Struct, path: str, about: str) -> Iterator[Place]:
    """Names and values of free data."""
    for key, value in struct.fields.items():
        yield Place(f"{path} key", key, Role.NAME, "", None)
        yield from _value(value, f"{path}.{key}", key or about)


def _value(value: Value, path: str, about: str) -> Iterator[Place]:
    """Texts of one value; a whole number is as good as its digits."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        yield Place(path, value.string_value, Role.TEXT, about, value)
    elif kind == "number_value":
        number = value.number_value
        if number.is_integer() and abs(number) < WHOLE_NUMBER_MAX:
            yield Place(path, str(int(number)), Role.TEXT, about, value)
    elif kind == "struct_value":
        yield from _struct(value.struct_value, path, about)
    elif kind == "list_value":
        items: ListValue = value.list_value
        for index, item in enumerate(items.values):
            yield from _value(item, f"{path}[{index}]", about)
