"""Which loads go first: those that a call waits for, before those that nobody waits for.

It loads nothing itself. A load asks before each piece of its work; one that nobody waits for stands
still meanwhile, and goes on at once when a call comes to want it too.

Invariant: what is wanted never waits here, so whatever stands still goes on some day.
"""

from __future__ import annotations

import threading

Key = tuple[str, str]
"""Tenant and user id."""


class LoadPriority:
    """The loads that calls wait for. Thread safety: all methods."""

    def __init__(self) -> None:
        """Start with none."""
        self._wanted: set[Key] = set()
        self._changed = threading.Condition()

    def want(self, key: Key) -> None:
        """A call waits for this load, under way or not, until `done`."""
        with self._changed:
            self._wanted.add(key)
            self._changed.notify_all()

    def is_wanted(self, key: Key) -> bool:
        """Whether a call waits for this load."""
        return key in self._wanted

    def done(self, key: Key) -> None:
        """This load came to its end, or never began."""
        with self._changed:
            self._wanted.discard(key)
            self._changed.notify_all()

    def give_way(self, key: Key) -> None:
        """Wait until this load may go on; for the thread that does it."""
        with self._changed:
            self._changed.wait_for(lambda: not self._wanted or key in self._wanted)
