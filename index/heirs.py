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
from recalld.index.evidence import FloatPair, Parts, Rows, Words, exact_scores
from recalld.index.plan import QueryPlan
from recalld.scoring import masks
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Channel, Doubt

# What was replaced again and again is followed this far.
STEPS_MAX = 16


class Heirs(NamedTuple):
    """Rows that were replaced, and the rows that stand for them now; int64[p] each."""

    older: NDArray[np.int64]
    heir: NDArray[np.int64]


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
    """Keep the pairs in which the older one hands on its evidence.

    It does when it is left out as replaced, or stands back as doubtful. Nothing is handed on when
    the request is about another time, for then the older one held.

    Args:
        heirs: of the same rows as `columns`.
        plan: the question.
        excluded: uint8[n], why a row may not answer.
    """
    why = excluded[heirs.older]
    stands_back = (why == Excluded.NO) & (columns.small[masks.DOUBT, heirs.older] != Doubt.NONE)
    fit = (why == Excluded.SUPERSEDED) | stands_back
    if plan.view.as_of_us or plan.view.known_at_us:
        fit[:] = False
    return Heirs(heirs.older[fit], heirs.heir[fit])


def inherit(
    heirs: Heirs, plan: QueryPlan, parts: Parts, rows: Rows, words: Words, evidence: FloatPair
) -> NDArray[np.bool_]:
    """Raise the evidence of heirs to that of what they replaced, in place.

    Args:
        heirs: the pairs in which something is handed on.
        plan: the question.
        parts: the vector channels asked.
        rows: int64[m], ascending, whose evidence it is.
        words: what the request's words say of every row.
        evidence: raw and normalised, float32[CHANNEL_COUNT, m] each.

    Returns:
        bool[m], rows that inherited something.
    """
    raw, normalised = evidence
    gained = np.zeros(len(rows), dtype=np.bool_)
    if not len(heirs.older) or not len(rows):
        return gained
    places = np.minimum(np.searchsorted(rows, heirs.heir), len(rows) - 1)
    held = rows[places] == heirs.heir
    older, places = heirs.older[held], places[held]
    found = [(channel, *exact_scores(part, plan, older, scale)) for channel, scale, part in parts]
    if Channel.KEYWORD in words:
        values, scores = words[Channel.KEYWORD]
        found.append((Channel.KEYWORD, values[older], scores[older]))
    for channel, values, scores in found:
        # Weakest first, so that of several predecessors the strongest stays.
        for i in np.argsort(scores, kind="stable"):
            if scores[i] > normalised[channel, places[i]]:
                raw[channel, places[i]] = values[i]
                normalised[channel, places[i]] = scores[i]
                gained[places[i]] = True
    return gained
