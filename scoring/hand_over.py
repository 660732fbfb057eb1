"""Evidence that a memory hands over to another: to what replaced it, or to its neighbours in talk.

It never decides who hands over; the index does.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring.kernel import kernel
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Doubt

_NO, _SUPERSEDED, _NONE = int(Excluded.NO), int(Excluded.SUPERSEDED), int(Doubt.NONE)


@kernel("u8[:]", "u8[:]", "i64[:]", "i64[:]", "out i64[:]", returns="i64")
def handing_on_into(excluded, doubts, older, heir, places):  # type: ignore[no-untyped-def]
    """Write which pairs hand on: the older row is replaced or doubtful, and its heir may answer.

    Args:
        excluded: uint8[n], numbers of `Excluded`.
        doubts: uint8[>= n], numbers of `Doubt`.
        older, heir: int64[p], rows.
        places: int64[p], written with places in `older`, ascending.

    Returns:
        How many were written.
    """
    count = 0
    for i in range(older.shape[0]):
        why = excluded[older[i]]
        stands_back = why == _NO and doubts[older[i]] != _NONE
        if (stands_back or why == _SUPERSEDED) and excluded[heir[i]] == _NO:
            places[count] = i
            count += 1
    return count


@kernel("i64[:]", "i64[:]", "out f32[:]", "out f32[:]", "out u8[:]")
def inherit_into(older, heir, raw, normalised, gained):  # type: ignore[no-untyped-def]
    """Raise what one channel says of heirs to what it says of the rows that they replaced.

    Args:
        older: int64[p], rows; one that is an heir itself hands over what is its own.
        heir: int64[p], the row that gets it. Of several the strongest counts, of equal ones the
            first.
        raw, normalised: float32[n], raised.
        gained: uint8[n], set to 1 where something was raised.
    """
    count = older.shape[0]
    given = np.empty((2, count), dtype=np.float32)
    for i in range(count):
        given[0, i] = raw[older[i]]
        given[1, i] = normalised[older[i]]
    for i in range(count):
        row = heir[i]
        if given[1, i] > normalised[row]:
            raw[row] = given[0, i]
            normalised[row] = given[1, i]
            gained[row] = 1


@kernel("f32[:]", "u8[:]", "(i64[:]; i64[:])", "f64", "out f32[:]", "out f32[:]")
def beside_into(evidence, excluded, pairs, full, raw, normalised):  # type: ignore[no-untyped-def]
    """Write the evidence of each row's best neighbour.

    Args:
        evidence: float32[n], >= 0.
        excluded: uint8[n], 0 = may answer; other rows say nothing of their neighbours.
        pairs: rows int64[p] and the rows int64[p] that come right behind them.
        full: evidence from which on more says nothing more, > 0.
        raw: float32[n], zeros; raised to the larger evidence of a row's neighbours.
        normalised: float32[n], zeros; raised to `raw / full`, at most 1.
    """
    earlier, later = pairs
    share = np.float32(1.0 / full)
    for i in range(earlier.shape[0]):
        for side in range(2):
            row = earlier[i] if side == 0 else later[i]
            other = later[i] if side == 0 else earlier[i]
            if excluded[other] == 0 and evidence[other] > raw[row]:
                raw[row] = evidence[other]
                normalised[row] = min(raw[row] * share, np.float32(1.0))
