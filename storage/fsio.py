"""File operations whose order decides what survives a crash.

The only caller of `os.fsync`, `os.rename` and `os.link`. Everything takes a `Files` as an argument,
so that tests can record, fail or stop at each one. It never reads or writes content.

Invariants: `sync_*` return only when the kernel reported success; an error is raised, never
retried (after a failed fsync the kernel may have dropped the dirty pages).
"""

from __future__ import annotations

import os
from pathlib import Path


class Files:
    """The real file system."""

    def sync_file(self, path: Path) -> None:
        """Makes the content of `path` durable.

        Raises:
            OSError: the file cannot be opened or synced.
        """
        self._sync(path, os.O_RDONLY)

    def sync_directory(self, path: Path) -> None:
        """Makes the entries of directory `path` durable: names created, renamed and removed.

        Raises:
            OSError: the directory cannot be opened or synced.
        """
        self._sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def rename(self, source: Path, target: Path) -> None:
        """Moves `source` over `target` in one step; durable after `sync_directory`.

        Raises:
            OSError: the rename was refused.
        """
        os.rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        """Gives a file a second name; durable after `sync_directory`.

        Raises:
            OSError: the name is taken, or the file system has no second names.
        """
        os.link(source, target)

    @staticmethod
    def _sync(path: Path, flags: int) -> None:
        descriptor = os.open(path, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
