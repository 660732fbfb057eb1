"""What the index is told of a record."""

from __future__ import annotations

import dataclasses
from datetime import UTC

from recalld.server.indexing import embedded_text, index_row, key_words
from recalld.storage.record import MemoryRecord, Scope, Source, Status

RECORD = MemoryRecord(
    label=3,
    id="f" * 32,
    scope=Scope("t", "u", "agent", "session", "a/b"),
    kind=2,
    content="likes tea",
    key="drink.hot_one",
    metadata_json='{"a":{"b":1}}',
    importance=3,
    confidence=0.5,
    stated_by=4,
    source=Source("s", 1, "m", "uri"),
    visibility=2,
    language="en",
    event_time_us=10,
    valid_from_us=11,
    valid_to_us=12,
    create_time_us=13,
    update_time_us=14,
    expire_time_us=15,
)


def test_embedded_text() -> None:
    """The words of the key lead the content, so that a bare value has its meaning."""
    assert key_words("drink.hot_one") == "drink hot one"
    assert embedded_text(RECORD) == "drink hot one: likes tea"
    assert embedded_text(dataclasses.replace(RECORD, key="")) == "likes tea"


def test_every_column_is_the_records() -> None:
    """Columns of one name hold the record's value, and the others what they are named for."""
    row = index_row(RECORD, UTC)
    for field in dataclasses.fields(row):
        if hasattr(RECORD, field.name):
            assert getattr(row, field.name) == getattr(RECORD, field.name), field.name
    assert (row.text, row.metadata) == ("likes tea", {"a": {"b": 1}})
    assert (row.agent_id, row.session_id, row.namespace) == ("agent", "session", "a/b")
    assert (row.source_session_id, row.source_uri) == ("s", "uri")


def test_anchor_is_the_newest_sign_of_life() -> None:
    """Age counts from the event, the last confirmation or the last use, whichever is newest."""
    for name in ("event_time_us", "confirm_time_us", "last_used_time_us"):
        assert index_row(dataclasses.replace(RECORD, **{name: 99}), UTC).anchor_time_us == 99


def test_superseded_time() -> None:
    """A superseded record keeps its own end beside when it was replaced, in the world and here."""
    past = dataclasses.replace(
        RECORD, status=Status.SUPERSEDED, superseded_from_us=13, superseded_time_us=14
    )
    row = index_row(past, UTC)
    assert (row.valid_to_us, row.superseded_from_us, row.superseded_time_us) == (12, 13, 14)


def test_outweighed() -> None:
    """A current record that another one outweighs is marked; one that is history is not."""
    weak = dataclasses.replace(RECORD, superseded_by="b" * 32)
    assert index_row(weak, UTC).doubt == 1
    assert index_row(dataclasses.replace(weak, status=Status.SUPERSEDED), UTC).doubt == 0
    assert index_row(RECORD, UTC).doubt == 0
