"""Faults of the file system for tests: calls that fail, a small disk, a read-only one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.storage.fsio import Files

DISK_MIB = 16
BLOCK_BYTES = 4_096


class FailingFiles(Files):
    """The real file system, whose n-th sync, rename or link fails; counts them all."""

    def __init__(self, fail_at: int = -1, error: int = errno.EIO) -> None:
        self.steps: list[str] = []
        self.fail_at = fail_at
        self.error = error

    def step(self, name: str, path: Path) -> None:
        self.steps.append(name)
        if len(self.steps) - 1 == self.fail_at:
            raise OSError(self.error, os.strerror(self.error), str(path))

    def sync_file(self, path: Path) -> None:
        self.step("sync", path)
        super().sync_file(path)

    def sync_directory(self, path: Path) -> None:
        self.step("sync directory", path)
        super().sync_directory(path)

    def rename(self, source: Path, target: Path) -> None:
        self.step("rename", target)
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        self.step("link", target)
        super().link(source, target)


class Disk:
    """A small file system of its own, which can be filled and made read-only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leaves not one block free."""
        with contextlib.suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(BLOCK_BYTES))

    def free(self) -> None:
        """Gives the room back."""
        self._ballast.unlink()

    def remount(self, mode: str) -> None:
        """Makes it `ro` or `rw`."""
        command = ["mount", "-o", f"remount,{mode}", str(self.path)]
        subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[Disk]:
    """A tmpfs mounted at `path`; the test is skipped where that cannot be done."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(path)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root")
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this machine does not let a small disk be mounted")
    try:
        yield Disk(path)
    finally:
        # Lazily: a file may still be open in a server that a failed test left behind.
        subprocess.run(["umount", "-l", str(path)], check=True, capture_output=True)
