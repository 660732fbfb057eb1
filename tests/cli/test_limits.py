"""The limits that an import checks, against the server that sets them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recalld.cli import limits
from recalld.client import Client, NewMemory, Source, errors
from recalld.client.testing import RunningServer

DAY = timedelta(days=1)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
DEEP: dict[str, Any] = {}
for _ in range(9):
    DEEP = {"a": DEEP}
FITTING_DEEP = DEEP["a"]

# Field at fault, fields of the memory, and the scope where it matters.
REFUSED: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("content", {"content": "x" * 8193}, {}),
    ("content", {"content": "字" * 2731}, {}),
    ("content", {"content": "\u200b \ufeff"}, {}),
    ("content", {"content": "a\x07b"}, {}),
    ("content", {"content": "a\x85b"}, {}),
    ("key", {"key": "k" * 257}, {}),
    ("key", {"key": " \u200b"}, {}),
    ("key", {"key": "a\nb"}, {}),
    ("language", {"language": "e" * 36}, {}),
    ("language", {"language": "english please"}, {}),
    ("event_time", {"event_time": datetime(1850, 1, 1, tzinfo=UTC)}, {}),
    ("valid_from", {"valid_from": datetime(2200, 1, 1, 0, 0, 1, tzinfo=UTC)}, {}),
    ("expire_time", {"expire_time": datetime(2300, 1, 1, tzinfo=UTC)}, {}),
    ("valid_to", {"valid_to": NOON, "valid_from": NOON}, {}),
    ("valid_to", {"valid_to": NOON - DAY, "event_time": NOON}, {}),
    ("valid_to", {"valid_to": datetime(2001, 1, 1, tzinfo=UTC)}, {}),
    ("relevant_when", {"relevant_when": ["cue"] * 9}, {}),
    ("relevant_when[1]", {"relevant_when": ["cue", "c" * 257]}, {}),
    ("relevant_when[0]", {"relevant_when": [" "]}, {}),
    ("source.uri", {"source": Source(uri="u" * 1025)}, {}),
    ("source.session_id", {"source": Source(session_id="s" * 257)}, {}),
    ("source.message_id", {"source": Source(message_id="a\tb")}, {}),
    ("source.turn", {"source": Source(turn=-1)}, {}),
    ("metadata", {"metadata": {"k": "v" * 16384}}, {}),
    ("metadata", {"metadata": {" ": 1}}, {}),
    ("value", {"value": {"k" * 257: 1}}, {}),
    ("value", {"value": DEEP}, {}),
    ("value", {"value": {"a": [{"b": "\x00"}]}}, {}),
    ("confidence", {"confidence": 1.5}, {}),
    ("confidence", {"confidence": float("nan")}, {}),
    ("visibility", {"visibility": "private"}, {}),
    ("user_id", {}, {"user_id": ""}),
    ("user_id", {}, {"user_id": "u" * 257}),
    ("agent_id", {}, {"agent_id": "a\nb"}),
    ("namespace", {}, {"namespace": "n" * 257}),
]
TAKEN: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"content": "x" * 8192}, {}),
    ({"content": "字" * 2729 + "\tab\r\n"}, {}),
    ({"key": "k" * 256}, {}),
    # Three bytes as given, two in the normal form in which keys are compared.
    ({"key": "e\u0301" * 128}, {}),
    ({"language": "zh-Hant-TW"}, {}),
    ({"event_time": datetime(1900, 1, 1, tzinfo=UTC)}, {}),
    ({"expire_time": datetime(2200, 1, 1, tzinfo=UTC)}, {}),
    ({"valid_to": NOON, "event_time": NOON - DAY}, {}),
    ({"relevant_when": ["c" * 256] * 8}, {}),
    ({"source": Source(uri="u" * 1024, turn=2**31 - 1)}, {}),
    ({"metadata": {"k": "v" * (16384 - len('{"k":""}'))}}, {}),
    ({"metadata": {"k": 2**53, "l": 1.0}}, {}),
    ({"value": FITTING_DEEP}, {}),
    ({"confidence": 0.0}, {}),
    ({"visibility": "private"}, {"agent_id": "a"}),
    ({}, {"user_id": "u" * 256, "namespace": "n" * 256}),
]


@pytest.fixture(scope="module")
def reported(real_server: RunningServer) -> Mapping[str, int]:
    """The limits that the server reports."""
    with Client(real_server.target) as client:
        return client.server_info().limits


def stored(server: RunningServer, scope: Mapping[str, str], memory: NewMemory) -> None:
    """Stores a memory without any check of the command line."""
    given: dict[str, Any] = dict(scope)
    with Client(server.target) as client:
        client.remember([memory], **given)


@pytest.mark.parametrize(("field", "fields", "scope"), REFUSED)
def test_what_the_server_refuses_is_found_before(
    real_server: RunningServer,
    reported: Mapping[str, int],
    field: str,
    fields: dict[str, Any],
    scope: dict[str, str],
) -> None:
    """Each memory that the server refuses fails the check, by the same field."""
    whole, memory = {"user_id": "limits", **scope}, NewMemory(**{"content": "x", **fields})
    with pytest.raises(errors.InvalidField) as refused:
        stored(real_server, whole, memory)
    assert field in refused.value.field
    with pytest.raises(ValueError, match=rf"^{field.replace('[', '.')[:20]}"):
        limits.check(whole, memory, reported)


@pytest.mark.parametrize(("fields", "scope"), TAKEN)
def test_what_the_server_takes_passes(
    real_server: RunningServer,
    reported: Mapping[str, int],
    fields: dict[str, Any],
    scope: dict[str, str],
) -> None:
    """Each memory at a limit passes the check and is stored."""
    whole, memory = {"user_id": "limits", **scope}, NewMemory(**{"content": "x", **fields})
    limits.check(whole, memory, reported)
    stored(real_server, whole, memory)


def test_a_limit_that_is_not_reported_is_not_checked() -> None:
    """Without numbers from the server only the rules without a number hold."""
    limits.check({"user_id": "u"}, NewMemory(content="x" * 9000), {})
    with pytest.raises(ValueError, match="content: missing or blank"):
        limits.check({"user_id": "u"}, NewMemory(content=" "), {})


def test_text_that_utf8_cannot_hold_is_refused() -> None:
    """Half of a surrogate pair, which JSON can write, is refused by field."""
    with pytest.raises(ValueError, match="content: not valid Unicode"):
        limits.check({"user_id": "u"}, NewMemory(content="\ud800"), {})
