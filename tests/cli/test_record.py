"""The JSONL record, both ways."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.cli import record
from recalld.client import Kind, Memory, Source, decode, requests

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
TIMES = st.none() | st.datetimes(
    datetime(1900, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC)
)
MEMORIES = st.builds(
    Memory,
    id=st.just(""),
    content=TEXT.filter(str.strip),
    kind=st.sampled_from(["fact", "preference", "event"]).map(Kind),
    user_id=TEXT,
    namespace=st.just("") | TEXT,
    key=st.just("") | TEXT,
    value=st.none() | st.dictionaries(TEXT, st.integers(-9, 9) | TEXT, max_size=2),
    relevant_when=st.lists(TEXT, max_size=2).map(tuple),
    confidence=st.floats(0.0, 1.0),
    source=st.none() | st.builds(Source, session_id=TEXT, turn=st.integers(0, 9)),
    event_time=TIMES,
    expire_time=TIMES,
    metadata=st.none() | st.dictionaries(TEXT, TEXT, max_size=2),
)


@given(MEMORIES)
def test_what_is_dumped_is_parsed_back(memory: Memory) -> None:
    """A memory written as a line and read again is the same memory, field by field."""
    parsed = record.parse(record.dump(memory))
    fields = {name: getattr(parsed.memory, name) for name in requests.MEMORY_FIELDS}
    wire = requests.memory_message(fields)
    back = decode.memory(wire)
    for name in record.FIELDS:
        if name in record.SCOPE_FIELDS:
            assert parsed.scope.get(name, "") == getattr(memory, name)
        else:
            expected = getattr(memory, name)
            given_default = name in record.DEFAULTS and name not in json.loads(record.dump(memory))
            assert given_default or getattr(back, name) == expected


def test_all_fields_are_read() -> None:
    """Each field of the format lands in the memory or its scope; seconds are times, too."""
    line = {
        "content": "text",
        "kind": "state",
        "key": "k",
        "value": {"a": 1},
        "importance": "low",
        "confidence": 0.5,
        "stated_by": "tool",
        "event_time": "2026-11-30T20:00:00+08:00",
        "valid_from": 1796040000,
        "valid_to": 1796040000.5,
        "expire_time": "2026-11-30T12:00:00Z",
        "user_id": "u",
        "agent_id": "a",
        "session_id": "s",
        "namespace": "n",
        "source": {"uri": "doc", "turn": 2},
        "metadata": {"b": None},
        "relevant_when": ["now"],
        "language": "en",
        "visibility": "private",
        "key_cardinality": "many",
    }
    assert set(line) == set(record.FIELDS)
    parsed = record.parse(json.dumps(line))
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert parsed.scope == {"user_id": "u", "agent_id": "a", "session_id": "s", "namespace": "n"}
    assert parsed.memory.event_time == parsed.memory.valid_from == parsed.memory.expire_time == noon
    assert parsed.memory.valid_to == noon.replace(microsecond=500_000)
    assert parsed.memory.source == Source(uri="doc", turn=2)
    assert parsed.memory.metadata == {"b": None}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("nonsense", "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", "content: missing or blank"),
        ('{"content": "  "}', "content: missing or blank"),
        ('{"content": 3}', "content: not a string"),
        ('{"content": "x", "knd": "fact"}', "unknown field 'knd'"),
        ('{"content": "x", "kind": "feeling"}', "kind: 'feeling' is none of"),
        ('{"content": "x", "value": [1]}', "value: not an object"),
        ('{"content": "x", "value": {"a": NaN}}', "value: JSON has no form for nan"),
        ('{"content": "x", "confidence": "high"}', "confidence: not a number"),
        ('{"content": "x", "relevant_when": "now"}', "relevant_when: not a list"),
        ('{"content": "x", "event_time": "2026-11-30T12:00:00"}', "event_time: .* no timezone"),
        ('{"content": "x", "event_time": "soon"}', "event_time: 'soon' is neither"),
        ('{"content": "x", "event_time": true}', "event_time: True is neither"),
        ('{"content": "x", "source": {"url": "u"}}', "source: unknown field 'url'"),
        ('{"content": "x", "source": {"turn": "2"}}', "source.turn: not a whole number"),
        ('{"content": "x", "source": {"uri": 2}}', "source.uri: not a string"),
    ],
)
def test_a_bad_line_says_what_is_wrong(line: str, fault: str) -> None:
    """A line that is no record raises ValueError with the field and the fault."""
    with pytest.raises(ValueError, match=fault):
        record.parse(line)


def test_the_documents_list_the_fields() -> None:
    """The table of the format in the operations guide names every field and no other."""
    guide = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text(encoding="utf-8")
    section = guide.split("\n## Import\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(record.FIELDS)
    (example,) = re.findall(r"```json\n(.*)\n```", section)
    assert record.parse(example).memory.key == "location.home"
