"""Runs clients/cases.json, the cases of all clients, through the Python client.

The proto3 JSON mapping is done by protobuf; sending, deadlines, retries and typed errors are the
client's (`Client.call`).
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format, message_factory

from recalld.client import Client, RecalldError
from recalld.client.errors import Unsupported
from recalld.client.testing import RunningServer
from recalld.v1 import (
    admin_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)

CASES = json.loads((Path(__file__).parents[2] / "clients" / "cases.json").read_text("utf-8"))
MODULES = (memory_service_pb2, recall_service_pb2, session_service_pb2, admin_service_pb2)
REQUEST_CLASSES = {
    f"{service.name}/{rpc.name}": message_factory.GetMessageClass(rpc.input_type)
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for rpc in service.methods
}
PRESENT = "$present"


def fill(template: Any, saved: dict[str, str]) -> Any:
    """The template with saved values in place of their names."""
    match template:
        case dict():
            return {key: fill(value, saved) for key, value in template.items()}
        case list():
            return [fill(value, saved) for value in template]
        case str() if template.startswith("$") and template != PRESENT:
            name = next(
                name for name in sorted(saved, reverse=True) if template[1:].startswith(name)
            )
            return saved[name] + template[1 + len(name) :]
    return template


def difference(expected: Any, actual: Any, path: str = "") -> str:
    """Where the answer does not contain what is expected; empty: it does."""
    if expected == PRESENT:
        return "" if actual else f"{path}: nothing"
    if isinstance(expected, dict) and isinstance(actual, dict):
        parts = (difference(v, actual.get(k), f"{path}.{k}") for k, v in expected.items())
        return next((part for part in parts if part), "")
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        parts = (difference(e, a, f"{path}[{i}]") for i, (e, a) in pairs)
        return next((part for part in parts if part), "")
    return "" if expected == actual else f"{path}: {actual!r} instead of {expected!r}"


def at_path(answer: Any, path: str) -> Any:
    for part in path.split("."):
        answer = answer[int(part)] if part.isdigit() else answer[part]
    return answer


def run_step(client: Client, step: dict[str, Any], saved: dict[str, str]) -> None:
    request = REQUEST_CLASSES[step["call"]]()
    json_format.ParseDict(fill(step["request"], saved), request)
    if "error" in step:
        with pytest.raises(RecalldError) as caught:
            client.call(step["call"], request)
        error = caught.value
        actual = {"code": error.code, "reason": error.reason, "field": error.field}
        assert {name: actual[name] for name in step["error"]} == step["error"]
        return
    reply = client.call(step["call"], request)
    answer = json_format.MessageToDict(reply, always_print_fields_with_no_presence=True)
    assert difference(fill(step.get("response", {}), saved), answer) == ""
    saved.update({name: at_path(answer, path) for name, path in step.get("save", {}).items()})


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_case(case: dict[str, Any], real_server: RunningServer) -> None:
    """Each case of the shared file holds for the Python client."""
    saved = {"user": f"{case['name']}-{uuid.uuid4().hex[:8]}"}
    with Client(real_server.target) as client:
        try:
            for step in case["steps"]:
                run_step(client, step, saved)
        except Unsupported:
            if not case.get("optional"):
                raise
            pytest.skip("this server does not offer the call")


@pytest.mark.parametrize(
    ("expected", "actual", "fault"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, ""),
        ({"a": 1}, {"b": 2}, ".a: None instead of 1"),
        ([1], [1, 2], ": [1, 2] instead of [1]"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ".a[0].b: 2 instead of 1"),
        (PRESENT, "", ": nothing"),
        (PRESENT, "x", ""),
    ],
)
def test_difference(expected: Any, actual: Any, fault: str) -> None:
    """The comparison itself finds each sort of difference."""
    assert difference(expected, actual) == fault
