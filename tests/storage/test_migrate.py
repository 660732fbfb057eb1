"""Format steps: order, refusal, and what a failed or killed step leaves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from recalld.storage.errors import Corrupt, FormatTooNew
from recalld.storage.migrate import FORMAT_VERSION, STEPS, Connection, Step, migrate, read_version


def add_column(connection: Connection) -> None:
    connection.execute("ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7")


def double(connection: Connection) -> None:
    connection.execute("UPDATE t SET b = b * 2")


STEP_LIST = (Step(1, add_column), Step(2, double))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "old.duckdb"


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
        opened.execute("INSERT INTO meta VALUES ('format_version', '1')")
        opened.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        opened.execute("INSERT INTO t VALUES (1)")
        yield opened


def test_steps_run_in_order_and_once(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """All steps from the found version run in order; a second call runs none."""
    assert migrate(connection, path, STEP_LIST, 3) == 2
    assert migrate(connection, path, STEP_LIST, 3) == 0
    assert connection.execute("SELECT * FROM t").fetchall() == [(1, 14)]
    assert read_version(connection, path) == 3


def test_no_schema_change_stays_in_the_log(
    connection: duckdb.DuckDBPyConnection, path: Path, tmp_path: Path
) -> None:
    """After migrating, the database alone, without its log, is in the new format."""
    migrate(connection, path, STEP_LIST, 3)
    shutil.copyfile(path, tmp_path / "alone.duckdb")
    with duckdb.connect(str(tmp_path / "alone.duckdb"), read_only=True) as alone:
        assert alone.execute("SELECT * FROM t").fetchall() == [(1, 14)]


def test_a_failed_step_leaves_the_version_before_it(
    connection: duckdb.DuckDBPyConnection, path: Path
) -> None:
    """A step that fails half way changes nothing; repaired, it runs again from the start."""

    def fail(connection: Connection) -> None:
        double(connection)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        migrate(connection, path, (STEP_LIST[0], Step(2, fail)), 3)
    assert read_version(connection, path) == 2
    assert connection.execute("SELECT b FROM t").fetchall() == [(7,)]
    assert migrate(connection, path, STEP_LIST, 3) == 1
    assert connection.execute("SELECT b FROM t").fetchall() == [(14,)]


def test_a_newer_format_is_refused(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """A newer version is refused with both numbers in attributes and message."""
    connection.execute("UPDATE meta SET value = '12'")
    with pytest.raises(FormatTooNew, match=r"12 .* 3,") as refused:
        migrate(connection, path, STEP_LIST, 3)
    assert (refused.value.found, refused.value.supported) == (12, 3)


@pytest.mark.parametrize("value", ["", "0", "-1", "one", None])
def test_a_missing_version_is_corrupt(
    connection: duckdb.DuckDBPyConnection, path: Path, value: str | None
) -> None:
    """No recorded version, or one that is no positive number, is Corrupt."""
    connection.execute("DELETE FROM meta")
    if value is not None:
        connection.execute("INSERT INTO meta VALUES ('format_version', ?)", [value])
    with pytest.raises(Corrupt, match="format_version"):
        migrate(connection, path, STEP_LIST, 3)


def test_a_gap_between_steps_is_refused(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Without a step that leads on, nothing is guessed."""
    with pytest.raises(Corrupt, match="version 1"):
        migrate(connection, path, STEP_LIST[1:], 3)


def test_the_steps_lead_to_the_current_format() -> None:
    """The product's own steps lead without a gap from version 1 to the current one."""
    assert [step.version for step in STEPS] == list(range(1, FORMAT_VERSION))


def test_the_first_format_is_brought_up(path: Path) -> None:
    """Of a row replaced under format 1, the end is the successor's and its own is not known."""
    with duckdb.connect(str(path)) as old:
        old.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
        old.execute("INSERT INTO meta VALUES ('format_version', '1')")
        old.execute(
            "CREATE TABLE memories (label BIGINT PRIMARY KEY, status UTINYINT NOT NULL,"
            " valid_to_us BIGINT NOT NULL, update_time_us BIGINT NOT NULL)"
        )
        old.execute("INSERT INTO memories VALUES (1, 1, 7, 8), (2, 2, 9, 10)")
        assert migrate(old, path, supported=2) == 1
        found = old.execute(
            "SELECT label, valid_to_us, superseded_from_us, superseded_time_us, settled_group"
            " FROM memories ORDER BY label"
        ).fetchall()
    assert found == [(1, 7, 0, 0, ""), (2, 0, 9, 10, "")]
