"""Damaged directories and a real server: it is ready, or refuses and names the file; never empties.

Faults of the disk itself are in tests/storage/test_read_only.py and tests/server/test_read_only.py.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recalld.client.testing import ServerFailed, running_server
from recalld.storage.database_file import DATABASE_NAME, wal_path
from recalld.storage.errors import Corrupt
from recalld.storage.read_only import open_store
from recalld.storage.store import WriteBatch
from recalld.v1 import admin_service_pb2 as admin
from tests.crash.phases import killed_start
from tests.server.core import memory, remember_request
from tests.server.stubs import Stubs
from tests.storage import kept

WAIT_S = 60
MEMORY_COUNT = 40
LOOP_COUNT = 3
CYCLE_COUNT = 10


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a killed server leaves: a database, a snapshot, and rows that only the log has."""
    data_dir = tmp_path_factory.mktemp("killed")
    with running_server(data_dir=data_dir) as server:
        with Stubs(server.target) as stubs:
            first = [memory(f"first {n}", kind=4) for n in range(MEMORY_COUNT // 2)]
            stubs.memory.Remember(remember_request("u", *first), timeout=WAIT_S)
            request = admin.CreateSnapshotRequest(name="one")
            stubs.admin.CreateSnapshot(request, timeout=WAIT_S)
            server.stop()
            server.restart()
            rest = [memory(f"rest {n}", kind=4) for n in range(MEMORY_COUNT // 2)]
            stubs.memory.Remember(remember_request("u", *rest), timeout=WAIT_S)
        server.kill()
    assert wal_path(data_dir / DATABASE_NAME).stat().st_size > 0
    return data_dir


@pytest.fixture
def data_dir(killed: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    shutil.copytree(killed, tmp_path / "data")
    return tmp_path / "data"


def garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8:200] = bytes(random.Random(1).randbytes(192))
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_log(path: Path) -> None:
    content = bytearray(wal_path(path).read_bytes())
    content[len(content) // 2] ^= 1
    wal_path(path).write_bytes(content)


def lose_both(path: Path) -> None:
    path.unlink()
    wal_path(path).unlink()


def files(data_dir: Path) -> dict[str, bytes]:
    """Every file but the one that says who holds the directory."""
    found = (path for path in sorted(data_dir.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(data_dir)): path.read_bytes() for path in found if path.name != "LOCK"
    }


@pytest.mark.parametrize("damage", [garble, cut, empty, flip_log, Path.unlink, lose_both])
def test_damage_is_refused_and_left_as_it_is(
    data_dir: Path, damage: Callable[[Path], None]
) -> None:
    """Whatever is garbled, cut, emptied or lost: the refusal names the file, and none changes."""
    path = data_dir / DATABASE_NAME
    damage(path)
    before = files(data_dir)
    with pytest.raises(Corrupt, match=DATABASE_NAME):
        open_store(data_dir, kept.options())
    assert files(data_dir) == before


@pytest.mark.parametrize("damage", [garble, lose_both])
def test_a_server_refuses_a_damaged_database(
    data_dir: Path, damage: Callable[[Path], None]
) -> None:
    """The start ends with the file's name and leaves every file as it was."""
    path = data_dir / DATABASE_NAME
    damage(path)
    before = files(data_dir)
    with pytest.raises(ServerFailed, match="error: ") as failed, running_server(data_dir=data_dir):
        pass
    said = next(line for line in str(failed.value).splitlines() if line.startswith("error: "))
    assert str(path) in said
    assert files(data_dir) == before


def test_a_damaged_database_is_brought_back_by_its_snapshot(data_dir: Path) -> None:
    """`recalld restore` puts the snapshot in place and keeps the damaged file beside it."""
    path = data_dir / DATABASE_NAME
    garble(path)
    damaged = path.read_bytes()
    command = [sys.executable, "-m", "recalld.server", "restore", "one", "--data-dir"]
    subprocess.run([*command, str(data_dir)], check=True, capture_output=True, timeout=WAIT_S)
    assert path.with_name(f"{DATABASE_NAME}.damaged-1").read_bytes() == damaged
    with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
        assert stubs.state("u")[0] == MEMORY_COUNT // 2


def test_a_zero_filled_tail_is_cut_and_told(data_dir: Path) -> None:
    """A log whose last record ends in zeros costs that record only; a copy is kept, and told."""
    log = wal_path(data_dir / DATABASE_NAME)
    log.write_bytes(log.read_bytes()[:-40] + bytes(40))
    with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
        assert stubs.state("u")[0] == MEMORY_COUNT // 2
        assert any(f"{log.name}.damaged-1" in line for line in server.log_lines())


def test_a_crash_loop_changes_nothing(data_dir: Path) -> None:
    """Killed again and again while it starts, the server is ready with everything at last."""
    choose = random.Random(3)
    for _ in range(LOOP_COUNT):
        killed_start(data_dir, (data_dir / "LOCK").exists, choose)
    with running_server(data_dir=data_dir) as server, Stubs(server.target) as stubs:
        assert stubs.state("u")[0] == MEMORY_COUNT


def test_kills_and_quiet_stops_in_turn_keep_every_key(tmp_path: Path) -> None:
    """Killed, opened, closed without a write and opened again, look-ups by key equal a scan."""
    data_dir = tmp_path / "0"
    for cycle in range(1, CYCLE_COUNT + 1):
        store = kept.open_store(data_dir)
        store.write(WriteBatch("acme", cycle, (kept.row(1, cycle), kept.row(cycle + 1, cycle))))
        shutil.copytree(data_dir, tmp_path / str(cycle))
        store.close()
        data_dir = tmp_path / str(cycle)
        kept.open_store(data_dir).close()
        store = kept.open_store(data_dir)
        assert store.check() == []
        assert len(list(store.load())) == cycle + 1
        store.close()
