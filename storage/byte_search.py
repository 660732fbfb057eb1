"""Whether any of some byte patterns stands in a file, in one pass over the file for all of them.

It reads files and changes nothing. A pattern is looked for by eight of its bytes, at every offset;
what has these is then compared whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from recalld.storage.background import stepped_back

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
        """The patterns that stand somewhere in a file; calls come first.

        Raises:
            OSError: it cannot be read.
        """
        return stepped_back(partial(self._found_in, path)) if self._by_window else set()

    def _found_in(self, path: Path) -> set[bytes]:
        found: set[bytes] = set()
        kept_count = self._length_max + WINDOW_BYTES
        # Read into place: to join the blocks would keep Python's lock for a millisecond each.
        buffer = bytearray(kept_count + BLOCK_BYTES)
        view, kept = memoryview(buffer), 0
        with path.open("rb") as file:
            while count := file.readinto(view[kept : kept + BLOCK_BYTES]):
                end = kept + count
                found.update(self._in(buffer, end))
                kept = min(end, kept_count)
                view[:kept] = view[end - kept : end]
        return found

    def _in(self, data: bytearray, end: int) -> Iterator[bytes]:
        for offset in range(WINDOW_BYTES):
            count = (end - offset) // WINDOW_BYTES
            if count <= 0:
                return
            windows = np.frombuffer(data, "<u8", count, offset)
            for place in np.flatnonzero(self._table[_places(windows)]).tolist():
                for pattern, start in self._by_window.get(int(windows[place]), ()):
                    begin = offset + place * WINDOW_BYTES - start
                    if begin >= 0 and data.startswith(pattern, begin, end):
                        yield pattern


def _rarest_window(pattern: bytes) -> int:
    """Where the window of a pattern begins: the last one with the most different bytes.

    A run of zeros stands everywhere in a file, and texts differ the most at their ends.
    """
    windows = np.sort(sliding_window_view(np.frombuffer(pattern, np.uint8), WINDOW_BYTES))
    repeated = np.count_nonzero(windows[:, 1:] == windows[:, :-1], axis=1)
    return len(windows) - 1 - int(np.argmin(repeated[::-1]))


def _places(windows: np.ndarray) -> np.ndarray:
    return (windows * _FACTOR) >> _SHIFT
