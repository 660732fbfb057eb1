"""Sealed originals as a store takes and gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SealedValue:
    """An original that was sealed, stored beside a memory whose text holds its placeholder.

    Attributes:
        label: row of the memory.
        placeholder: what stands for it in the text; not empty, once a memory.
        data: the encrypted original, opaque here; not empty.
    """

    label: int
    placeholder: str
    data: bytes


class SealedStore(Protocol):
    """The part of a store that keeps sealed originals; they are written with their memories.

    Thread safety: every method may be called from any thread.
    """

    def find(self, label: int) -> dict[str, bytes]:
        """Returns the durable sealed values of a row by placeholder; empty when it has none."""
        ...

    def prune(self) -> int:
        """Removes sealed values whose row is gone, durably; returns how many."""
        ...
