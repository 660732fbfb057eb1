"""A book: which memories belong to a key, such as a slot, a group or a saying.

Nearly every key has one label, so that one is kept bare: a list around each would take 64 bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Book(Generic[K]):
    """Labels by key, in the order in which they were entered; keys without labels do not stay."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: dict[K, int | list[int]] = {}

    def __len__(self) -> int:
        """Keys that have labels."""
        return len(self._entries)

    def get(self, key: K) -> Sequence[int]:
        """The labels of a key, oldest entry first; none where it has none."""
        held = self._entries.get(key, ())
        return (held,) if isinstance(held, int) else tuple(held)

    def enter(self, key: K, label: int) -> None:
        """Add a label, not there yet, behind those of a key."""
        held = self._entries.setdefault(key, label)
        if isinstance(held, list):
            held.append(label)
        elif held != label:
            self._entries[key] = [held, label]

    def strike(self, key: K, label: int) -> None:
        """Take a label that is there out."""
        held = self._entries[key]
        if isinstance(held, int):
            del self._entries[key]
            return
        held.remove(label)
        if len(held) == 1:
            self._entries[key] = held[0]
