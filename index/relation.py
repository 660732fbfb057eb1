"""Relation: what stands right beside a memory in the same conversation speaks for it too.

"When did you adopt her?" - "Last May" share no word; whoever asks for the adoption needs the
answer. A turn therefore gains from the words of the request that stand in the turn before or
behind it. It never looks at memories that the asker may not see.

Two memories are neighbours when they follow one another in time within NEAR_US, in the same
conversation: the same session, source, agent and namespace. Without a named session they must
not be of one instant: records of one day often bear the same time. A memory with a key is a fact
that stands by itself and has no neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import AGENT, KEY, NAMESPACE, SESSION, SOURCE_SESSION, Columns
from recalld.index.evidence import FloatPair, Words
from recalld.scoring import masks
from recalld.scoring.hand_over import beside_into
from recalld.scoring.params import Channel

NEAR_US = 5 * 60 * 1_000_000
# Keyword evidence of a neighbour from which on more says nothing more.
FULL_EVIDENCE = 0.6


class Neighbours(NamedTuple):
    """Rows that follow one another: `later[i]` comes right behind `earlier[i]`; int64[p] each."""

    earlier: NDArray[np.int64]
    later: NDArray[np.int64]


def find_neighbours(columns: Columns) -> Neighbours:
    """Find every pair of neighbours among the live rows.

    The pairs depend on labels and times only, not on the order of the rows, so a reloaded
    partition has the same.

    Complexity: O(n log n), once for each state of the rows.
    """
    count = columns.count
    times = columns.times[masks.EVENT_TIME, :count]
    strings = columns.strings[:, :count]
    alive = columns.alive[:count] != 0
    rows = np.flatnonzero(alive & (strings[KEY] == 0) & (times != 0))
    places = (SESSION, SOURCE_SESSION, AGENT, NAMESPACE)
    order = np.lexsort((columns.labels[rows], times[rows], *(strings[f, rows] for f in places)))
    rows = rows[order]
    earlier, later = rows[:-1], rows[1:]
    gap_us = times[later] - times[earlier]
    same = np.ones(len(earlier), dtype=np.bool_)
    for f in places:
        same &= strings[f, earlier] == strings[f, later]
    named = (strings[SESSION, earlier] != 0) | (strings[SOURCE_SESSION, earlier] != 0)
    near = same & (gap_us <= NEAR_US) & (named | (gap_us > 0))
    return Neighbours(earlier[near], later[near])


def beside(words: Words, neighbours: Neighbours, excluded: NDArray[np.uint8]) -> FloatPair | None:
    """Return raw and normalised evidence of each row's best neighbour; None without any.

    Args:
        words: what the request's words say of every row.
        neighbours: of the same rows.
        excluded: uint8[n], 0 = may answer; other rows say nothing of their neighbours either.
    """
    if Channel.KEYWORD not in words or not len(neighbours.earlier):
        return None
    evidence = words[Channel.KEYWORD][1]
    raw, normalised = np.zeros_like(evidence), np.zeros_like(evidence)
    beside_into(evidence, excluded, tuple(neighbours), FULL_EVIDENCE, raw, normalised)
    return raw, normalised
