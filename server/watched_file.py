"""A small file that is read again whenever it changes: credentials are revoked without a restart.

What cannot be read lets nobody in; the last good content is not used any longer, for it may hold
what was just revoked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from recalld.server.errors import ConfigError, NotReady

T = TypeVar("T")

FILE_BYTES_MAX = 16 * 1024 * 1024
OPEN_TO_OTHERS = stat.S_IWGRP | stat.S_IRWXO
"""A group may read, as it does a mounted secret; writing is the owner's, others get nothing."""


def read_private(path: Path) -> bytes:
    """Content of a file that must not be open to others.

    Raises:
        ConfigError: it cannot be read, is too large, or its mode is too wide; names the file.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if mode & OPEN_TO_OTHERS:
        raise ConfigError(f"{path}: has the mode {mode:04o}; at most 0640 is taken (chmod 600)")
    if len(data) > FILE_BYTES_MAX:
        raise ConfigError(f"{path}: has more than {FILE_BYTES_MAX} bytes")
    return data


class WatchedFile(Generic[T]):
    """The parsed content of a file as it is now.

    Thread safety: of one thread only.
    """

    def __init__(self, path: Path, parse: Callable[[Path], T], log: Any) -> None:
        """Read it once.

        Args:
            path: the file.
            parse: reads and checks it; raises ConfigError.
            log: told when a changed file cannot be used, once for each change.

        Raises:
            ConfigError: it cannot be used.
        """
        self._path = path
        self._parse = parse
        self._log = log
        self._stamp = self._look()
        self._content: T | None = parse(path)

    def current(self) -> T:
        """The content, read again if the file changed.

        Raises:
            NotReady: the file as it is now cannot be used.
        """
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._content = self._parse(self._path)
            except ConfigError as error:
                self._content = None
                self._log.error("credentials cannot be read, nobody is let in", problem=str(error))
        if self._content is None:
            raise NotReady("the server cannot read its credentials")
        return self._content

    def _look(self) -> tuple[int, ...]:
        """What changes with the file; () when it is not there."""
        try:
            found = os.stat(self._path)
        except OSError:
            return ()
        return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
