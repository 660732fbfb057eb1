"""Kill -9 of a real process that writes to the store, at random moments.

The child acknowledges each batch on its standard output after the store did; the parent kills,
reopens, and holds the store to what was acknowledged.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from recalld.storage.database_file import DATABASE_NAME
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore

KILL_COUNT = int(os.environ.get("CRASH_ROUNDS", "8"))
CREATION_KILL_COUNT = 6
ROWS_PER_BATCH = 4
RUN_S_MAX = 0.25
CREATION_S_MAX = 0.03

# Three tenants write at once; every batch adds ROWS_PER_BATCH - 1 rows and rewrites one old row.
WRITER = """
import sys, threading
from pathlib import Path
import numpy as np
from recalld.storage.duckdb_store import DuckDBOptions, DuckDBStore
from recalld.storage.record import MemoryRecord, Scope
from recalld.storage.store import StoredMemory, StoredRequest, WriteBatch

rows_per_batch = int(sys.argv[2])
print("ready", flush=True)
store = DuckDBStore(Path(sys.argv[1]), DuckDBOptions(1, "test"))
print("open", flush=True)
said = threading.Lock()

def row(label, tenant, revision):
    record = MemoryRecord(label=label, id=f"{label:032x}", scope=Scope(tenant, "ann"), kind=1,
                          content=f"{revision} " + "x" * 500, event_time_us=1, revision=revision)
    return StoredMemory(record, np.full(384, revision, np.float32), "model")

def write(number):
    tenant = f"tenant-{number}"
    revision = store.revisions().get(tenant, 0)
    while True:
        revision += 1
        labels = [number, *store.allocate_labels(rows_per_batch - 1)]
        request = StoredRequest(tenant, str(revision), "m", b"h", b"r", revision)
        rows = tuple(row(label, tenant, revision) for label in labels)
        store.write(WriteBatch(tenant, revision, rows, request))
        with said:
            print(tenant, revision, flush=True)
        if revision % 20 == 0:
            store.checkpoint()

store.allocate_labels(max(0, 4 - store.allocate_labels(0).start))
for number in (1, 2, 3):
    threading.Thread(target=write, args=(number,)).start()
"""


def run_and_kill(data_dir: Path, after: str, delay_s: float) -> dict[str, int]:
    """Runs the writer, kills it `delay_s` after it said `after`; returns acknowledged revisions."""
    arguments = [sys.executable, "-c", WRITER, str(data_dir), str(ROWS_PER_BATCH)]
    acknowledged: dict[str, int] = {}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == after:
                break
        killer = threading.Timer(delay_s, child.kill)
        killer.start()
        for line in child.stdout:
            words = line.split()
            # The kill may cut the last line.
            if len(words) == 2 and line.endswith("\n"):
                acknowledged[words[0]] = int(words[1])
        killer.join()
    return acknowledged


def require_sound(data_dir: Path, acknowledged: dict[str, int], copy_dir: Path) -> None:
    """Every acknowledged batch is there, each tenant has a prefix of its batches, none half.

    Looks at a copy: the next child must meet the files as the kill left them.
    """
    shutil.copytree(data_dir, copy_dir)
    store = DuckDBStore(copy_dir, DuckDBOptions(2, "test"))
    try:
        assert store.check() == []
        revisions = store.revisions()
        found: dict[str, list[int]] = {tenant: [] for tenant in revisions}
        for stored in store.load():
            record = stored.record
            assert stored.vector is not None
            assert record.content.startswith(f"{record.revision} ")
            assert set(stored.vector.tolist()) == {float(record.revision)}
            found[record.scope.tenant].append(record.revision)
        for tenant, revision in acknowledged.items():
            assert revisions[tenant] >= revision
        for tenant, last in revisions.items():
            # One old row is rewritten by every batch, so it carries the newest revision.
            expected = [r for r in range(1, last + 1) for _ in range(ROWS_PER_BATCH - 1)]
            assert sorted(found[tenant]) == sorted([*expected, last])
            for revision in range(1, last + 1):
                assert store.find_request(tenant, str(revision)) is not None
            assert store.find_request(tenant, str(last + 1)) is None
    finally:
        store.close()


def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Over many kills of one directory no acknowledged batch is lost and none is half there."""
    choose = random.Random(4)
    acknowledged: dict[str, int] = {}
    for number in range(KILL_COUNT):
        acknowledged |= run_and_kill(tmp_path / "data", "open", choose.uniform(0.01, RUN_S_MAX))
        require_sound(tmp_path / "data", acknowledged, tmp_path / str(number))
    assert sum(acknowledged.values()) > KILL_COUNT


def test_a_creation_killed_at_any_moment_is_completed_by_the_next_start(tmp_path: Path) -> None:
    """A directory whose creation was killed opens at the next start, sound and writable."""
    choose = random.Random(5)
    for number in range(CREATION_KILL_COUNT):
        data_dir = tmp_path / str(number)
        delay_s = choose.uniform(0, CREATION_S_MAX)
        data_dir.mkdir()
        acknowledged = run_and_kill(data_dir, "ready", delay_s)
        require_sound(data_dir, acknowledged, tmp_path / f"copy{number}")
        assert (tmp_path / f"copy{number}" / DATABASE_NAME).exists()
