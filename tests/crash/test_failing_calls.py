"""Storage calls that fail: each sync, rename and link of the store's own, and DuckDB's by strace.

After each fault the next start has everything that was acknowledged, whole, and nothing that was
purged; no start and no fault empties anything.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.erase import erase
from recalld.storage.errors import StorageError
from recalld.storage.restore import restore
from recalld.storage.store import WriteBatch
from tests.storage import kept
from tests.storage.faults import FailingFiles

IS_DEEP = "CRASH_ROUNDS" in os.environ
SNAPSHOT = "first"
FIRST, SECOND = range(1, 4), range(4, 7)
PURGED = 1
STATES: tuple[set[int], ...] = (
    set(),
    {*FIRST},
    {*FIRST},
    {*FIRST, *SECOND},
    {*FIRST, *SECOND} - {PURGED},
    {*FIRST, *SECOND} - {PURGED},
    {*FIRST} - {PURGED},
)
"""Labels that are there after each step of a life; the first is the state before any."""


@dataclass
class Life:
    """Open, write, snapshot, write, purge, erase, restore; notes how far it came.

    Attributes:
        done: steps that were acknowledged.
    """

    data_dir: Path
    files: FailingFiles
    done: int = field(default=0)

    def run(self) -> None:
        store = kept.open_store(self.data_dir, self.files)
        folder = kept.open_folder(self.data_dir, self.files)
        try:
            store.write(WriteBatch("acme", 1, tuple(kept.row(n, 1) for n in FIRST)))
            self.done += 1
            store.checkpoint()
            folder.create(store, SNAPSHOT, kept.STAMP)
            self.done += 1
            store.write(WriteBatch("acme", 2, tuple(kept.row(n, 2) for n in SECOND)))
            self.done += 1
            order = kept.order([kept.row(PURGED, 1).record])
            store.write(WriteBatch("acme", 3, purge=order))
            self.done += 1
            erase(store, folder, self.data_dir, lambda: 200, kept.TEXTLESS)
            self.done += 1
        finally:
            store.close()
        restore(self.data_dir, SNAPSHOT, kept.options(self.files), kept.TEXTLESS)
        self.done += 1

    def require_sound(self) -> None:
        """What the next start of a server does, and what must hold after it."""
        store = kept.open_store(self.data_dir)
        folder = kept.open_folder(self.data_dir)
        folder.clean()
        erase(store, folder, self.data_dir, lambda: 300, kept.TEXTLESS)
        found = {stored.record.label for stored in store.load()}
        assert found in STATES[self.done : self.done + 2]
        assert store.check() == []
        if PURGED not in found and found:
            assert kept.found_in(self.data_dir, [kept.row(PURGED, 1)]) == []
        for listed in folder.listed():
            assert folder.verify(listed.name) == []
        assert bool(folder.listed()) or self.done < 2
        revision = store.revisions().get("acme", 0) + 1
        store.write(WriteBatch("acme", revision, (kept.row(99, revision),)))
        store.close()


def test_every_sync_and_rename_may_fail(tmp_path: Path) -> None:
    """Whichever sync, rename or link fails, with EIO or for lack of room, the next start is sound
    and has all that was acknowledged."""
    whole = Life(tmp_path / "whole", FailingFiles())
    whole.run()
    whole.require_sound()
    count = len(whole.files.steps)
    assert count > 20
    errors = (errno.EIO, errno.ENOSPC)
    for number in range(count) if IS_DEEP else range(2, count, 7):
        # One of the two for each call where time is short.
        for error in errors if IS_DEEP else errors[number % 2 :][:1]:
            name = f"{number}-{error}"
            life = Life(tmp_path / name, FailingFiles(number, error))
            try:
                life.run()
            except (StorageError, OSError) as raised:
                assert str(raised)
            assert len(life.files.steps) > number
            life.require_sound()
            shutil.rmtree(tmp_path / name)


CHILD = """
import sys
from pathlib import Path
from recalld.storage.store import WriteBatch
from tests.storage import kept

store = kept.open_store(Path(sys.argv[1]))
first = store.revisions().get("acme", 0) + 1
for revision in range(first, first + 6):
    rows = tuple(kept.row(revision * 2 + n, revision) for n in range(2))
    store.write(WriteBatch("acme", revision, rows))
    print(revision, flush=True)
    if revision % 3 == 0:
        store.checkpoint()
store.close()
print("closed", flush=True)
"""
CALLS = ("write", "pwrite64", "fsync,fdatasync", "rename,unlink")
ACTIONS = ("error=EIO", "error=ENOSPC", "signal=SIGKILL")
NTH_MAX = 200

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")


def run_child(data_dir: Path, inject: str) -> tuple[list[str], bool]:
    """Runs the child with one of its storage calls failing; returns what it said, and whether the
    fault came to it."""
    names = [f"{DATABASE_NAME}{end}" for end in ("", ".wal", ".new", ".new.wal")]
    paths = [part for name in names for part in ("-P", str(data_dir / name))]
    log = data_dir.with_suffix(".strace")
    calls = inject.partition(":")[0]
    done = subprocess.run(
        [
            *("strace", "-f", "-qq", "-o", str(log), "-e", f"trace={calls}"),
            *("-e", f"inject={inject}", *paths, sys.executable, "-c", CHILD, str(data_dir)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    was_hit = "INJECTED" in log.read_text() or "SIGKILL" in log.read_text()
    return done.stdout.split(), was_hit


def require_all(data_dir: Path, said: list[str]) -> None:
    """Every acknowledged batch is there, and the others are a prefix, each whole."""
    store = kept.open_store(data_dir)
    last = store.revisions().get("acme", 0)
    acknowledged = [int(word) for word in said if word.isdecimal()]
    assert last >= max(acknowledged, default=0)
    labels = [stored.record.label for stored in store.load()]
    assert labels == [revision * 2 + n for revision in range(1, last + 1) for n in range(2)]
    assert store.check() == []
    store.close()


@needs_strace
@pytest.mark.parametrize("calls", CALLS)
def test_every_system_call_may_fail(tmp_path: Path, calls: str) -> None:
    """Whichever write, sync, rename or removal of database and log fails, or is the last thing the
    process does, what was acknowledged is there at the next start."""
    actions = ACTIONS if IS_DEEP else ACTIONS[CALLS.index(calls) % 3 :][:1]
    hit_count = 0
    for action in actions:
        for nth in range(1, NTH_MAX) if IS_DEEP else (2,):
            data_dir = tmp_path / "data"
            data_dir.mkdir()
            said, was_hit = run_child(data_dir, f"{calls}:{action}:when={nth}")
            require_all(data_dir, said)
            shutil.rmtree(data_dir)
            if not was_hit:  # There are not so many of these calls.
                break
            hit_count += 1
    assert hit_count > 0
