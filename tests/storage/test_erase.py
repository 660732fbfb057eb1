"""The second step of a purge: no byte stays, at whatever step a process was killed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.storage import erase as erasing
from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBStore
from recalld.storage.erase import EXAMPLE_COUNT_MAX, Example, erase, spread
from recalld.storage.errors import EraseFailed, StoreFailed
from recalld.storage.purge import StoredPurge
from recalld.storage.sealed_value import SealedValue
from recalld.storage.store import StoredMemory, WriteBatch
from tests.storage import kept
from tests.storage.test_database_file import Recording, Stop

NOW_US = 777


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DuckDBStore]:
    opened = kept.open_store(tmp_path)
    yield opened
    opened.close()


def examples(rows: list[StoredMemory]) -> list[Example]:
    return [Example(m.record.content, m.vector.tobytes()) for m in rows if m.vector is not None]


def erased(
    store: DuckDBStore, data_dir: Path, found: list[Example] | None = None, stop_at: int = -1
) -> list[StoredPurge]:
    folder = kept.open_folder(data_dir, Recording(stop_at))
    return erase(store, folder, data_dir, lambda: NOW_US, kept.TEXTLESS, found or ())


def purge(store: DuckDBStore, rows: list[StoredMemory], *, whole: bool = False) -> None:
    revision = store.revisions()["acme"] + 1
    order = kept.order([one.record for one in rows], whole=whole)
    store.write(WriteBatch("acme", revision, purge=order))


def test_no_byte_stays(store: DuckDBStore, tmp_path: Path) -> None:
    """Texts, cues and vectors of both leave database, log, snapshots and kept damaged files."""
    rows = kept.fill(store)
    ann, bob = kept.of(rows, "ann"), kept.of(rows, "bob")
    kept.open_folder(tmp_path).create(store, "one", kept.STAMP)
    texts = b"".join(one.record.content.encode() for one in ann)
    for name in (f"{DATABASE_NAME}.wal.damaged-1", f"{DATABASE_NAME}.damaged-2"):
        (tmp_path / name).write_bytes(texts)
    assert len(kept.found_in(tmp_path, ann)) == 4
    purge(store, ann, whole=True)
    (done,) = erased(store, tmp_path, examples(ann))
    assert kept.found_in(tmp_path, ann) == []
    assert len(kept.found_in(tmp_path, bob)) == 2  # Its database and its snapshot.
    assert done == StoredPurge("f" * 32, "acme", 100, NOW_US, len(ann), 1, 3)
    assert store.purges.find("acme", "f" * 32) == done
    assert kept.contents(store) == [one.record.content for one in bob]
    assert store.check() == []
    assert erased(store, tmp_path) == []


def test_each_step_is_told(store: DuckDBStore, tmp_path: Path) -> None:
    """Whoever waits can see how far it is: the database, each snapshot, the search."""
    rows = kept.fill(store, 6)
    folder = kept.open_folder(tmp_path)
    folder.create(store, "one", kept.STAMP)
    purge(store, rows[:1])
    folder.create(store, "two", kept.STAMP)
    told: list[str] = []
    erase(store, folder, tmp_path, lambda: NOW_US, kept.TEXTLESS, tell=told.append)
    assert told[0] == "database rewritten"
    assert sorted(line.split(maxsplit=4)[4] for line in told[1:-1]) == [
        "changed",
        "holds nothing of it",
    ]
    assert [line[:13] for line in told[1:-1]] == ["snapshot 1 of", "snapshot 2 of"]
    assert told[-1] == "files searched"


def test_what_was_changed_before_goes_too(store: DuckDBStore, tmp_path: Path) -> None:
    """Earlier texts and vectors of a purged memory leave the file with it."""
    rows = kept.fill(store, 4)
    earlier = rows[0]
    store.write(WriteBatch("acme", 2, (kept.row(1, 2, content="another text of it"),)))
    store.checkpoint()
    later = next(iter(store.load()))
    purge(store, [later])
    erased(store, tmp_path)
    assert kept.found_in(tmp_path, [earlier, later]) == []


def test_sealed_originals_go_with_their_memories(store: DuckDBStore, tmp_path: Path) -> None:
    """No byte of a purged memory's sealed original stays; those of others do."""
    rows = [kept.row(n, 1, user) for n, user in ((1, "ann"), (2, "bob"), (3, "bob"))]
    data = {n: hashlib.blake2b(bytes([n])).digest() for n in (1, 2, 3)}
    sealed = tuple(SealedValue(n, "[phone:a]", value) for n, value in data.items())
    store.write(WriteBatch("acme", 1, tuple(rows), sealed=sealed))
    kept.open_folder(tmp_path).create(store, "one", kept.STAMP)
    purge(store, rows[:1])
    erased(store, tmp_path, examples(rows[:1]))
    store.checkpoint()
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    holders = {n: sum(value in file for file in files) for n, value in data.items()}
    assert holders == {1: 0, 2: 2, 3: 2}  # The database and its snapshot.
    assert [len(store.sealed.find(n)) for n in data] == [0, 1, 1]
    assert store.check() == []


@pytest.mark.parametrize("stop_at", [0, 3, 6, 8])
def test_a_killed_erasing_is_finished_after_a_restart(tmp_path: Path, stop_at: int) -> None:
    """Stopped at a file operation of database or snapshots, the next start completes it."""
    store = kept.open_store(tmp_path, files := Recording())
    rows = kept.fill(store, 10)
    ann = kept.of(rows, "ann")
    kept.open_folder(tmp_path).create(store, "one", kept.STAMP)
    purge(store, ann)
    if stop_at < 2:  # Inside the exchange of the database itself.
        files.stop_at = len(files.steps) + stop_at
    with pytest.raises((Stop, StoreFailed)):
        erased(store, tmp_path, stop_at=stop_at)
    files.stop_at = -1
    store.close()
    again = kept.open_store(tmp_path)
    kept.open_folder(tmp_path).clean()
    assert [one.row_count for one in again.purges.pending()] == [len(ann)]
    (done,) = erased(again, tmp_path)
    assert (done.complete_time_us, done.verified_file_count) == (NOW_US, 0)
    assert kept.found_in(tmp_path, ann) == []
    assert kept.contents(again) == [one.record.content for one in kept.of(rows, "bob")]
    again.close()


def test_bytes_that_stay_are_an_error(store: DuckDBStore, tmp_path: Path) -> None:
    """When an example is still in some file, the purge stays pending and the file is named."""
    rows = kept.fill(store, 6)
    purge(store, rows[:1])
    (tmp_path / "forgotten copy").write_bytes(b".." + rows[0].record.content.encode())
    with pytest.raises(EraseFailed, match="forgotten copy") as refused:
        erased(store, tmp_path, examples(rows[:1]))
    assert rows[0].record.content not in str(refused.value)
    assert len(store.purges.pending()) == 1
    (tmp_path / "forgotten copy").unlink()
    assert len(erased(store, tmp_path, examples(rows[:1]))) == 1


def test_what_another_memory_says_is_its_own(store: DuckDBStore, tmp_path: Path) -> None:
    """A text that somebody else's memory holds, or quotes, does not count as left."""
    rows = kept.fill(store, 6)
    text = rows[0].record.content
    quoting = kept.row(50, 2, "bob", content=f"ann says: {text}", vector=rows[0].vector)
    store.write(WriteBatch("acme", 2, (quoting,)))
    purge(store, rows[:1])
    assert len(erased(store, tmp_path, examples(rows[:1]))) == 1
    assert kept.contents(store)[-1] == quoting.record.content


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 100, 1000])
def test_examples_are_spread_evenly(count: int) -> None:
    """All of a few, at most so many of many, in even steps from the first."""
    places = spread(count)
    assert len(places) <= EXAMPLE_COUNT_MAX == erasing.EXAMPLE_COUNT_MAX
    assert len(places) == count or len(places) > EXAMPLE_COUNT_MAX // 2
    assert places == sorted({*places}) and all(0 <= place < count for place in places)
