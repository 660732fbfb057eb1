"""What a store lacks for a while: room on the disk, a quota, descriptors; and whether it is back.

It tells such failures from those after which nobody knows what is on the disk. It leaves no file.
"""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

PASSING_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""The system refused before anything was written, and may not refuse the next time."""
ROOM_BYTES = 1024 * 1024
"""Less is no room: the next writes would only fail again."""


def is_passing(error: BaseException) -> bool:
    """Tells whether an OSError or FileRefused says that something is lacking that can come back."""
    return getattr(error, "errno", None) in PASSING_ERRNOS


def require_room(directory: Path) -> None:
    """Writes `ROOM_BYTES` into a file without a name, as the system may refuse it only then.

    Raises:
        OSError: there is no room, or no descriptor.
    """
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        file.write(bytes(ROOM_BYTES))
