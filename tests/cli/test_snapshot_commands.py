"""snapshot create, list, verify and delete against a real server."""

from __future__ import annotations

import json

from recalld.client.testing import RunningServer
from recalld.storage.snapshots import FOLDER_NAME

from .conftest import Recalld


def test_the_life_of_a_snapshot(recalld: Recalld, real_server: RunningServer) -> None:
    """It is taken, listed, found in order, found damaged, and removed, with the exit codes."""
    assert "name: cli-1" in recalld("snapshot", "create", "cli-1").lines
    made = json.loads(recalld("snapshot", "create", "cli-2", "--json").out)
    assert (made["name"], made["state"]) == ("cli-2", "ready")
    listed = [json.loads(line) for line in recalld("snapshot", "list", "--json").lines]
    assert [one["name"] for one in listed if one["name"].startswith("cli-")] == ["cli-2", "cli-1"]
    assert any(line.startswith("cli-1\tready\t") for line in recalld("snapshot", "list").lines)
    assert recalld("snapshot", "verify", "cli-1").lines == ["in order"]
    (database,) = (real_server.data_dir / FOLDER_NAME / "cli-2").glob("*.duckdb")
    database.write_bytes(b"short")
    ran = recalld("snapshot", "verify", "cli-2")
    assert (ran.code, "5 bytes, expected" in ran.out, "is damaged" in ran.err) == (1, True, True)
    ran = recalld("snapshot", "verify", "cli-2", "--json")
    assert (ran.code, json.loads(ran.out)["ok"]) == (1, False)
    for name in ("cli-1", "cli-2"):
        assert recalld("snapshot", "delete", name).lines == [f"removed {name}"]
    assert recalld("snapshot", "delete", "cli-1").code == 3


def test_wrong_names(recalld: Recalld) -> None:
    """A malformed name ends with 2, a taken one with 1, an unknown one with 3."""
    assert recalld("snapshot", "create", "../x").code == 2
    assert recalld("snapshot", "create", "cli-3").code == 0
    ran = recalld("snapshot", "create", "cli-3")
    assert (ran.code, "exists" in ran.err) == (1, True)
    assert recalld("snapshot", "verify", "cli-none").code == 3
    recalld("snapshot", "delete", "cli-3")


def test_the_help_shows_examples(bare_recalld: Recalld) -> None:
    """Every command has an example, and restore says that the server must be stopped."""
    for name in ("create", "list", "verify", "delete"):
        assert f"recalld snapshot {name}" in bare_recalld("snapshot", name, "--help").out
    assert "stopped server" in bare_recalld("restore", "--help").out
