"""The manifest's round trip, and that no changed byte is taken for what was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalld.storage.errors import Corrupt, FormatTooNew
from recalld.storage.manifest import (
    MANIFEST_NAME,
    Manifest,
    SnapshotFile,
    describe_file,
    read_manifest,
)

FILE = SnapshotFile("database", "recalld-1.duckdb", 7, "ab" * 32)
MADE = Manifest("s", 1, "0.1", "2.0.1", 3, "model", True, {"acmé": 4}, {"memories": 2}, (FILE,))


def test_it_comes_back_as_written(tmp_path: Path) -> None:
    """Every field survives, other files beside the database included."""
    image = SnapshotFile("index", "index-1.bin", 9, "cd" * 32)
    made = Manifest(*(getattr(MADE, name) for name in list(MADE.__slots__)[:-1]), (FILE, image))
    (tmp_path / MANIFEST_NAME).write_bytes(made.to_bytes())
    read = read_manifest(tmp_path / MANIFEST_NAME)
    assert (read, read.database, read.size_bytes()) == (made, FILE, 16)
    other = SnapshotFile("database", "recalld-2.duckdb", 1, "")
    assert read.with_database(other).files == (other, image)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_byte_is_noticed(tmp_path: Path, data: st.DataObject) -> None:
    """Any byte changed outside of white space makes the manifest unreadable or Corrupt."""
    text = MADE.to_bytes()
    place = data.draw(st.sampled_from([n for n, b in enumerate(text) if b not in b" \n"]))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != text[place] and b not in b" \n\t\r"))
    (tmp_path / MANIFEST_NAME).write_bytes(text[:place] + bytes([byte]) + text[place + 1 :])
    with pytest.raises((Corrupt, FormatTooNew)):
        read_manifest(tmp_path / MANIFEST_NAME)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b"null", b'{"manifest_version": 1}'])
def test_what_is_no_manifest(tmp_path: Path, text: bytes) -> None:
    """Other content is Corrupt and names the file."""
    (tmp_path / MANIFEST_NAME).write_bytes(text)
    with pytest.raises(Corrupt, match=MANIFEST_NAME):
        read_manifest(tmp_path / MANIFEST_NAME)
    with pytest.raises(Corrupt, match="missing"):
        read_manifest(tmp_path / "none")


def test_a_newer_manifest_is_refused_as_such(tmp_path: Path) -> None:
    """A manifest of a newer version says so, whatever else is in it."""
    body = {**json.loads(MADE.to_bytes()), "manifest_version": 2}
    (tmp_path / MANIFEST_NAME).write_text(json.dumps(body), "utf-8")
    with pytest.raises(FormatTooNew, match="2"):
        read_manifest(tmp_path / MANIFEST_NAME)


def test_a_file_is_described_by_its_bytes(tmp_path: Path) -> None:
    """Size and SHA-256 are those of the bytes (of "abc", from the standard)."""
    (tmp_path / "f").write_bytes(b"abc")
    sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert describe_file(tmp_path / "f", "database") == SnapshotFile("database", "f", 3, sha256)
