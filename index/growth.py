"""Growing arrays: spare capacity behind what readers look at.

It never changes an entry below `used`, so a reader that holds the old array, or the same array and
an older count, sees no difference.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

CAPACITY_MIN = 16


def grown(array: NDArray[T], used: int, needed: int, axis: int = 0) -> NDArray[T]:
    """Return an array with room for `needed` entries along `axis`.

    Args:
        array: C-contiguous, of any dtype.
        used: entries along `axis` that hold data.
        needed: entries wanted.
        axis: 0, or 1 for blocks of columns.

    Returns:
        `array` itself when it has room, else a copy of its used part with half as much again, or,
        of an empty one, with no more than wanted; new entries are zero.
    """
    if array.shape[axis] >= needed:
        return array
    shape = list(array.shape)
    # What is loaded in one piece often stays as it is.
    shape[axis] = max(CAPACITY_MIN, needed + needed // 2) if used else needed
    larger = np.zeros(shape, dtype=array.dtype)
    if axis == 0:
        larger[:used] = array[:used]
    else:
        larger[:, :used] = array[:, :used]
    return larger
