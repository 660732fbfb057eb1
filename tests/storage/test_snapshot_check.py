"""Every kind of damage of a snapshot is a violation of its own words."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from recalld.storage.manifest import MANIFEST_NAME, describe_file, read_manifest
from recalld.storage.migrate import FORMAT_VERSION
from recalld.storage.snapshot_check import violations
from recalld.storage.snapshots import FOLDER_NAME
from tests.storage import kept

DATABASE = "recalld-1.duckdb"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot in order."""
    path = tmp_path_factory.mktemp("prepared")
    store = kept.open_store(path)
    kept.fill(store, 4)
    kept.open_folder(path).create(store, "one", kept.STAMP)
    store.close()
    return path / FOLDER_NAME / "one"


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the test's own."""
    shutil.copytree(prepared, tmp_path / "one")
    return tmp_path / "one"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda f: flip(f / DATABASE), "SHA-256"),
    (lambda f: (f / DATABASE).write_bytes(b"short"), "5 bytes, expected"),
    (lambda f: (f / DATABASE).unlink(), "No such file"),
    (lambda f: (f / "extra").touch(), "extra: is not in the manifest"),
    (lambda f: flip(f / MANIFEST_NAME), MANIFEST_NAME),
    (lambda f: (f / MANIFEST_NAME).unlink(), "missing"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGE)
def test_each_damage_is_told(folder: Path, damage: Callable[[Path], object], said: str) -> None:
    """One violation, in words that name file and expectation."""
    assert violations(folder) == []
    damage(folder)
    (violation,) = violations(folder)
    assert said in violation


def test_all_damage_is_told_at_once(folder: Path) -> None:
    """More than one thing that is wrong gives as many lines."""
    (folder / "extra").touch()
    (folder / DATABASE).unlink()
    assert len(violations(folder)) == 2


def test_a_snapshot_under_another_name(folder: Path) -> None:
    """A renamed folder is not the snapshot that its manifest names."""
    folder.rename(folder.with_name("two"))
    assert violations(folder.with_name("two")) == [f"{MANIFEST_NAME}: is of the snapshot 'one'"]


def test_rows_that_are_not_those_of_the_manifest(folder: Path) -> None:
    """With right checksums, counts, revisions and format are still compared with the rows."""
    with duckdb.connect(str(folder / DATABASE)) as connection:
        connection.execute("DELETE FROM memories WHERE label = 1")
        connection.execute("INSERT OR REPLACE INTO tenants VALUES ('acme', 9)")
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    manifest = read_manifest(folder / MANIFEST_NAME)
    file = describe_file(folder / DATABASE, "database")
    (folder / MANIFEST_NAME).write_bytes(replace(manifest, files=(file,)).to_bytes())
    newer, version, rows, revisions = violations(folder)
    assert "newer than" in newer
    assert f"format 99, expected {FORMAT_VERSION}" in version
    assert "'memories': 3" in rows and "'memories': 4" in rows
    assert "'acme': 9" in revisions
