"""Answers put together from encoded parts: encoding a memory costs more than finding it.

What a memory is on the wire is kept while it does not change, and joined into answers as bytes: a
message would copy it, and encode the copy. Bounded, least recently used first out. A record that
changed, ran out, or is seen by others with fewer marks, is encoded anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from recalld.server import codec
from recalld.storage.record import MemoryRecord
from recalld.v1 import recall_service_pb2

KEPT_COUNT_MAX = 4_096
MEMORY = recall_service_pb2.Hit.MEMORY_FIELD_NUMBER
WIRE_BYTES = 2
"""Wire type of messages, bytes and strings."""
HEAD_COUNT_MAX = 4_096


def field(number: int, body: bytes) -> bytes:
    """A message, encoded already, as a field of another one.

    Args:
        number: of the field, in [1, 15].
        body: the encoded message.
    """
    return _head(number, len(body)) + body


@lru_cache(HEAD_COUNT_MAX)
def _head(number: int, size: int) -> bytes:
    """What stands before the body of a field.

    Source: protobuf.dev/programming-guides/encoding, length-delimited records.
    """
    head = bytearray((number << 3 | WIRE_BYTES,))
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head)


class _Kept(NamedTuple):
    """An encoded record, and what has to be as it was."""

    record: MemoryRecord
    status: int
    body: bytes


class EncodedMemories:
    """Encoded memories of recent hits, by label."""

    def __init__(self, kept_max: int = KEPT_COUNT_MAX) -> None:
        """Start empty."""
        self._kept_max = kept_max
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def get(self, record: MemoryRecord, now_us: int) -> bytes:
        """A record as the encoded field `memory` of a hit."""
        kept = self._kept.get(record.label)
        status = codec.shown_status(record, now_us)
        if kept is not None and kept.record is record and kept.status == status:
            self._kept.move_to_end(record.label)
            return kept.body
        body = field(MEMORY, codec.memory(record, now_us).SerializeToString())
        self._kept[record.label] = _Kept(record, status, body)
        if len(self._kept) > self._kept_max:
            self._kept.popitem(last=False)
        return body

    def discard(self, labels: Iterable[int]) -> None:
        """Drop what is kept of records that are to leave nothing behind."""
        for label in labels:
            self._kept.pop(label, None)
