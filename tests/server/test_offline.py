"""`recalld restore` on a stopped server's directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from recalld.client.testing import running_server
from recalld.storage.database_file import DATABASE_NAME
from recalld.v1 import admin_service_pb2 as admin
from tests.server.core import memory, remember_request
from tests.server.stubs import Stubs

WAIT_S = 120


def restore(data_dir: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    command = [sys.executable, "-m", "recalld.server", "restore", name, "--data-dir", str(data_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)


def test_restore_with_the_server_stopped(tmp_path: Path) -> None:
    """Refused while a server holds the directory, which it names; done when that is stopped."""
    with running_server(data_dir=tmp_path) as server:
        with Stubs(server.target) as stubs:
            stubs.memory.Remember(remember_request("u", memory("before")), timeout=WAIT_S)
            request = admin.CreateSnapshotRequest(name="one")
            stubs.admin.CreateSnapshot(request, timeout=WAIT_S)
            stubs.memory.Remember(remember_request("u", memory("after")), timeout=WAIT_S)
        refused = restore(tmp_path, "one")
        assert (refused.returncode, f"pid {server.process.pid}" in refused.stderr) == (1, True)
        server.stop()
        unknown = restore(tmp_path, "two")
        assert (unknown.returncode, "'two'" in unknown.stderr) == (3, True)
        (tmp_path / DATABASE_NAME).write_bytes(b"x" * 100)
        done = restore(tmp_path, "one")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0] == f"restored one: 1 memories in {tmp_path}"
        assert "was damaged" in done.stdout and ".damaged-1" in done.stdout
        server.restart()
        with Stubs(server.target) as stubs:
            assert stubs.state("u")[0] == 1


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    """A missing data directory is an error that names it, and is not made."""
    missing = restore(tmp_path / "none", "one")
    assert (missing.returncode, "no directory" in missing.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
