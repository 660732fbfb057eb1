"""Mask kernel: which memories a reader may see, and why the others are left out.

It never tests user filters; those are index.filter's. A memory has one reason at most, the first
that applies in the order of `Excluded`.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel
from recalld.scoring.params import (
    ACTIVE,
    CONFLICTED,
    EXPIRED,
    PRIVATE,
    SHARED,
    STATUS_COUNT,
    SUPERSEDED,
    SYSTEM,
)


class Excluded(IntEnum):
    """Why a memory is left out before ranking; 0 means that it stays."""

    NO = 0
    REMOVED = 1
    VISIBILITY = 2
    NOT_YET_KNOWN = 3
    NOT_VALID_THEN = 4
    SUPERSEDED = 5
    EXPIRED = 6
    ARCHIVED = 7
    FORGOTTEN = 8
    FILTER = 9
    NAMED = 10


EXCLUDED_COUNT = len(Excluded)

# Rows of the uint8 block and of the int64 block of columns.
SMALL_COUNT = 6
KIND, STATUS, IMPORTANCE, STATED_BY, VISIBILITY, DOUBT = range(SMALL_COUNT)
TIME_COUNT = 12
(
    EVENT_TIME,
    CREATE_TIME,
    UPDATE_TIME,
    ANCHOR_TIME,
    VALID_FROM,
    VALID_TO,
    EXPIRE_TIME,
    SUPERSEDED_FROM,
    SUPERSEDED_TIME,
    NAMED_FROM,
    NAMED_TO,
    PAST_TIME,
) = range(TIME_COUNT)
# Entries of `view`.
VIEW_COUNT = 5
NOW, AS_OF, KNOWN_AT, AGENT, ADMIN = range(VIEW_COUNT)
ALL_AGENTS = -2

_NOT_YET_KNOWN = int(Excluded.NOT_YET_KNOWN)
_NOT_VALID_THEN = int(Excluded.NOT_VALID_THEN)
_VISIBILITY = int(Excluded.VISIBILITY)
_REMOVED = int(Excluded.REMOVED)
_FILTER = int(Excluded.FILTER)
# Index = status; one that is merely not asked for counts as filtered.
_BY_STATUS = np.array(
    [
        Excluded.FILTER,
        Excluded.FILTER,
        Excluded.SUPERSEDED,
        Excluded.FILTER,
        Excluded.EXPIRED,
        Excluded.ARCHIVED,
        Excluded.FORGOTTEN,
    ],
    dtype=np.uint8,
)
_BY_STATUS.flags.writeable = False


@kernel("u8[:]", "u8[:,:]", "i64[:,:]", "out u8[:]")
def odd_into(alive, small, times, excluded):  # type: ignore[no-untyped-def]
    """Write 0 for each memory that any reader sees now, and 1 for one that needs a closer look.

    Without a branch, so that many are told at once: most memories are plain.

    Args:
        alive, small, times: as the columns of `view_into`.
        excluded: uint8[n], written.
    """
    for i in range(excluded.shape[0]):
        odd = np.uint8(alive[i] == 0) | np.uint8(small[VISIBILITY, i] != SHARED)
        odd |= np.uint8(small[STATUS, i] != ACTIVE)
        excluded[i] = odd | np.uint8((times[EXPIRE_TIME, i] | times[VALID_TO, i]) != 0)


@kernel("i64[:]", "(u8[:]; u8[:,:]; i64[:,:]; i32[:])", "i64[:]", "u8[:]", "out u8[:]")
def view_into(rows, columns, view, statuses, excluded):  # type: ignore[no-untyped-def]
    """Write for some memories whether and why the view leaves them out.

    Args:
        rows: int64[m], the memories.
        columns: alive uint8[capacity], 0 = removed; uint8[SMALL_COUNT, capacity];
            int64[TIME_COUNT, capacity], microseconds, 0 = not set; and int32[capacity], ids of
            agent names.
        view: int64[VIEW_COUNT]: now; as_of and known_at (0 = not asked); id of the asking agent
            (-1 = none, or unknown here; ALL_AGENTS = every one); admin (0 or 1).
        statuses: uint8[STATUS_COUNT], 1 = wanted.
        excluded: uint8[n], written at `rows` with numbers of `Excluded`; n <= capacity.
    """
    alive, small, times, agents = columns
    now = view[NOW]
    as_of = view[AS_OF]
    known_at = view[KNOWN_AT]
    for i in rows:
        if alive[i] == 0:
            excluded[i] = _REMOVED
            continue
        visibility = small[VISIBILITY, i]
        hidden = visibility == PRIVATE and agents[i] != view[AGENT] and view[AGENT] != ALL_AGENTS
        if hidden or (visibility == SYSTEM and view[ADMIN] == 0):
            excluded[i] = _VISIBILITY
            continue
        if known_at != 0 and times[CREATE_TIME, i] > known_at:
            excluded[i] = _NOT_YET_KNOWN
            continue
        status = min(small[STATUS, i], STATUS_COUNT - 1)
        expire = times[EXPIRE_TIME, i]
        valid_to = times[VALID_TO, i]
        at = as_of if as_of != 0 else now
        # A memory that was replaced or ran out later was current at the time asked about.
        if status == SUPERSEDED and times[SUPERSEDED_TIME, i] != 0:
            end = times[SUPERSEDED_FROM, i]
            if known_at != 0 and times[SUPERSEDED_TIME, i] > known_at:
                status = ACTIVE
            else:
                if as_of != 0 and end > as_of:
                    status = ACTIVE
                if valid_to == 0 or end < valid_to:
                    valid_to = end
        elif status == EXPIRED and as_of != 0 and expire > as_of:
            status = ACTIVE
        elif status in (ACTIVE, CONFLICTED) and expire != 0 and expire <= at:
            status = EXPIRED
        if as_of != 0:
            since = times[VALID_FROM, i]
            if since == 0:
                since = times[EVENT_TIME, i]
            if since > as_of or (valid_to != 0 and valid_to <= as_of):
                excluded[i] = _NOT_VALID_THEN
                continue
        elif status == ACTIVE and valid_to != 0 and valid_to <= now:
            status = EXPIRED
        excluded[i] = 0 if statuses[status] != 0 else _BY_STATUS[status]


@kernel("b1[:]", "out u8[:]")
def filter_into(passes, excluded):  # type: ignore[no-untyped-def]
    """Write FILTER for each memory that does not pass, and is not left out already.

    Args:
        passes: bool[n].
        excluded: uint8[n], numbers of `Excluded`.
    """
    for i in range(excluded.shape[0]):
        fails = np.uint8(excluded[i] == 0) & np.uint8(not passes[i])
        excluded[i] |= fails * np.uint8(_FILTER)


@kernel("u8[:]", "out i64[:]")
def tally_into(excluded, counts):  # type: ignore[no-untyped-def]
    """Count the memories for each reason; those that stay without a branch, since most do.

    Args:
        excluded: uint8[n], numbers of `Excluded`.
        counts: int64[EXCLUDED_COUNT], zeros; written.
    """
    stay = 0
    for i in range(excluded.shape[0]):
        stay += excluded[i] == 0
    counts[0] = stay
    if stay == excluded.shape[0]:
        return
    for i in range(excluded.shape[0]):
        if excluded[i] != 0:
            counts[excluded[i]] += 1


def tally(excluded: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return int64[EXCLUDED_COUNT]: how many memories stay, at 0, and go for each reason."""
    counts = np.zeros(EXCLUDED_COUNT, dtype=np.int64)
    tally_into(excluded, counts)
    return counts


@kernel("u8[:]", "out i64[:]")
def passing_into(excluded, rows):  # type: ignore[no-untyped-def]
    """Write the memories that stay.

    Args:
        excluded: uint8[n], numbers of `Excluded`.
        rows: int64[m + 1], written, ascending; m are those that stay, the last entry is scratch.
    """
    count = 0
    # Without a branch, which would be guessed wrong under a filter.
    for i in range(excluded.shape[0]):
        rows[count] = i
        count += excluded[i] == 0


def passing(excluded: NDArray[np.uint8], matched: int) -> NDArray[np.int64]:
    """Return the `matched` memories that stay, ascending."""
    rows = np.empty(matched + 1, dtype=np.int64)
    passing_into(excluded, rows)
    return rows[:matched]
