"""Heirs: a memory that replaced another one answers what the other one would have answered.

"The cleaner's code is 5083", then "new digits for the helpers, 9164": who asks for the cleaner's
code names the older statement and needs the newer. So the newer one inherits the older one's
evidence where that is stronger, while the older one stands back or is left out. What is exact about
the older one (identifiers, keys, times) is not inherited: it need not hold of the newer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import HEIR, IDENTITY, Columns
from recalld.index.evidence import Parts, Words
from recalld.index.plan import QueryPlan
from recalld.scoring import masks
from recalld.scoring.hand_over import handing_on_into, inherit_into
from recalld.scoring.params import Channel
from recalld.scoring.rank import Rows

# What was replaced again and again is followed this far.
STEPS_MAX = 16


class Heirs(NamedTuple):
    """Rows that were replaced, and the rows that stand for them now; int64[p] each."""

    older: NDArray[np.int64]
    heir: NDArray[np.int64]


NO_HEIRS = Heirs(np.zeros(0, np.int64), np.zeros(0, np.int64))


def find_heirs(columns: Columns) -> Heirs:
    """Find what stands for each live row that was replaced or is outweighed.

    Complexity: O(n log n), once for each state of the rows.
    """
    identities, heirs = columns.links[IDENTITY, : columns.count], columns.links[HEIR]
    live = np.flatnonzero(columns.alive[: columns.count] != 0)
    older = live[heirs[live] != 0]
    if not len(older):
        return Heirs(older, older)
    order = live[np.argsort(identities[live], kind="stable")]
    known = identities[order]
    found = older.copy()
    for _ in range(STEPS_MAX):
        wanted = heirs[found]
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        moves = (wanted != 0) & (known[places] == wanted)
        if not moves.any():
            break
        found = np.where(moves, order[places], found)
    is_led = found != older
    return Heirs(older[is_led], found[is_led])


def handing_on(
    heirs: Heirs, columns: Columns, plan: QueryPlan, excluded: NDArray[np.uint8]
) -> Heirs:
    """Keep the pairs in which the older one hands on its evidence to one that may answer.

    It does when it is left out as replaced, or stands back as doubtful. Nothing is handed on when
    the request is about another time, for then the older one held.

    Args:
        heirs: of the same rows as `columns`.
        plan: the question.
        excluded: uint8[n], why a row may not answer.
    """
    if not len(heirs.older) or plan.view.as_of_us or plan.view.known_at_us:
        return NO_HEIRS
    places = np.empty(len(heirs.older), np.int64)
    doubts = columns.small[masks.DOUBT]
    places = places[: handing_on_into(excluded, doubts, *heirs, places)]
    return Heirs(heirs.older[places], heirs.heir[places])


def handing_on_to(heirs: Heirs, rows: Rows, count: int) -> Heirs:
    """Keep the pairs whose heir is among some of `count` rows."""
    if not len(heirs.older):
        return heirs
    is_named = np.zeros(count, dtype=np.bool_)
    is_named[rows] = True
    fit = is_named[heirs.heir]
    return Heirs(heirs.older[fit], heirs.heir[fit]) if fit.any() else NO_HEIRS


def inherit(
    heirs: Heirs, parts: Parts, said: Words, *, roughly: bool = False
) -> NDArray[np.uint8] | None:
    """Raise the evidence of heirs to that of what they replaced.

    Args:
        heirs: the pairs in which something is handed on.
        parts: the vector channels asked.
        said: what the channels say of the heirs; raised in place, but for the words, whose raised
            copy takes the place of what others may hold.
        roughly: by the 8-bit scan.

    Returns:
        uint8[n], 1 for rows that inherited something; None where none can.
    """
    if not len(heirs.older):
        return None
    heard = [part.channel for part in parts]
    for part in parts:
        write = part.rough if roughly else part.exact
        write(heirs.older, said[part.channel])
    if Channel.KEYWORD in said:
        raw, normalised = said[Channel.KEYWORD]
        said[Channel.KEYWORD] = raw.copy(), normalised.copy()
        heard.append(Channel.KEYWORD)
    if not heard:
        return None
    gained = np.zeros(len(said[heard[0]][1]), dtype=np.uint8)
    for channel in heard:
        inherit_into(*heirs, *said[channel], gained)
    return gained
