"""The fields of a memory that are packed into one column."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import duckdb
import pytest
from hypothesis import given

from recalld.storage import details, migrate
from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.record import (
    Importance,
    KeyCardinality,
    MemoryRecord,
    Scope,
    Source,
    StatedBy,
    Status,
    Visibility,
)
from recalld.storage.store import StoredMemory
from tests.storage import kept
from tests.storage.samples import any_memory, memory
from tests.tidy.tree import ROOT


@given(first=any_memory(1, 1, "acme"), second=any_memory(2, 1, "acme"))
def test_fields_come_back_as_they_were(first: StoredMemory, second: StoredMemory) -> None:
    """Every packed field of several records comes back, in a column of its name."""
    records = (first.record, second.record)
    columns = details.columns_of((1, 2), [details.packed(record) for record in records])
    assert set(columns) == set(details.FIELDS)
    for name in details.FIELDS:
        assert list(columns[name]) == list(map(attrgetter(name), records))


def test_no_rows_are_empty_columns() -> None:
    """Without rows there is an empty column for every field."""
    assert details.columns_of((), ()) == {name: [] for name in details.FIELDS}


def test_the_form_is_the_documented_one() -> None:
    """Numbers are big-endian, of one byte and of eight; lengths of four; then come the texts."""
    made = memory(
        1,
        1,
        importance=Importance.HIGH,
        source=Source("s", -2, "", "中"),
        event_time_us=258,
        superseded_time_us=3,
        settled_group="g",
    )
    expected = "01 03 01 01 fffffffffffffffe 0000000000000102" + "00" * 8 * 8
    expected += "0000000000000003" + "00000001 00000000 00000003 00000000 00000001"
    assert details.packed(made.record).hex() == bytes.fromhex(expected).hex() + "73e4b8ad67"


def test_sql_reads_a_number() -> None:
    """The expression of FORMAT.md gives the time of the event from the bytes of a row."""
    blob = details.packed(memory(1, 1, event_time_us=1_700_000_000_000_000).record)
    number = "('0x' || hex(details[13:20]))::BIGINT"
    assert number in (ROOT / "storage/FORMAT.md").read_text("utf-8")
    sql = f"SELECT {number} FROM (SELECT ?::BLOB AS details)"
    assert duckdb.execute(sql, [blob]).fetchall() == [(1_700_000_000_000_000,)]


@pytest.mark.parametrize("change", [b"x", b"", None])
def test_a_wrong_length_is_an_error(change: bytes | None) -> None:
    """Bytes too many, too few or none at all raise ValueError, which names the row if it can."""
    whole = details.packed(memory(7, 1, conflict_group="a").record)
    broken = {b"x": whole + b"x", b"": whole[:-1], None: b""}[change]
    with pytest.raises(ValueError, match="row 7" if broken else "less than 112 bytes"):
        details.columns_of((7,), [broken])


def test_a_text_that_is_no_text_is_an_error() -> None:
    """A text that is not UTF-8 raises ValueError."""
    whole = details.packed(memory(7, 1, conflict_group="a").record)
    with pytest.raises(ValueError, match="utf-8"):
        details.columns_of((7,), [whole[:-1] + b"\xff"])


def test_check_names_broken_details(tmp_path: Path) -> None:
    """Details that are cut short are a violation, counted and named by their first row."""
    store = kept.open_store(tmp_path)
    kept.fill(store, 4)
    store.close()
    with duckdb.connect(str(tmp_path / DATABASE_NAME)) as connection:
        connection.execute("UPDATE memories SET details = details[1:20] WHERE label = 3")
    store = kept.open_store(tmp_path)
    assert store.check()[0] == "details are cut short: 1 (first label 3)"
    store.close()


def test_format_6_is_packed(tmp_path: Path) -> None:
    """Raised from format 6, every field of a row has the value that it was written with."""
    old = ROOT / "tests/golden/formats/v6/recalld.duckdb.gz"
    (tmp_path / DATABASE_NAME).write_bytes(gzip.decompress(old.read_bytes()))
    store = kept.open_store(tmp_path)
    assert store.recovery.migrated_step_count == 2
    first, second = store.load()
    assert first.record == memory(1, 1).record
    assert second.record == MemoryRecord(
        label=2,
        id=f"{2:032x}",
        scope=Scope("acme", "ann"),
        kind=1,
        content="memory 2",
        key="diet",
        key_cardinality=KeyCardinality.MANY,
        value_json='{"food":"peanut"}',
        metadata_json='{"a":1}',
        relevant_when=("ordering food",),
        importance=Importance.PINNED,
        confidence=0.25,
        stated_by=StatedBy.TOOL,
        source=Source("session 9", 7, "消息 3", "https://example.org/a?b=c"),
        visibility=Visibility.PRIVATE,
        language="zh",
        event_time_us=-2_208_988_800_000_000,
        valid_from_us=-1,
        valid_to_us=2**62,
        create_time_us=11,
        update_time_us=12,
        confirm_time_us=13,
        expire_time_us=7_258_118_400_000_000,
        forget_time_us=15,
        last_used_time_us=16,
        access_count=2**40,
        status=Status.SUPERSEDED,
        superseded_by="a" * 32,
        conflict_group="b" * 32,
        settled_group="组",
        superseded_from_us=17,
        superseded_time_us=255,
        content_hash=bytes(range(16)),
        revision=1,
    )
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("step_count", [1, 2])
def test_a_kill_before_a_checkpoint_keeps_what_was_packed(tmp_path: Path, step_count: int) -> None:
    """Killed between a step's commit and its checkpoint, the next start goes on from there."""
    old = ROOT / "tests/golden/formats/v6/recalld.duckdb.gz"
    live, copy = tmp_path / "live", tmp_path / "copy"
    live.mkdir()
    (live / DATABASE_NAME).write_bytes(gzip.decompress(old.read_bytes()))

    class Copying:
        """A connection that copies the files as they are after each commit."""

        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self._connection = connection

        def execute(self, sql: str, parameters: Sequence[object] = (), /) -> object:
            result = self._connection.execute(sql, parameters)
            if sql == "COMMIT":
                shutil.copytree(live, copy, dirs_exist_ok=True)
            return result

    with duckdb.connect(str(live / DATABASE_NAME)) as connection:
        migrate.migrate(Copying(connection), live, supported=6 + step_count)
    assert wal_path(copy / DATABASE_NAME).exists()
    found = []
    for folder in (live, copy):
        store = kept.open_store(folder)
        assert store.recovery.migrated_step_count == 2 - step_count
        found.append([stored.record for stored in store.load()])
        assert store.check() == []
        store.close()
    assert found[0] == found[1]
    assert [record.access_count for record in found[1]] == [0, 2**40]
