"""Many who read a file, and now and then one who needs it alone; those who come meanwhile wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Readers:
    """Who is at a file. Thread safety: both contexts may be entered from any thread."""

    def __init__(self) -> None:
        """Starts with nobody."""
        self._changed = threading.Condition()
        self._active_count = 0
        self._is_alone = False

    @contextmanager
    def reading(self, require_open: Callable[[], None]) -> Iterator[None]:
        """One more reader inside; `require_open` is asked when nobody needs the file alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            require_open()
            self._active_count += 1
        try:
            yield
        finally:
            with self._changed:
                self._active_count -= 1
                self._changed.notify_all()

    @contextmanager
    def nobody(self) -> Iterator[None]:
        """No reader is inside; those that come wait."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            self._is_alone = True
            self._changed.wait_for(lambda: not self._active_count)
        with self._alone():
            yield

    @contextmanager
    def nobody_now(self) -> Iterator[bool]:
        """As `nobody` where no reader is inside at this moment; else False, and nobody waits."""
        with self._changed:
            is_free = not (self._is_alone or self._active_count)
            self._is_alone = self._is_alone or is_free
        if is_free:
            with self._alone():
                yield True
        else:
            yield False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """What follows when it is taken: others come in again afterwards."""
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()
