"""Whether any of some byte patterns stands in a file, in one pass over the file for all of them.

It reads files and changes nothing. A pattern is looked for by eight of its bytes, at every offset;
what has these is then compared whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

WINDOW_BYTES = 8
BLOCK_BYTES = 4 * 1024 * 1024
_TABLE_BITS = 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - _TABLE_BITS)


class Patterns:
    """Byte patterns to look for; those shorter than `WINDOW_BYTES` are left out.

    Fewer bytes than that stand in any large file by chance.
    """

    def __init__(self, patterns: Iterable[bytes]) -> None:
        """Chooses the window of each pattern."""
        self._by_window: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
        self._length_max = 0
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        for pattern in set(patterns):
            if len(pattern) >= WINDOW_BYTES:
                start = _rarest_window(pattern)
                window = int.from_bytes(pattern[start : start + WINDOW_BYTES], "little")
                self._by_window[window].append((pattern, start))
                self._length_max = max(self._length_max, len(pattern))
        if self._by_window:
            windows = np.fromiter(self._by_window, np.uint64, len(self._by_window))
            self._table[_places(windows)] = True

    def __len__(self) -> int:
        """How many are looked for."""
        return sum(len(group) for group in self._by_window.values())

    def found_in(self, path: Path) -> set[bytes]:
        """The patterns that stand somewhere in a file.

        Raises:
            OSError: it cannot be read.
        """
        found: set[bytes] = set()
        if not self._by_window:
            return found
        kept = b""
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                data = kept + block
                found.update(self._in(data))
                kept = data[-(self._length_max + WINDOW_BYTES) :]
        return found

    def _in(self, data: bytes) -> Iterator[bytes]:
        for offset in range(WINDOW_BYTES):
            count = (len(data) - offset) // WINDOW_BYTES
            if count <= 0:
                return
            windows = np.frombuffer(data, "<u8", count, offset)
            for place in np.flatnonzero(self._table[_places(windows)]).tolist():
                for pattern, start in self._by_window.get(int(windows[place]), ()):
                    begin = offset + place * WINDOW_BYTES - start
                    if begin >= 0 and data.startswith(pattern, begin):
                        yield pattern


def _rarest_window(pattern: bytes) -> int:
    """Where the window of a pattern begins: the last one with the most different bytes.

    A run of zeros stands everywhere in a file, and texts differ the most at their ends.
    """
    starts = range(len(pattern) - WINDOW_BYTES + 1)
    return max(starts, key=lambda start: (len(set(pattern[start : start + WINDOW_BYTES])), start))


def _places(windows: np.ndarray) -> np.ndarray:
    return (windows * _FACTOR) >> _SHIFT
