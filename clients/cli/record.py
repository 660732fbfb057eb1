"""The JSONL record that `import` reads and `export` writes: one memory a line.

Fields: content (required), kind, key, value, importance, confidence, stated_by, event_time
(RFC 3339 with a timezone, or seconds since 1970), valid_from, valid_to, expire_time, user_id,
agent_id, session_id, namespace, source {session_id, turn, message_id, uri}, metadata,
relevant_when, language, visibility, key_cardinality. An unknown field is an error, so that a
misspelt one never loses data. What `export` writes, `import` takes back unchanged.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recalld.cli import output, texts
from recalld.client import Memory, NewMemory, Source
from recalld.client.requests import memory_message

SCOPE_FIELDS = ("user_id", "agent_id", "session_id", "namespace")
TIME_FIELDS = ("event_time", "valid_from", "valid_to", "expire_time")
TEXT_FIELDS = (
    *SCOPE_FIELDS,
    "content",
    "kind",
    "key",
    "importance",
    "stated_by",
    "language",
    "visibility",
    "key_cardinality",
)
OBJECT_FIELDS = ("value", "metadata", "source")
FIELDS = (*TEXT_FIELDS, *TIME_FIELDS, *OBJECT_FIELDS, "confidence", "relevant_when")
# What the server fills in when it is left out: written only where it says something.
DEFAULTS: Mapping[str, Any] = {
    "kind": "fact",
    "importance": "medium",
    "confidence": 1.0,
    "stated_by": "user",
    "visibility": "shared",
}


@dataclass(frozen=True, slots=True)
class Record:
    """A memory to store, and the scope that its line names."""

    scope: dict[str, str]
    memory: NewMemory


def parse(line: str) -> Record:
    """Reads one line.

    Raises:
        ValueError: If the line is no record; the message names the field and the fault.
    """
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    unknown = sorted(set(record) - set(FIELDS))
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}")
    given = {name: value for name, value in record.items() if value is not None}
    _check_types(given)
    if not given.get("content", "").strip():
        raise ValueError("content: missing or blank")
    for name in TIME_FIELDS:
        if name in given:
            given[name] = texts.parse_time(name, given[name], local=False)
    if "source" in given:
        given["source"] = _source(given["source"])
    scope = {name: given.pop(name) for name in SCOPE_FIELDS if name in given}
    # Checks names such as kind and importance now, so that a bad line is found before any write.
    memory_message(given)
    return Record(scope, NewMemory(**given))


def _check_types(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name in TEXT_FIELDS and not isinstance(value, str):
            raise ValueError(f"{name}: not a string")
        if name in OBJECT_FIELDS and not isinstance(value, dict):
            raise ValueError(f"{name}: not an object")
    confidence = given.get("confidence", 1.0)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise ValueError("confidence: not a number")
    cues = given.get("relevant_when", [])
    if not isinstance(cues, list) or not all(isinstance(cue, str) for cue in cues):
        raise ValueError("relevant_when: not a list of strings")


def _source(given: dict[str, Any]) -> Source:
    unknown = sorted(set(given) - {field.name for field in dataclasses.fields(Source)})
    if unknown:
        raise ValueError(f"source: unknown field {unknown[0]!r}")
    turn = given.get("turn", 0)
    if isinstance(turn, bool) or not isinstance(turn, int):
        raise ValueError("source.turn: not a whole number")
    for name, value in given.items():
        if name != "turn" and not isinstance(value, str):
            raise ValueError(f"source.{name}: not a string")
    return Source(**given)


def dump(memory: Memory) -> str:
    """The line of one memory; fields at the server's default are left out."""
    record: dict[str, Any] = {}
    for name in FIELDS:
        value = output.plain(getattr(memory, name))
        if value in (None, "", "unspecified", []) or value == DEFAULTS.get(name):
            continue
        record[name] = value
    return json.dumps(record, ensure_ascii=False)
