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
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()
