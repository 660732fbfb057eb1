"""`recalld restore`: puts a snapshot in place of the data of a stopped server."""

from __future__ import annotations

from pathlib import Path

import typer

from recalld.server.clock import SystemClock
from recalld.server.config import Config
from recalld.server.textless import TEXTLESS_METHODS
from recalld.server.version import VERSION
from recalld.storage.duckdb_store import DuckDBOptions
from recalld.storage.lock import DirectoryLock
from recalld.storage.restore import Restored, restore


def run(config: Config, name: str) -> None:
    """Restore under the directory's lock and say what was done.

    Raises:
        DirectoryLocked: a server has the directory; names it.
        SnapshotNotFound, SnapshotDamaged, StorageError, OSError: see `restore`.
    """
    data_dir = config.storage.data_dir
    if not data_dir.is_dir():
        raise FileNotFoundError(f"storage.data_dir: {data_dir} is no directory")
    now_us = SystemClock().now_us()
    options = DuckDBOptions(
        now_us=now_us,
        created_by=VERSION,
        memory_limit_bytes=config.storage.memory_limit_mb * 1024 * 1024,
    )
    with DirectoryLock(data_dir, listen_address="recalld restore", now_us=now_us):
        done = restore(data_dir, name, options, TEXTLESS_METHODS)
    for line in _report(done, name, data_dir):
        typer.echo(line)


def _report(done: Restored, name: str, data_dir: Path) -> list[str]:
    lines = [f"restored {name}: {done.memory_count} memories in {data_dir}"]
    if done.dropped_count:
        lines.append(f"{done.dropped_count} memories of the snapshot stay purged")
    if done.damage:
        lines.append(f"the data before was damaged: {done.damage}")
        lines.append(f"it is kept as {done.kept_path}; remove it when you have looked at it")
    if not done.purges_known:
        lines.append(
            "what it said of purges could not be read: if this snapshot was copied from "
            "elsewhere, purge again what must not come back"
        )
    return lines
