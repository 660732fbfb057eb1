"""The fields of a memory that no statement reads, packed into the bytes of one column.

Each column costs a lone commit 0.04 ms of processor, and these mostly are a number that is 0 or a
text that is empty. What is filtered, counted, searched or changed by SQL has a column of its own.

The form, big-endian so that SQL makes and reads it with `hex`: four numbers of one byte, eleven of
eight bytes (signed), the lengths of five texts in four bytes each, then the texts in UTF-8.

Invariants: `columns_of` undoes `packed`; the form changes only with the version of the format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.storage.record import MemoryRecord

_ENUMS = ("key_cardinality", "importance", "stated_by", "visibility")
INTEGERS = (
    "source.turn",
    "event_time_us",
    "valid_from_us",
    "valid_to_us",
    "confirm_time_us",
    "expire_time_us",
    "forget_time_us",
    "last_used_time_us",
    "access_count",
    "superseded_from_us",
    "superseded_time_us",
)
"""The 64-bit numbers; those of a record's source behind a dot."""
_TEXTS = (
    "source.session_id",
    "source.message_id",
    "source.uri",
    "conflict_group",
    "settled_group",
)
FIELDS = (*_ENUMS, *INTEGERS, *_TEXTS)
"""All of them, in their order."""

_FIXED = np.dtype(
    [(name, "u1") for name in _ENUMS]
    + [(name, ">i8") for name in INTEGERS]
    + [("lengths", ">u4", len(_TEXTS))]
)
FIXED_BYTES = _FIXED.itemsize
"""Length of details whose texts are all empty; none are shorter."""

_STRUCT = Struct(f">{len(_ENUMS)}B{len(INTEGERS)}q{len(_TEXTS)}I")
_numbers, _texts = attrgetter(*_ENUMS, *INTEGERS), attrgetter(*_TEXTS)


def packed(record: MemoryRecord) -> bytes:
    """Packs the details of a record that breaks none of `rules.row_violations`."""
    texts = [text.encode() for text in _texts(record)]
    return _STRUCT.pack(*_numbers(record), *map(len, texts)) + b"".join(texts)


def columns_of(
    labels: Sequence[int], details: Sequence[bytes | bytearray]
) -> Mapping[str, Sequence[Any]]:
    """Unpacks the details of several rows into a column for each of `FIELDS`.

    Args:
        labels: of the rows, for messages.
        details: as long.

    Raises:
        ValueError: some are not as long as they say, or a text is not UTF-8.
    """
    sizes = np.fromiter(map(len, details), np.int64, len(details))
    if (sizes < FIXED_BYTES).any():
        raise ValueError(f"details of less than {FIXED_BYTES} bytes")
    # All rows at once: one by one they would take longer than as many columns.
    fixed = np.frombuffer(b"".join(one[:FIXED_BYTES] for one in details), _FIXED)
    lengths = fixed["lengths"].astype(np.int64)
    if (wrong := np.flatnonzero(lengths.sum(1) + FIXED_BYTES != sizes)).size:
        raise ValueError(f"details of row {labels[wrong[0]]} are not as long as they say")
    numbers = {name: fixed[name].tolist() for name in (*_ENUMS, *INTEGERS)}
    return numbers | _texts_of(details, lengths)


def _texts_of(
    details: Sequence[bytes | bytearray], lengths: NDArray[np.int64]
) -> dict[str, Sequence[str]]:
    """The texts, most of which are empty."""
    made = {name: [""] * len(details) for name in _TEXTS}
    ends = FIXED_BYTES + lengths.cumsum(1)
    for row, text in np.argwhere(lengths).tolist():
        end = ends[row, text]
        made[_TEXTS[text]][row] = details[row][end - lengths[row, text] : end].decode()
    return {**made}
