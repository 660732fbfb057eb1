"""Waiting work of several owners, taken in turns.

Whoever has a thousand things waiting delays the others by one of them, not by a thousand. Within
one owner the order is that of arrival; with a single owner this is a plain queue.

It never looks at the work and knows no lock: the caller holds one where threads meet.
Invariants: an owner with nothing waiting is not in the round; every operation but `remove` and
iteration is O(1).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def share_of(limit: int, owner_count: int) -> int:
    """What one of several owners may hold of something bounded: room stays for one more owner.

    Args:
        limit: of all owners together, >= 1.
        owner_count: owners that hold something, the asking one included, >= 1.

    Returns:
        At least 1, at most half of the limit (but for a limit of 1).
    """
    return max(1, limit // (owner_count + 1))


class Turns(Generic[T]):
    """A queue per owner, and whose turn it is."""

    def __init__(self) -> None:
        """Start with nothing waiting."""
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._queues)

    def __iter__(self) -> Iterator[T]:
        """Everything that waits, owner by owner."""
        return (item for queue in self._queues.values() for item in queue)

    def add(self, owner: str, item: T) -> None:
        """Put an item behind those of its owner; a new owner comes last in the round."""
        self._queues.setdefault(owner, deque()).append(item)

    def first(self) -> T:
        """The oldest item of the owner whose turn it is.

        Raises:
            StopIteration: nothing waits.
        """
        return next(iter(self._queues.values()))[0]

    def drop_first(self) -> None:
        """Take the item of `first` out; the turn stays with its owner while it has more."""
        owner, queue = next(iter(self._queues.items()))
        queue.popleft()
        if not queue:
            del self._queues[owner]

    def pass_on(self, owner: str) -> None:
        """End an owner's turn: it comes last in the round from here on."""
        if owner in self._queues:
            self._queues.move_to_end(owner)

    def remove(self, owner: str, item: T) -> bool:
        """Take an item out wherever it stands; False when it does not wait."""
        queue = self._queues.get(owner)
        if queue is None or item not in queue:
            return False
        queue.remove(item)
        if not queue:
            del self._queues[owner]
        return True

    def clear(self) -> None:
        """Forget everything that waits."""
        self._queues.clear()
