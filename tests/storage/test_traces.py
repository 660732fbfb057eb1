"""Traces in DuckDB: what a kill leaves, what a check sees, and that writes go on."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import duckdb
import pytest

from recalld.storage import rows
from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.store import WriteBatch
from recalld.storage.traces import COLUMNS
from tests.conformance.trace_contract import trace
from tests.storage.samples import memory, request
from tests.tidy.tree import ROOT


def open_store(data_dir: Path) -> DuckDBStore:
    return DuckDBStore(data_dir, DuckDBOptions(now_us=1, created_by="test"))


def test_a_kill_keeps_what_was_written(tmp_path: Path) -> None:
    """What a killed process leaves holds every trace whose future was resolved, and all rows."""
    store = open_store(tmp_path / "live")
    store.write(WriteBatch("acme", 1, (memory(1, 1),)))
    store.traces.put([trace("r"), trace("s", 2)], 10).result()
    shutil.copytree(tmp_path / "live", tmp_path / "copy")
    store.close()
    copy = open_store(tmp_path / "copy")
    assert [t.recall_id for t in copy.traces.page("acme", "ann", None, 9)] == ["s", "r"]
    assert [m.record.label for m in copy.load()] == [1]
    assert copy.check() == []
    copy.close()


def test_no_traces_write_nothing(tmp_path: Path) -> None:
    """Putting no traces leaves the store as it was and able to write."""
    store = open_store(tmp_path)
    store.traces.put([], 1).result()
    store.write(WriteBatch("acme", 1, (memory(1, 1),)))
    assert store.traces.page("acme", "ann", None, 9) == []
    store.close()


def test_check_names_a_broken_trace(tmp_path: Path) -> None:
    """A trace without a header is a violation that `check` counts."""
    store = open_store(tmp_path)
    store.traces.put([trace("r")], 1).result()
    store.close()
    with duckdb.connect(str(tmp_path / DATABASE_NAME)) as connection:
        connection.execute("UPDATE traces SET header = ''")
    store = open_store(tmp_path)
    assert store.check() == ["traces without a key, a user or a header: 1"]
    store.close()


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_an_older_format_is_raised(tmp_path: Path, version: int) -> None:
    """A database of an older format opens with its rows and answers, and then takes traces."""
    kept = ROOT / f"tests/golden/formats/v{version}/recalld.duckdb.gz"
    (tmp_path / DATABASE_NAME).write_bytes(gzip.decompress(kept.read_bytes()))
    store = open_store(tmp_path)
    assert store.recovery.migrated_step_count > 0
    assert [m.record.content for m in store.load()] == ["memory 1", "memory 2"]
    assert store.find_request("acme", "r") == request("r")
    store.traces.put([trace("r")], 1).result()
    assert store.traces.find("acme", "r") == trace("r")
    assert store.check() == []
    store.close()


def test_cues_of_format_3_wait_for_their_vectors(tmp_path: Path) -> None:
    """Raised from format 3, a memory has its cues and no vectors of them yet."""
    kept = ROOT / "tests/golden/formats/v3/recalld.duckdb.gz"
    (tmp_path / DATABASE_NAME).write_bytes(gzip.decompress(kept.read_bytes()))
    store = open_store(tmp_path)
    assert store.recovery.migrated_step_count == 5
    assert [m.record.relevant_when for m in store.load()] == [(), ("ordering food",)]
    assert [m.cues for m in store.load()] == [None, None]
    store.close()


def test_a_raised_database_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    """The steps give the same tables, columns and keys as schema.sql, and the code's columns."""
    kept = ROOT / "tests/golden/formats/v1/recalld.duckdb.gz"
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "old" / DATABASE_NAME).write_bytes(gzip.decompress(kept.read_bytes()))
    shapes = []
    for name in ("old", "new"):
        open_store(tmp_path / name).close()
        with duckdb.connect(str(tmp_path / name / DATABASE_NAME)) as connection:
            columns = connection.execute(
                "SELECT table_name, column_name, data_type, is_nullable "
                "FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
            ).fetchall()
            keys = connection.execute(
                "SELECT table_name, constraint_type, constraint_column_names "
                "FROM duckdb_constraints() ORDER BY ALL"
            ).fetchall()
        shapes.append((columns, keys))
    assert shapes[0] == shapes[1]
    traces = [(name, kind) for table, name, kind, _ in shapes[1][0] if table == "traces"]
    assert traces == list(COLUMNS)
    assert rows.names(COLUMNS) == ", ".join(name for name, _ in traces)
