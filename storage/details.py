"""The fields of a memory that no statement reads, packed into the bytes of one column.

Each column costs a lone commit 0.04 ms of processor, and these mostly are a number that is 0 or a
text that is empty. What is filtered, counted, searched or changed by SQL has a column of its own.

The form, big-endian so that SQL makes and reads it with `hex`: four numbers of one byte, eleven of
eight bytes (signed), the lengths of six texts in four bytes each, then the texts in UTF-8.

Invariants: `columns_of` undoes `packed`; the form changes only with the version of the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from struct import Struct
from typing import Any

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
    "superseded_by",
    "conflict_group",
    "settled_group",
)
FIELDS = (*_ENUMS, *INTEGERS, *_TEXTS)
"""All of them, in their order."""

_FIXED = Struct(f">{len(_ENUMS)}B{len(INTEGERS)}q{len(_TEXTS)}I")
FIXED_BYTES = _FIXED.size
"""Length of details whose texts are all empty; none are shorter."""

_NUMBER_COUNT = len(_ENUMS) + len(INTEGERS)
_NO_TEXTS = ("",) * len(_TEXTS)
_numbers, _texts = attrgetter(*_ENUMS, *INTEGERS), attrgetter(*_TEXTS)


def packed(record: MemoryRecord) -> bytes:
    """Packs the details of a record that breaks none of `rules.row_violations`."""
    texts = [text.encode() for text in _texts(record)]
    return _FIXED.pack(*_numbers(record), *map(len, texts)) + b"".join(texts)


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
    if not details:
        return dict.fromkeys(FIELDS, ())
    if min(map(len, details)) < FIXED_BYTES:
        raise ValueError(f"details of less than {FIXED_BYTES} bytes")
    fixed = list(map(_FIXED.unpack_from, details))
    texts = list(map(_texts_of, labels, details, fixed))
    numbers = list(zip(*fixed, strict=True))[:_NUMBER_COUNT]
    return dict(zip(FIELDS, (*numbers, *zip(*texts, strict=True)), strict=True))


def _texts_of(label: int, details: bytes | bytearray, fixed: tuple[int, ...]) -> tuple[str, ...]:
    lengths = fixed[_NUMBER_COUNT:]
    if FIXED_BYTES + sum(lengths) != len(details):
        raise ValueError(f"details of row {label} are not as long as they say")
    return tuple(_cut(details, lengths)) if len(details) > FIXED_BYTES else _NO_TEXTS


def _cut(details: bytes | bytearray, lengths: Sequence[int]) -> Iterator[str]:
    start = FIXED_BYTES
    for length in lengths:
        yield details[start : start + length].decode()
        start += length
