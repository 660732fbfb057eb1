"""Checking the data of a stopped server."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from recalld.index.analyzer import Analyzer
from recalld.server import verify
from recalld.server.__main__ import app
from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.lock import DirectoryLock
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage import kept
from tests.storage.samples import memory

ROW_COUNT = 40


def unit(stored: StoredMemory) -> StoredMemory:
    """The same row with a vector of length 1, as every model makes them."""
    assert stored.vector is not None
    return replace(stored, vector=stored.vector / np.linalg.norm(stored.vector))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in order: rows, some still in the log, and a snapshot."""
    root = tmp_path_factory.mktemp("sound")
    store = kept.open_store(root / "live")
    rows = tuple(unit(kept.row(label, 1)) for label in range(1, ROW_COUNT + 1))
    store.write(WriteBatch("acme", 1, rows))
    store.checkpoint()
    kept.open_folder(root / "live").create(store, "first", kept.STAMP)
    store.write(WriteBatch("acme", 2, (unit(kept.row(ROW_COUNT + 1, 2, user="bob")),)))
    shutil.copytree(root / "live", root / "copy")
    store.close()
    return root / "copy"


@pytest.fixture
def data_dir(sound: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    shutil.copytree(sound, tmp_path / "data")
    return tmp_path / "data"


def run(data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", "--data-dir", str(data_dir), *arguments])


def execute(data_dir: Path, sql: str) -> None:
    with duckdb.connect(str(data_dir / DATABASE_NAME)) as connection:
        connection.execute(sql)


def test_data_in_order(data_dir: Path) -> None:
    """Sound data is in order, with code 0, the rows in the log counted, and no file changed."""
    before = {p: p.read_bytes() for p in data_dir.rglob("*") if p.is_file() and p.name != "LOCK"}
    done = run(data_dir)
    assert (done.exit_code, done.stdout) == (
        0,
        f"{ROW_COUNT + 1} memories, 2 users, 1 snapshots: in order\n",
    )
    assert {
        p: p.read_bytes() for p in data_dir.rglob("*") if p.is_file() and p.name != "LOCK"
    } == before


def test_as_json(data_dir: Path) -> None:
    """As JSON the report is one object with counts and every violation."""
    execute(data_dir, "UPDATE memories SET content_hash = 'x'::BLOB WHERE label = 3")
    done = run(data_dir, "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {
        "ok": False,
        "memory_count": ROW_COUNT + 1,
        "partition_count": 2,
        "snapshot_count": 1,
        "violations": [
            {
                "where": "database",
                "what": "content_hash is not 16 bytes: 1 (3)",
            }
        ],
    }


def test_every_violation_is_listed(data_dir: Path) -> None:
    """A broken rule, rows that cannot be indexed and a damaged snapshot are found in one run."""
    execute(data_dir, "UPDATE memories SET content_hash = 'x'::BLOB WHERE label = 3")
    zeros = bytes(kept.DIM * 4).hex()
    execute(data_dir, f"UPDATE memories SET embedding = unhex('{zeros}') WHERE user_id = 'bob'")
    (snapshot,) = (data_dir / "snapshots" / "first").glob("*.duckdb")
    content = bytearray(snapshot.read_bytes())
    content[len(content) // 2] ^= 1
    snapshot.write_bytes(content)
    done = run(data_dir)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("database: content_hash is not 16 bytes") for line in lines)
    assert any(line.startswith("index acme/bob: the rows of model") for line in lines)
    assert any(line.startswith("snapshot first: ") and "SHA-256" in line for line in lines)
    assert lines[-1].endswith(f"{len(lines) - 1} violations")


def test_a_database_that_does_not_open(data_dir: Path) -> None:
    """A garbled database is named, and its snapshots are checked all the same."""
    (data_dir / DATABASE_NAME).write_bytes(b"something else" * 1_000)
    done = run(data_dir)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"database: {data_dir / DATABASE_NAME}: ")
    assert "1 snapshots" in done.stdout


def test_a_missing_database(data_dir: Path, tmp_path: Path) -> None:
    """Snapshots or a log without a database are a violation; an empty directory is an error."""
    (data_dir / DATABASE_NAME).unlink()
    done = run(data_dir)
    assert done.exit_code == 1
    assert "missing" in done.stdout
    (tmp_path / "empty").mkdir()
    done = run(tmp_path / "empty")
    assert done.exit_code == 1
    assert f"{tmp_path / 'empty' / DATABASE_NAME} does not exist" in done.output


def test_a_log_that_ends_in_zeros(data_dir: Path) -> None:
    """What the next start repairs is a violation now, and the report says that it will be."""
    log = wal_path(data_dir / DATABASE_NAME)
    content = log.read_bytes()
    log.write_bytes(content[:-40] + bytes(40))
    done = run(data_dir)
    assert done.exit_code == 1
    assert "the next start keeps a copy and cuts them" in done.stdout


def test_a_running_server(data_dir: Path) -> None:
    """While somebody holds the directory, the check is refused and the holder named."""
    with DirectoryLock(data_dir, listen_address="127.0.0.1:7600", now_us=1):
        done = run(data_dir)
    assert done.exit_code == 1
    assert "127.0.0.1:7600" in done.output


def test_no_directory(tmp_path: Path) -> None:
    """A directory that does not exist is an error that names it, and is not made."""
    done = run(tmp_path / "none")
    assert done.exit_code == 1
    assert str(tmp_path / "none") in done.output
    assert not (tmp_path / "none").exists()


def test_the_index_is_compared_with_the_rows() -> None:
    """Rows of several models and a graph are in order; a width that differs is not."""
    own = [unit(kept.row(label, 1)) for label in range(1, 9)]
    two = unit(kept.row(9, 1))
    assert two.vector is not None
    double = replace(two, vector=np.tile(two.vector, 2), fingerprint="model-2")
    analyzer = Analyzer()
    assert list(verify.index_violations([*own, double], analyzer, 4, UTC)) == []
    short = replace(memory(10, 1), vector=np.ones(1, np.float32), fingerprint=own[0].fingerprint)
    (line,) = verify.index_violations([*own, short], analyzer, 4, UTC)
    assert f"widths [1, {kept.DIM}]" in line
    assert own[0].cues is not None
    narrow = replace(own[0], cues=own[0].cues[:, 1:])
    (line,) = verify.index_violations([narrow, *own[1:]], analyzer, 4, UTC)
    assert "cannot be indexed" in line
