"""Arguments that cannot be sent are refused by name, before anything is sent, by both clients."""

from __future__ import annotations

import math
from typing import Any

import pytest

from recalld.client import AsyncClient, Client, F, NewMemory, Query, Source, Timeouts, requests
from recalld.v1 import types_pb2

from .conftest import FaultServer, Run

OWN: dict[str, Any] = {}
OWN["again"] = OWN
HALF = "\udcff"

REMEMBER = [
    ("content", None, {}),
    ("content", 5, {}),
    ("content", ["a"], {}),
    ("content", b"abc", {}),
    ("content", NewMemory(content="x"), {}),
    ("content", [NewMemory(content=5)], {}),  # type: ignore[arg-type]
    ("content", HALF, {}),
    ("event_time", "x", {"event_time": "2026-11-30T12:00:00Z"}),
    ("valid_to", "x", {"valid_to": 1.0}),
    ("vector", "x", {"vector": [1e300]}),
    ("vector", "x", {"vector": "abc"}),
    ("vector", "x", {"vector": 5}),
    ("metadata", "x", {"metadata": OWN}),
    ("metadata", "x", {"metadata": 5}),
    ("value", "x", {"value": {"a": [HALF]}}),
    ("value", "x", {"value": {HALF: 1}}),
    ("kind", "x", {"kind": "foo"}),
    ("confidence", "x", {"confidence": "high"}),
    ("source", "x", {"source": "page 5"}),
    ("turn", "x", {"source": Source(turn=10**12)}),
    ("relevant_when", "x", {"relevant_when": "now"}),
    ("relevant_when", "x", {"relevant_when": 5}),
    ("user_id", "x", {"user_id": 5}),
    ("request_id", "x", {"request_id": 5}),
    ("timeout", "x", {"timeout": 0}),
    ("timeout", "x", {"timeout": math.nan}),
    ("timeout", "x", {"timeout": math.inf}),
    ("timeout", "x", {"timeout": "5"}),
]
RECALL = [
    ("k", "x", {"k": 99999999999}),
    ("k", "x", {"k": "5"}),
    ("text", 5, {}),
    ("text", HALF, {}),
    ("kinds", "x", {"kinds": "fact"}),
    ("kinds", "x", {"kinds": ["foo"]}),
    ("context", "x", {"context": [5]}),
    ("weights", "x", {"weights": "abc"}),
    ("channels", "x", {"channels": ["smell"]}),
    ("as_of", "x", {"as_of": "yesterday"}),
    ("filter", "x", {"filter": "allergy"}),
]
OTHERS = [
    ("queries", "batch_recall", ("abc",), {}),
    ("queries", "batch_recall", (None,), {}),
    ("queries", "batch_recall", ([5],), {}),
    ("k", "batch_recall", ([Query(text="x", k=10**12)],), {}),
    ("id", "get", (5,), {}),
    ("ids", "forget", (), {"ids": "abc"}),
    ("key", "forget", (), {"key": 5}),
    ("mode", "forget", (), {"key": "a", "mode": "burn"}),
    ("page_size", "list_page", (), {"page_size": "many"}),
    ("statuses", "list_page", (), {"statuses": "active"}),
    ("used", "report_usage", ("r",), {"used": "abc"}),
    ("user_id", "stats", (5,), {}),
    ("token_budget", "build_context", ("x",), {"token_budget": 10**12}),
]
CALLS = [
    *((name, "remember", (content,), options) for name, content, options in REMEMBER),
    *((name, "recall", (text,), options) for name, text, options in RECALL),
    *OTHERS,
]


@pytest.mark.parametrize(("name", "method", "arguments", "options"), CALLS)
def test_what_cannot_be_sent_is_named(
    fault_server: FaultServer,
    run: Run,
    name: str,
    method: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    """A wrong argument raises an error that starts with its name, and nothing is sent."""
    with pytest.raises((TypeError, ValueError), match=rf"^{name}(\[\d+\])?: "):
        run(fault_server.target, method, *arguments, **options)
    assert list(fault_server.requests) == []


def test_conditions_are_named() -> None:
    """A filter condition with a value of the wrong type names its field."""
    with pytest.raises(TypeError, match=r"^key: "):
        F.key(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^key: "):
        F.key(HALF)
    with pytest.raises(TypeError, match=r"^min_confidence: "):
        F.min_confidence("high")  # type: ignore[arg-type]


@pytest.mark.parametrize("client_class", [Client, AsyncClient])
@pytest.mark.parametrize("target", ["", "localhost", ":7600", "unix:", None])
def test_a_target_has_two_parts(client_class: type, target: Any) -> None:
    """A target that is neither host:port nor unix:/path is refused at once."""
    with pytest.raises(ValueError, match=r"^target: .* is neither host:port nor unix:/path"):
        client_class(target)


def test_deadlines_of_the_client_are_checked() -> None:
    """A deadline of zero is refused where it is used, also when it comes from `timeouts`."""
    with (
        Client(timeouts=Timeouts(recall_s=0.0), user_id="u") as client,
        pytest.raises(ValueError, match=r"^timeout: "),
    ):
        client.recall("x")


def test_a_message_that_fits_is_built_as_it_is() -> None:
    """`build` gives the same message as its class; None stays unset."""
    made = requests.build(types_pb2.Turn, role="user", text="hello", time=None)
    assert made == types_pb2.Turn(role="user", text="hello")
