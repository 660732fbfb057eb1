"""Repairs a write-ahead log whose end the disk filled with zeros, as a loss of power can leave it.

DuckDB refuses such a log, though all that was acknowledged stands before the zeros. The original
is copied aside first and never touched again. It never judges anything but zeros. It also takes
back what a failed commit of this process left at the end.

Invariants: a kill at any moment leaves either the zeros (the repair runs again) or the cut log;
every record of the log ends in a non-zero byte, so cutting zeros cuts no whole record.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from recalld.storage.fsio import Files

DAMAGED_INFIX = ".damaged-"
READ_BYTES = 1024 * 1024


def zero_tail_bytes(path: Path) -> int:
    """Returns how many zero bytes end the file; 0 when it does not exist."""
    if not path.exists():
        return 0
    size = end = path.stat().st_size
    with path.open("rb") as file:
        while end > 0:
            start = max(0, end - READ_BYTES)
            file.seek(start)
            block = file.read(end - start).rstrip(b"\0")
            end = start + len(block)
            if block:
                break
    return size - end


def cut_zero_tail(path: Path, files: Files) -> tuple[Path, int]:
    """Cuts the zeros off the end of `path`, durably, after keeping a durable copy of it.

    Args:
        path: the log; ends in at least one zero byte.
        files: sync operations.

    Returns:
        The copy, `<name>.damaged-<n>` with the first free n from 1, and the bytes cut.

    Raises:
        OSError: the copy could not be made; the log is unchanged.
    """
    cut_bytes = zero_tail_bytes(path)
    assert cut_bytes > 0
    number = 1
    while (copy := path.with_name(f"{path.name}{DAMAGED_INFIX}{number}")).exists():
        number += 1
    shutil.copyfile(path, copy)
    files.sync_file(copy)
    files.sync_directory(path.parent)
    os.truncate(path, path.stat().st_size - cut_bytes)
    files.sync_file(path)
    return copy, cut_bytes


def cut_to(path: Path, size_bytes: int, files: Files) -> None:
    """Takes back, durably, what stands behind the last acknowledged record; the log is not open.

    Args:
        path: the log; nothing is done when it is not longer than that, or gone.
        size_bytes: where the last acknowledged record ends; 0 = the log holds none.
        files: sync operations.

    Raises:
        OSError: it could not be cut.
    """
    if not path.exists() or path.stat().st_size <= size_bytes:
        return
    if size_bytes:
        os.truncate(path, size_bytes)
        files.sync_file(path)
    else:  # A log begins with a header that an empty file lacks.
        path.unlink()
        files.sync_directory(path.parent)
