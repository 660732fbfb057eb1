"""Witnesses: which channels speak for a hit, and how firmly, as one number.

It never says what that means; the server does, in words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel

Marks = NDArray[np.int64]


@kernel("f32[:,:]", "f32[:]", "i64[:]", "f64[:]", "out i64[:]")
def marks_into(said, weights, channels, least, marks):  # type: ignore[no-untyped-def]
    """Write for each hit which of some conditions hold.

    Args:
        said: float32[h, >= CHANNEL_COUNT], in 0..1.
        weights: float32[CHANNEL_COUNT]; a channel without weight was not asked, and says nothing.
        channels, least: int64[c] and float64[c], c <= 63: condition i holds where what the channel
            says is at least so much, or more than 0 where that is 0.
        marks: int64[h], written: bit i is set where condition i holds.
    """
    for place in range(marks.shape[0]):
        mark = np.int64(0)
        for i in range(channels.shape[0]):
            value = np.float64(said[place, channels[i]])
            if weights[channels[i]] > 0 and value > 0 and value >= least[i]:
                mark |= np.int64(1) << np.int64(i)
        marks[place] = mark
