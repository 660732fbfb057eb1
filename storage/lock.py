"""One process per data directory.

The lock is the kernel's (`flock` on the file `LOCK`), so it vanishes with its holder, also after
kill -9; the JSON inside only tells who it is. The file is never removed: removing it would let
two processes lock two different files of one name.

Invariants: at most one `DirectoryLock` is held per directory on one machine; the holder's text is
written only after the lock is held. Where the directory cannot be written, the lock is taken all
the same (on the directory itself if there is no file), and nothing is told of the holder.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from recalld.storage.errors import DirectoryLocked

LOCK_FILE_NAME = "LOCK"
HOLDER_BYTES_MAX = 4_096
UNWRITABLE_ERRNOS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})
"""The lock file cannot be made or written; whatever is there can still be read."""


class DirectoryLock:
    """An exclusive hold on a data directory, from construction to `release`.

    Also a context manager.
    """

    def __init__(self, data_dir: Path, *, listen_address: str, now_us: int) -> None:
        """Takes the lock or refuses at once.

        Args:
            data_dir: existing directory.
            listen_address: where this process serves; told to whoever is refused.
            now_us: start time, microseconds since the epoch.

        Raises:
            DirectoryLocked: another process, or another lock of this one, holds it.
            OSError: the directory cannot be opened.
        """
        self._descriptor, is_writable = _opened(data_dir)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise DirectoryLocked(data_dir, read_holder(data_dir)) from None
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "listen_address": listen_address,
            "start_time_us": now_us,
        }
        self._held = True
        if is_writable:
            # A full disk is no reason not to serve; whoever is refused is told less.
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, json.dumps(holder).encode(), 0)

    def release(self) -> None:
        """Lets go; a second call does nothing."""
        if self._held:
            self._held = False
            os.close(self._descriptor)

    def __enter__(self) -> DirectoryLock:
        """Returns itself, already held."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Releases."""
        self.release()


def _opened(data_dir: Path) -> tuple[int, bool]:
    """A descriptor to lock, and whether it can be written."""
    path = data_dir / LOCK_FILE_NAME
    try:
        # No O_TRUNC: the one who is refused must not wipe the holder's text.
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), True
    except OSError as error:
        if error.errno not in UNWRITABLE_ERRNOS:
            raise
    target = path if path.exists() else data_dir
    return os.open(target, os.O_RDONLY | os.O_CLOEXEC), False


def read_holder(data_dir: Path) -> dict[str, object]:
    """Returns what the present or last holder wrote about itself; empty when unreadable."""
    try:
        with (data_dir / LOCK_FILE_NAME).open("rb") as file:
            holder = json.loads(file.read(HOLDER_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}
